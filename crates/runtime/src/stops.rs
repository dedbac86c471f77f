//! Requests to stop, from the keyboard, signals and other processes, in one ordered queue.

use ralph_engine::{Stop, StopBy, StopWhen};
use tokio::sync::mpsc;

/// Asks a running loop to stop.
#[derive(Debug, Clone)]
pub struct Stopper {
    queue: mpsc::UnboundedSender<Stop>,
}

/// Requests that a running loop takes.
#[derive(Debug)]
pub struct Stops {
    queue: mpsc::UnboundedReceiver<Stop>,
}

/// A queue for one loop.
#[must_use]
pub fn stops() -> (Stopper, Stops) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Stopper { queue: sender }, Stops { queue: receiver })
}

impl Stopper {
    /// Asks. A loop that is already over does not mind.
    pub fn stop(&self, when: StopWhen, by: StopBy) {
        let _ = self.queue.send(Stop { when, by });
    }
}

impl Stops {
    /// The next request; never returns when nobody is left who could ask.
    pub(crate) async fn next(&mut self) -> Stop {
        match self.queue.recv().await {
            Some(stop) => stop,
            None => std::future::pending().await,
        }
    }
}
