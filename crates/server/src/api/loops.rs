//! Loops as their journals tell them, and their diffs and logs.

use std::path::Path;

use axum::http::StatusCode;
use ralph_api::{LoopPage, Problem};
use ralph_model::{RunId, RunKind};
use ralph_runtime::{changed_trees, read_loop};
use ralph_store::{Filter, RunEntry, RunStatus, patch_name};
use ralph_view::{RaceView, RunView};
use ralph_workspace::Workspace;
use schemars::JsonSchema;
use serde::Deserialize;

use super::files::{self, not_here};
use super::tasks::{link_next, page_size};
use crate::app::App;
use crate::call::{Answer, Call, json, text};
use crate::problem::Refusal;

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
    // A worker on another machine has the snapshots, and sent a patch.
    if let Some(sent) = files::find(&call.app, entry.id, &patch_name(wanted)).await? {
        return files::serve(&call.app, sent, "text/x-diff; charset=utf-8").await;
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
    let found = files::find(&call.app, entry.id, &file).await?.ok_or_else(|| not_here("the log"))?;
    files::serve(&call.app, found, "text/plain; charset=utf-8").await
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
