//! The loops that calls have started in this process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long the loops may take to end once they are asked to.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The loops that calls have started. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    count: Arc<watch::Sender<usize>>,
    closing: CancellationToken,
}

/// A loop that runs, until it is dropped.
#[derive(Debug)]
pub(crate) struct Entry(Running);

impl Running {
    pub(crate) fn new() -> Self {
        Self { count: Arc::new(watch::Sender::new(0)), closing: CancellationToken::new() }
    }

    /// Notes a loop.
    pub(crate) fn enter(&self) -> Entry {
        self.count.send_modify(|count| *count += 1);
        Entry(self.clone())
    }

    /// Cancelled when no more calls are wanted: the client is gone, or the program ends.
    pub(crate) const fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Asks all loops to stop now, and waits until they have.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        let mut count = self.count.subscribe();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, count.wait_for(|count| *count == 0)).await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}
