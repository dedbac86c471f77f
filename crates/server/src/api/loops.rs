//! Loops as their journals tell them, and their diffs and logs where the files are on this machine.

use std::io;
use std::path::{Component, Path, PathBuf};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures_util::stream::try_unfold;
use ralph_api::{LoopPage, Problem};
use ralph_model::{RunId, RunKind};
use ralph_runtime::{changed_trees, read_loop};
use ralph_store::{Filter, RunEntry, RunStatus, patch_name};
use ralph_view::{RaceView, RunView};
use ralph_workspace::Workspace;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::tasks::{link_next, page_size};
use crate::app::App;
use crate::call::{Answer, Call, json, text};
use crate::problem::Refusal;

/// Bytes of a log that are in memory at once.
const CHUNK: usize = 64 * 1024;

/// Which loops to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoopQuery {
    /// Only loops with this status: `running`, `completed`, `aborted` or `error`.
    status: Option<String>,
    /// Only loops older than this one: `next` of the page before.
    before: Option<RunId>,
    /// At most so many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

pub(crate) async fn list(call: Call) -> Answer {
    let query: LoopQuery = call.query()?;
    let limit = page_size(query.limit)?;
    let status = query.status.as_deref().map(str::parse::<RunStatus>).transpose();
    let filter = Filter {
        status: status.map_err(|error| Problem::invalid("status", error.to_string()))?,
        kind: Some(RunKind::Loop),
        before: query.before,
        limit: Some(limit + 1),
        ..Filter::default()
    };
    let mut entries = call.app.store().runs(&filter).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let next = if entries.len() > size { entries.get(size - 1).map(|entry| entry.id) } else { None };
    entries.truncate(size);
    let loops = entries.iter().map(|entry| (call.app.options.listed)(entry)).collect();
    let mut response = json(StatusCode::OK, &LoopPage { loops, next })?;
    if let Some(next) = next {
        link_next(response.headers_mut(), "/api/loops", &call.query, &next.to_string());
    }
    Ok(response)
}

async fn entry(app: &App, id: RunId) -> Result<RunEntry, Refusal> {
    let entry = app.store().run(id).await?;
    match entry.kind {
        RunKind::Loop => Ok(entry),
        _ => Err(Problem::new(404, "not-found", format!("{id} is not a loop")).into()),
    }
}

/// All of a loop.
async fn view(app: &App, entry: &RunEntry) -> Result<RunView, Refusal> {
    let (run, _) = read_loop(app.store(), entry.id).await.map_err(Refusal::internal)?;
    let mut view = RunView::new(entry.id, &run);
    let listed = &app.options.listed;
    let shown = listed(entry);
    (view.state.status, view.state.reason) = (shown.status, shown.reason);
    if let Some(race) = entry.parent {
        let mut candidates = app.store().runs(&Filter { parent: Some(race), ..Filter::default() }).await?;
        candidates.sort_by_key(|candidate| candidate.id);
        let candidates: Vec<_> = candidates.iter().map(|candidate| listed(candidate)).collect();
        view.race = RaceView::new(&candidates);
    }
    Ok(view)
}

pub(crate) async fn show(call: Call) -> Answer {
    let entry = entry(&call.app, call.run_id()?).await?;
    json(StatusCode::OK, &view(&call.app, &entry).await?)
}

pub(super) fn not_here(what: &str) -> Refusal {
    Problem::new(404, "not-found", format!("{what} is not on this machine")).into()
}

fn iteration(call: &Call) -> Result<u32, Refusal> {
    call.parsed::<u32>("n")
        .map_err(|_| Problem::new(404, "not-found", format!("`{}` is not an iteration", call.part("n"))).into())
}

pub(crate) async fn diff(call: Call) -> Answer {
    let (entry, wanted) = (entry(&call.app, call.run_id()?).await?, iteration(&call)?);
    let (run, _) = read_loop(call.app.store(), entry.id).await.map_err(Refusal::internal)?;
    // Zero is the baseline, and stands for the whole loop here.
    let trees = changed_trees(&run, Some(wanted).filter(|wanted| *wanted > 0));
    let (from, to) = trees.map_err(|detail| Refusal::from(Problem::new(404, "not-found", detail)))?;
    let folder = call.app.options.home.loop_folder(entry.id);
    // A worker on another machine has the snapshots, and sent a patch.
    if let Some(sent) = inside(folder.root(), &patch_name(wanted)) {
        return stream(&sent, "text/x-diff; charset=utf-8").await;
    }
    let state = call.app.options.home.workspace(Path::new(&entry.workspace));
    let git = call.app.options.git.clone().filter(|_| state.is_dir()).ok_or_else(|| not_here("the snapshot"))?;
    let patch = tokio::task::spawn_blocking(move || Workspace::diff_kept(&state, &git, &from, &to));
    let patch = patch.await.map_err(Refusal::internal)?.map_err(Refusal::internal)?;
    text("text/x-diff; charset=utf-8", patch)
}

/// Which log of an iteration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogQuery {
    /// The output of this check, counted from 1; the agent's where it is left out.
    #[schemars(range(min = 1, max = 1000))]
    check: Option<u32>,
}

pub(crate) async fn logs(call: Call) -> Answer {
    let query: LogQuery = call.query()?;
    let (entry, wanted) = (entry(&call.app, call.run_id()?).await?, iteration(&call)?);
    let view = view(&call.app, &entry).await?;
    let file = log_of(&view, wanted, query.check).ok_or_else(|| {
        Refusal::from(Problem::new(404, "not-found", format!("iteration {wanted} has no such output")))
    })?;
    let folder = call.app.options.home.loop_folder(entry.id);
    let path = inside(folder.root(), &file).ok_or_else(|| not_here("the log"))?;
    stream(&path, "text/plain; charset=utf-8").await
}

/// A file, piece by piece.
pub(super) async fn stream(path: &Path, media: &'static str) -> Answer {
    let file = File::open(path).await.map_err(|_| not_here("the file"))?;
    let chunks = try_unfold(file, |mut file| async move {
        let mut chunk = vec![0; CHUNK];
        let count = file.read(&mut chunk).await?;
        chunk.truncate(count);
        Ok::<_, io::Error>((count > 0).then(|| (Bytes::from(chunk), file)))
    });
    text(media, Body::from_stream(chunks))
}

/// The file that holds an output, as the journal names it.
fn log_of(view: &RunView, wanted: u32, check: Option<u32>) -> Option<String> {
    let record = view.iteration(wanted).filter(|_| wanted > 0);
    let verdict = if wanted == 0 { view.baseline.as_ref() } else { record.and_then(|record| record.verdict.as_ref()) };
    match (check, wanted) {
        (None, 1..) => record?.run.as_ref().map(|run| run.output.file.clone()),
        (check, _) => {
            let index = usize::try_from(check.unwrap_or(1)).ok()?.checked_sub(1)?;
            verdict?.checks.get(index).map(|check| check.outcome.output.file.clone())
        }
    }
}

/// A journal that came from elsewhere must not name a file outside of its loop.
pub(super) fn inside(root: &Path, file: &str) -> Option<PathBuf> {
    let relative = Path::new(file);
    let is_inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let path = root.join(relative);
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    (is_inside && is_file).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_lie_inside_of_their_loop() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("logs")).unwrap();
        std::fs::write(folder.path().join("logs/a.log"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("logs/link")).unwrap();
        assert!(inside(folder.path(), "logs/a.log").is_some());
        for file in ["/etc/passwd", "../x", "logs/../../x", "logs/link", "logs", "logs/none", ""] {
            assert_eq!(inside(folder.path(), file), None, "{file}");
        }
    }
}
