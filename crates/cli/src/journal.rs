//! A loop read back from its journal, for commands that only look.

use anyhow::Context as _;
use ralph_engine::{Event, Loop};
use ralph_model::LoopId;
use ralph_store::Store;

/// The loop that a journal tells of.
///
/// # Errors
/// When the journal is broken or cannot be followed.
pub(crate) async fn read(store: &Store, loop_id: LoopId) -> anyhow::Result<Loop> {
    ralph_runtime::read_loop(store, loop_id).await.map(|(run, _)| run).map_err(Into::into)
}

/// The configuration that a loop was started with.
///
/// # Errors
/// When the journal is broken or does not begin as one.
pub(crate) async fn started_with(store: &Store, loop_id: LoopId) -> anyhow::Result<ralph_model::LoopConfig> {
    let journal = store.journal(loop_id).await?;
    let first = journal.first().context("the journal is empty")?;
    match Event::decode(first.version, &first.payload)? {
        Event::LoopStarted { config, .. } => Ok(*config),
        _ => anyhow::bail!("the journal does not begin with the start of a loop"),
    }
}
