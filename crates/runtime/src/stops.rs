//! Requests to stop, from the keyboard, signals and other processes, in one ordered queue.

use ralph_engine::{Stop, StopBy, StopWhen};
use ralph_workspace::StopFlag;
use tokio::sync::mpsc;

/// Asks a running loop to stop.
#[derive(Debug, Clone)]
pub struct Stopper {
    queue: mpsc::UnboundedSender<Stop>,
    flag: StopFlag,
}

/// Requests that a running loop takes.
#[derive(Debug)]
pub struct Stops {
    queue: mpsc::UnboundedReceiver<Stop>,
    flag: StopFlag,
}

/// A queue for one loop.
#[must_use]
pub fn stops() -> (Stopper, Stops) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let flag = StopFlag::default();
    (Stopper { queue: sender, flag: flag.clone() }, Stops { queue: receiver, flag })
}

impl Stopper {
    /// Asks. A loop that is already over does not mind.
    pub fn stop(&self, when: StopWhen, by: StopBy) {
        if when == StopWhen::Now {
            // Also before requests are taken: the first look at a workspace can take long.
            self.flag.request();
        }
        let _ = self.queue.send(Stop { when, by });
    }
}

impl Stops {
    /// What the steps that work on a workspace look at.
    pub(crate) fn flag(&self) -> StopFlag {
        self.flag.clone()
    }

    /// Forgets requests that were not taken.
    pub(crate) fn clear(&mut self) {
        while self.queue.try_recv().is_ok() {}
    }

    /// The next request; never returns when all senders are gone.
    pub(crate) async fn next(&mut self) -> Stop {
        match self.queue.recv().await {
            Some(stop) => stop,
            None => std::future::pending().await,
        }
    }
}
