//! What the two sides of a run tell each other: the client, which reads and answers, and the supervisor, which may end the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

#[derive(Debug, Clone)]
pub(super) struct Talk {
    cancel: Arc<AtomicBool>,
    over: watch::Sender<Over>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    NotYet,
    Yes,
}

impl Talk {
    pub(super) fn new() -> Self {
        Self { cancel: Arc::default(), over: watch::Sender::new(Over::NotYet) }
    }

    /// Asks the client to cancel the turn.
    pub(super) fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Whether the turn is to be cancelled.
    pub(super) fn shall_cancel(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The client has nothing more to say.
    pub(super) fn is_over(&self) {
        self.over.send_replace(Over::Yes);
    }

    /// Waits until the client has nothing more to say.
    pub(super) async fn over(&self) {
        // It fails when there is no sender, and this is one.
        let _ = self.over.subscribe().wait_for(|over| *over == Over::Yes).await;
    }
}
