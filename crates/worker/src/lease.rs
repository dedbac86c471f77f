//! Keeps the lease on a task, and hears what concerns the work: a cancellation, a full context, a lease that is lost.

use std::cell::Cell;
use std::time::Duration;

use ralph_api::{Client, Heartbeat, Work};
use ralph_host::Checkpoints;
use ralph_model::{Checkpoint, TaskId, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

/// How often the agent's checkpoint is looked for.
const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(400);
/// How long a server that does not answer is left alone.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Why the work on a task has to end before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    Cancelled,
    /// Another worker has the task, or it ended.
    Lost,
    Stopping,
}

pub(crate) struct Keeper {
    client: Client,
    task: TaskId,
    epoch: u64,
    seconds: u32,
    /// When the task was claimed, by the clock of the server.
    claimed_at: Timestamp,
    checkpoints: Checkpoints,
    interrupt: watch::Sender<Option<Interruption>>,
    context_full: watch::Sender<u64>,
    iteration: watch::Receiver<u32>,
    /// When the newest checkpoint was written that was followed: it comes as a file and from the server.
    followed: Cell<Option<Timestamp>>,
    /// Whether there is a stream of the task's events.
    is_following: watch::Sender<bool>,
}

impl Keeper {
    pub(crate) fn new(
        (client, seconds): (Client, u32),
        work: &Work,
        checkpoints: Checkpoints,
        interrupt: watch::Sender<Option<Interruption>>,
        context_full: watch::Sender<u64>,
        iteration: watch::Receiver<u32>,
    ) -> Self {
        let claimed_at = Timestamp(work.lease.expires_at.0 - i64::from(seconds) * 1000);
        let (task, epoch) = (work.task.id, work.lease.epoch);
        Self {
            client,
            task,
            epoch,
            seconds,
            claimed_at,
            checkpoints,
            interrupt,
            context_full,
            iteration,
            followed: Cell::new(None),
            is_following: watch::Sender::new(false),
        }
    }

    /// Runs until the work is over, which drops it.
    pub(crate) async fn keep(self) {
        tokio::join!(self.renew(), self.follow(), self.watch_checkpoint());
    }

    fn interrupted(&self, why: Interruption) {
        self.interrupt.send_if_modified(|known| {
            // A task that is lost cannot be cancelled any more.
            let is_new = known.is_none_or(|known| known != why && why == Interruption::Lost);
            if is_new {
                *known = Some(why);
            }
            is_new
        });
    }

    /// Renews the lease well before it expires. A server that does not answer is asked again: while it is away, no other worker can claim the task.
    /// Where no stream says that the task was cancelled, the answers do, and are asked for more often.
    async fn renew(&self) {
        let every = Duration::from_secs(u64::from(self.seconds)) / 6;
        let every = every.clamp(Duration::from_millis(500), Duration::from_secs(10));
        let mut is_following = self.is_following.subscribe();
        loop {
            let alone = async {
                // The sender is part of this.
                let _ = is_following.wait_for(|is_following| !is_following).await;
                tokio::time::sleep(RETRY_INTERVAL).await;
            };
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = alone => {}
            }
            self.beat().await;
        }
    }

    /// Renews the lease once. The answer says whether the task was cancelled.
    async fn beat(&self) {
        let heartbeat = Heartbeat { epoch: Some(self.epoch), lease_seconds: self.seconds };
        match self.client.heartbeat(self.task, &heartbeat).await {
            Ok(kept) if kept.cancelled => self.interrupted(Interruption::Cancelled),
            Ok(_) => {}
            Err(error) if error.is_stale_lease() || error.status() == Some(404) => {
                self.interrupted(Interruption::Lost);
            }
            Err(error) => tracing::warn!(%error, task = %self.task, "the lease could not be renewed"),
        }
    }

    /// Follows the events of the task: a cancellation is heard at once.
    async fn follow(&self) {
        let mut seq = 0;
        loop {
            let began = Instant::now();
            if let Ok(mut events) = self.client.events(self.task, seq).await {
                self.is_following.send_replace(true);
                loop {
                    let event = match events.next().await {
                        Ok(Some(event)) => event,
                        // The task has ended, and there will be nothing more to hear of it.
                        Ok(None) => {
                            self.is_following.send_replace(false);
                            return;
                        }
                        Err(_) => break,
                    };
                    seq = event.seq;
                    match event.kind.as_str() {
                        "cancelRequested" => self.interrupted(Interruption::Cancelled),
                        "checkpoint" if event.at >= self.claimed_at => {
                            let found = event.details.get("checkpoint").cloned().unwrap_or_default();
                            if let Ok(checkpoint) = serde_json::from_value::<Checkpoint>(found) {
                                self.found(&checkpoint);
                            }
                        }
                        _ => {}
                    }
                }
            }
            self.is_following.send_replace(false);
            tokio::time::sleep_until(began + RETRY_INTERVAL).await;
        }
    }

    /// Looks for the file that `ralph hook` writes: it comes also when the server is away.
    async fn watch_checkpoint(&self) {
        let mut last = None;
        loop {
            tokio::time::sleep(CHECKPOINT_INTERVAL).await;
            let found = self.checkpoints.read(self.task).ok().flatten();
            if let Some(checkpoint) = found.filter(|found| last.as_ref() != Some(found)) {
                self.found(&checkpoint);
                last = Some(checkpoint);
            }
        }
    }

    /// A full context ends the iteration that reported it, and no later one.
    fn found(&self, checkpoint: &Checkpoint) {
        let iteration = *self.iteration.borrow();
        let is_current = checkpoint.iteration == 0 || checkpoint.iteration == iteration;
        let is_new = self.followed.get() < Some(checkpoint.timestamp);
        if checkpoint.context_full && is_current && is_new && iteration > 0 {
            self.followed.set(Some(checkpoint.timestamp));
            self.context_full.send_modify(|count| *count += 1);
        }
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
