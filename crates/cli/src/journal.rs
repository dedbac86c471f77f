//! Loops by name, and read back from their journals.

use anyhow::bail;
use ralph_engine::Loop;
use ralph_model::{LoopId, RunKind};
use ralph_store::{Filter, Head, Lookup, RunEntry, StoreHandle};
use ralph_view::RunView;

/// The loop that a journal tells of.
///
/// # Errors
/// When the journal is broken or cannot be followed.
pub(crate) async fn read(store: &StoreHandle, loop_id: LoopId) -> anyhow::Result<Loop> {
    read_to_end(store, loop_id).await.map(|(run, _)| run)
}

/// The same, and where the journal ends.
///
/// # Errors
/// As for [`read`].
pub(crate) async fn read_to_end(store: &StoreHandle, loop_id: LoopId) -> anyhow::Result<(Loop, Head)> {
    let entry = store.run(loop_id).await?;
    if entry.kind == RunKind::Race {
        let candidates = store.runs(&Filter { parent: Some(loop_id), ..Filter::default() }).await?;
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.id.short()).collect();
        bail!("{} is a race: name one of its candidates: {}", loop_id.short(), names.join(", "));
    }
    if entry.kind == RunKind::Crew {
        bail!("{} is a crew: `ralph show` and `ralph logs` show it", loop_id.short());
    }
    ralph_runtime::read_loop(store, loop_id).await.map_err(Into::into)
}

/// All of a loop, as its journal tells it.
///
/// # Errors
/// When the journal is broken or cannot be followed.
pub(crate) async fn view(store: &StoreHandle, loop_id: LoopId) -> anyhow::Result<RunView> {
    Ok(RunView::new(loop_id, &read(store, loop_id).await?))
}

/// The loop that a person means.
///
/// # Errors
/// When nobody or more than one answers to the name.
pub(crate) async fn find_loop(store: &StoreHandle, name: &str) -> anyhow::Result<RunEntry> {
    match store.find(name).await? {
        Lookup::One(entry) => Ok(*entry),
        Lookup::None if name.chars().filter(char::is_ascii_alphanumeric).count() < 4 => {
            bail!("`{name}` is too short: give four or more characters of a loop's id, `ralph list --all` shows them")
        }
        Lookup::None => bail!("no loop answers to `{name}`: `ralph list --all` shows them"),
        Lookup::Several(entries) => {
            let ids: Vec<String> = entries.iter().map(|entry| entry.id.to_string()).collect();
            bail!("`{name}` may mean any of these, give more characters:\n  {}", ids.join("\n  "))
        }
    }
}
