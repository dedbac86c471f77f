//! A journal that is followed: read once, then event by event when the store says that it changed.

use anyhow::Context as _;
use ralph_engine::{Event, JournalEvent as _};
use ralph_model::LoopId;
use ralph_store::{Change, Changes, Error, RunEntry, Seq, StoreHandle};
use ralph_view::{RunFold, RunView, Update, What};

use crate::journal::read_to_end;

/// How many events are read at a time.
const BATCH: u32 = 100;

/// A loop, kept up to date.
pub(crate) struct FollowedLoop<'a> {
    store: &'a StoreHandle,
    loop_id: LoopId,
    changes: Changes,
    entry: RunEntry,
    fold: RunFold,
    seq: Seq,
    is_stale: bool,
}

impl<'a> FollowedLoop<'a> {
    pub(crate) async fn open(store: &'a StoreHandle, loop_id: LoopId) -> anyhow::Result<Self> {
        // First, so that nothing is written between the look and the notifications.
        let changes = store.subscribe();
        let entry = store.run(loop_id).await?;
        let (run, head) = read_to_end(store, loop_id).await?;
        let fold = RunFold::new(loop_id, run);
        Ok(Self { store, loop_id, changes, entry, fold, seq: head.seq, is_stale: true })
    }

    pub(crate) const fn entry(&self) -> &RunEntry {
        &self.entry
    }

    pub(crate) fn view(&self) -> RunView {
        self.fold.view()
    }

    /// The last event that was read.
    pub(crate) const fn seq(&self) -> u64 {
        self.seq.0
    }

    /// Reads what was written since the last call, if anything was, and says what changed.
    pub(crate) async fn catch_up(&mut self) -> anyhow::Result<Vec<Update>> {
        let mut updates = Vec::new();
        if !std::mem::take(&mut self.is_stale) {
            return Ok(updates);
        }
        self.entry = self.store.run(self.loop_id).await?;
        while self.seq != self.entry.head.seq {
            match self.store.events_after(self.loop_id, self.seq, BATCH).await {
                Ok(events) if events.is_empty() => break,
                Ok(events) => {
                    for recorded in events {
                        let event = Event::decode(recorded.version, &recorded.payload)
                            .with_context(|| format!("event {} cannot be read", recorded.seq))?;
                        let deltas = self.fold.apply(recorded.at, event);
                        self.seq = recorded.seq;
                        let (seq, at, state) = (recorded.seq.0, recorded.at, Box::new(self.fold.state()));
                        let what = What::Recorded { seq, at, state, deltas };
                        updates.push(Update { run: Some(self.loop_id), candidate: None, what });
                    }
                }
                // Events were set aside: another history begins.
                Err(Error::Conflict { .. }) => {
                    let (run, head) = read_to_end(self.store, self.loop_id).await?;
                    (self.fold, self.seq) = (RunFold::new(self.loop_id, run), head.seq);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(updates)
    }

    /// Reads what was written up to now, announced or not.
    pub(crate) async fn refresh(&mut self) -> anyhow::Result<Vec<Update>> {
        self.is_stale = true;
        self.catch_up().await
    }

    /// Returns when there may be something to read. Loses nothing when it is dropped.
    pub(crate) async fn changed(&mut self) {
        while !self.is_stale {
            self.is_stale = match self.changes.next().await {
                Some(Change::Events { run, .. }) => run == self.loop_id,
                Some(Change::Any) => true,
                Some(_) => false,
                None => std::future::pending().await,
            };
        }
    }
}
