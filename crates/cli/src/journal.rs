//! A loop read back from its journal, for commands that only look.

use ralph_engine::Loop;
use ralph_model::LoopId;
use ralph_store::StoreHandle;

/// The loop that a journal tells of.
///
/// # Errors
/// When the journal is broken or cannot be followed.
pub(crate) async fn read(store: &StoreHandle, loop_id: LoopId) -> anyhow::Result<Loop> {
    ralph_runtime::read_loop(store, loop_id).await.map(|(run, _)| run).map_err(Into::into)
}
