//! A loop read back from its journal, for commands that only look.

use ralph_engine::Loop;
use ralph_model::LoopId;
use ralph_store::Store;
use ralph_view::RunView;

/// The loop that a journal tells of.
///
/// # Errors
/// When the journal is broken or cannot be followed.
pub(crate) async fn read(store: &Store, loop_id: LoopId) -> anyhow::Result<Loop> {
    ralph_runtime::read_loop(store, loop_id).await.map(|(run, _)| run).map_err(Into::into)
}

/// All of a loop, as its journal tells it.
///
/// # Errors
/// When the journal is broken or cannot be followed.
pub(crate) async fn view(store: &Store, loop_id: LoopId) -> anyhow::Result<RunView> {
    Ok(RunView::new(loop_id, &read(store, loop_id).await?))
}
