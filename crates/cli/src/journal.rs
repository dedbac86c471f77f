//! Loops by name, and read back from their journals.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, bail};
use ralph_engine::Loop;
use ralph_host::Host;
use ralph_model::{LoopId, RunKind};
use ralph_store::{Filter, Head, Lookup, RunEntry, RunStatus, StoreHandle};
use ralph_view::RunView;

pub(crate) async fn read(store: &StoreHandle, loop_id: LoopId) -> anyhow::Result<Loop> {
    read_to_end(store, loop_id).await.map(|(run, _)| run)
}

pub(crate) async fn read_to_end(store: &StoreHandle, loop_id: LoopId) -> anyhow::Result<(Loop, Head)> {
    let entry = single(store, store.run(loop_id).await?).await?;
    ralph_runtime::read_loop(store, entry.id).await.map_err(Into::into)
}

/// The loop that a command about a single loop means: of a race, the candidate that won it.
///
/// # Errors
/// When it is a race without a winner, or a crew.
pub(crate) async fn single(store: &StoreHandle, entry: RunEntry) -> anyhow::Result<RunEntry> {
    let short = entry.id.short();
    match entry.kind {
        RunKind::Crew => bail!("{short} is a crew: `ralph show` and `ralph logs` show it"),
        RunKind::Race => {
            if let Some(winner) = ralph_runtime::read_race(store, entry.id).await?.winner() {
                return Ok(store.run(winner).await?);
            }
            let candidates = store.runs(&Filter { parent: Some(entry.id), ..Filter::default() }).await?;
            let names: Vec<String> = candidates.iter().map(|candidate| candidate.id.short()).collect();
            bail!("{short} is a race that no candidate won: name one of them: {}", names.join(", "))
        }
        RunKind::Loop => Ok(entry),
    }
}

pub(crate) async fn view(store: &StoreHandle, loop_id: LoopId) -> anyhow::Result<RunView> {
    Ok(RunView::new(loop_id, &read(store, loop_id).await?))
}

/// The run that a command is about: the one that is named, or the newest of this workspace.
pub(crate) async fn chosen(store: &StoreHandle, name: Option<&str>, around: &Host) -> anyhow::Result<RunEntry> {
    if let Some(name) = name {
        return find_loop(store, name).await;
    }
    let current = around.folder()?;
    let mut runs = of_folder(store, &current).await?.into_iter();
    runs.next().with_context(|| {
        format!("no loop was run in {}; `ralph list --all` shows those of other folders", current.display())
    })
}

/// The same for a command about a run that is under way: the newest of this workspace that runs, or the newest.
pub(crate) async fn chosen_running(store: &StoreHandle, name: Option<&str>, around: &Host) -> anyhow::Result<RunEntry> {
    if name.is_none() {
        let is_running = |entry: &RunEntry| entry.status == RunStatus::Running && !around.is_interrupted(entry);
        let runs = of_folder(store, &around.folder()?).await?;
        if let Some(entry) = runs.into_iter().find(is_running) {
            return Ok(entry);
        }
    }
    chosen(store, name, around).await
}

/// The runs of a folder, newest first. Candidates of a race are represented by their race.
async fn of_folder(store: &StoreHandle, folder: &Path) -> anyhow::Result<Vec<RunEntry>> {
    let workspace = Some(folder.to_string_lossy().into_owned());
    let runs = store.runs(&Filter { workspace, ..Filter::default() }).await?;
    let races: BTreeSet<LoopId> = runs.iter().filter(|run| run.kind == RunKind::Race).map(|race| race.id).collect();
    Ok(runs.into_iter().filter(|run| run.parent.is_none_or(|race| !races.contains(&race))).collect())
}

/// The loop that a person means.
pub(crate) async fn find_loop(store: &StoreHandle, name: &str) -> anyhow::Result<RunEntry> {
    match store.find(name).await? {
        Lookup::One(entry) => Ok(*entry),
        Lookup::None => bail!("no loop matches `{name}`: `ralph list --all` shows them"),
        Lookup::Several(entries) => {
            let mut lines: Vec<String> = entries.iter().take(MAX_NAMED).map(about).collect();
            let more = entries.len().saturating_sub(MAX_NAMED);
            lines.extend((more > 0).then(|| format!("and {more} more")));
            bail!("`{name}` matches several loops, type more characters:\n  {}", lines.join("\n  "))
        }
    }
}

/// How many loops are named where a name matches several.
const MAX_NAMED: usize = 8;

fn about(entry: &RunEntry) -> String {
    format!("{}  {}", entry.id, entry.objective.lines().next().unwrap_or_default())
}
