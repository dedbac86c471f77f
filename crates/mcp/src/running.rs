//! The loops that calls have started in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
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
    calls: Arc<Mutex<HashMap<CallKey, CancellationToken>>>,
}

/// A call that a later request can cancel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    pub(crate) caller: String,
    pub(crate) session: String,
    /// The id of the request, as JSON.
    pub(crate) id: String,
}

/// A loop that runs, until it is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    running: Running,
    key: Option<CallKey>,
    cancelled: CancellationToken,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self { count: Arc::new(watch::Sender::new(0)), closing: CancellationToken::new(), calls: Arc::default() }
    }

    /// Notes a loop. It is cancelled with the call of its client, by the key, or when everything closes.
    pub(crate) fn enter(&self, key: Option<CallKey>, call: CancellationToken) -> Entry {
        self.count.send_modify(|count| *count += 1);
        let cancelled = self.closing.child_token();
        if let Some(key) = &key {
            self.calls().insert(key.clone(), cancelled.clone());
        }
        let token = cancelled.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = call.cancelled() => token.cancel(),
                // Also when the loop is over.
                () = token.cancelled() => {}
            }
        });
        Entry { running: self.clone(), key, cancelled }
    }

    /// Cancels a call; one that is over does not mind.
    pub(crate) fn cancel(&self, key: &CallKey) {
        if let Some(call) = self.calls().get(key) {
            call.cancel();
        }
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, HashMap<CallKey, CancellationToken>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Entry {
    /// Cancelled when the loop is not wanted any more.
    pub(crate) const fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.running.calls().remove(key);
        }
        self.cancelled.cancel();
        self.running.count.send_modify(|count| *count -= 1);
    }
}
