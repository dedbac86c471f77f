//! What other processes want of a run: requests to stop it. Renews its lease meanwhile, so that other machines know that it lives.

use std::time::Duration;

use ralph_engine::{Stop, StopBy, StopWhen};
use ralph_store::{Change, Changes, Lease, StopMode};
use tokio::time::{Interval, MissedTickBehavior};

use crate::services::Services;

/// How often a lease is renewed. Three renewals may fail before other machines take the process for dead.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(8);

/// How long a database that does not answer is left alone.
const RETRY_INTERVAL: Duration = Duration::from_millis(400);

/// Requests of other processes to stop one run.
pub(crate) struct Requests {
    lease: Lease,
    changes: Changes,
    renewal: Interval,
    /// Whether there may be a request that was not read yet.
    is_unread: bool,
    /// What was returned last. A request stays in the store until it was followed.
    heard: Option<StopMode>,
    /// Whether the user knows that requests cannot be read.
    is_warned: bool,
}

impl Requests {
    pub(crate) fn new(services: &Services, lease: Lease) -> Self {
        let mut renewal = tokio::time::interval(RENEWAL_INTERVAL);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The lease is fresh.
        renewal.reset();
        Self { lease, changes: services.store.subscribe(), renewal, is_unread: true, heard: None, is_warned: false }
    }

    /// The next request that asks for more than the one before. Loses nothing when it is dropped.
    pub(crate) async fn next(&mut self, services: &Services) -> Stop {
        loop {
            if self.is_unread {
                match services.store.stop_requested(self.lease.run).await {
                    Ok(requested) => {
                        (self.is_unread, self.is_warned) = (false, false);
                        if let Some(mode) = requested.filter(|mode| self.heard < Some(*mode)) {
                            self.heard = Some(mode);
                            return stop(mode);
                        }
                    }
                    Err(error) => {
                        if !std::mem::replace(&mut self.is_warned, true) {
                            services.warn(format!("requests to stop cannot be seen: {error}"));
                        }
                        tokio::time::sleep(RETRY_INTERVAL).await;
                        continue;
                    }
                }
            }
            tokio::select! {
                change = next_change(&mut self.changes) => self.is_unread = self.concerns(change),
                _ = self.renewal.tick() => {
                    let renewed = services.store.renew(self.lease, services.lease_end()).await;
                    // Another process works on the run: whatever is under way here is of no use any more.
                    if let Err(ralph_store::Error::StaleLease { .. }) = renewed {
                        return Stop { when: StopWhen::Now, by: StopBy::Request };
                    }
                }
            }
        }
    }

    fn concerns(&self, change: Change) -> bool {
        match change {
            Change::Stop { run } => run == self.lease.run,
            Change::Any => true,
            _ => false,
        }
    }
}

/// The next change; never returns once the store is closed.
async fn next_change(changes: &mut Changes) -> Change {
    match changes.next().await {
        Some(change) => change,
        None => std::future::pending().await,
    }
}

const fn stop(mode: StopMode) -> Stop {
    let when = match mode {
        StopMode::AfterIteration => StopWhen::AfterIteration,
        StopMode::Now => StopWhen::Now,
    };
    Stop { when, by: StopBy::Request }
}
