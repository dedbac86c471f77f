//! What the two sides of a run tell each other: the client, which reads and answers, and the supervisor, which may end the run.

use tokio::sync::watch;

#[derive(Debug, Clone, Default)]
pub(super) struct Talk {
    /// The turn is to be cancelled.
    pub(super) cancel: watch::Sender<bool>,
    /// The client has nothing more to say.
    pub(super) over: watch::Sender<bool>,
}

impl Talk {
    /// Waits until the client has nothing more to say.
    pub(super) async fn over(&self) {
        // It fails when there is no sender, and this is one.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }
}
