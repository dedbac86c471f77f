//! A journal and its machine in step: an event is written down before the machine sees it. Knows no kind of run.

use ralph_engine::{JournalEvent, Machine, ReplayError};
use ralph_model::{RunId, Timestamp};
use ralph_store::{Append, Head, Lease, NewEvent, NewRun, Recorded, RunSummary};

use crate::error::Error;
use crate::services::{CrashPoint, Services};

/// A machine whose runs can be listed.
pub(crate) trait Listed: Machine {
    /// The kind of the event that records the end.
    const FINISHED: &'static str;

    /// What listings show of the run.
    fn summary(&self, id: RunId) -> RunSummary;
}

/// A run that this process works on.
pub(crate) struct Journaled<M> {
    pub(crate) lease: Lease,
    pub(crate) run: M,
    pub(crate) head: Head,
    pub(crate) end: End,
    appended: u32,
}

/// Whether the journal says that the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Written,
    Unwritten,
}

impl End {
    /// The record of an end is always the last event: only a resumed run continues after it.
    pub(crate) fn of<M: Listed>(recorded: &[Recorded]) -> Self {
        if recorded.last().is_some_and(|last| last.kind == M::FINISHED) { Self::Written } else { Self::Unwritten }
    }
}

impl<M: Listed> Journaled<M> {
    pub(crate) async fn create(
        services: &Services,
        new: NewRun,
        first: M::Event,
    ) -> Result<(Self, Vec<M::Effect>), Error> {
        let (loop_id, at) = (new.id, new.at);
        crash_if(services.crash, 1, CrashPoint::Before);
        let (lease, head) = services.store.create_run(new, encode(at, &first)?).await?;
        crash_if(services.crash, 1, CrashPoint::After);
        let (run, effects) = M::start(at, first).map_err(|source| Error::Replay { loop_id, source })?;
        Ok((Self { lease, run, head, end: End::Unwritten, appended: 1 }, effects))
    }

    /// A run that another process left.
    pub(crate) const fn reopened(lease: Lease, run: M, head: Head, end: End) -> Self {
        Self { lease, run, head, end, appended: 0 }
    }

    /// Writes one event down, then steps.
    pub(crate) async fn advance(&mut self, services: &Services, event: M::Event) -> Result<Vec<M::Effect>, Error> {
        let at = (services.now)();
        let encoded = encode(at, &event)?;
        // Stepping a copy tells what the listing has to show in the same transaction; only a commit makes it real.
        let mut next = self.run.clone();
        let effects = next.step(at, event);
        self.commit(services, encoded, next, Append::default()).await?;
        Ok(effects)
    }

    /// Writes an event down that leads to `next`, and what goes with it. A failed write leaves the run as it was: the journal is
    /// the truth.
    pub(crate) async fn commit(
        &mut self,
        services: &Services,
        event: NewEvent,
        next: M,
        with: Append,
    ) -> Result<(), Error> {
        let kind = event.kind.clone();
        let end = if event.kind == M::FINISHED { End::Written } else { End::Unwritten };
        let number = self.appended + 1;
        crash_if(services.crash, number, CrashPoint::Before);
        let append = Append { events: vec![event], summary: Some(next.summary(self.lease.run)), ..with };
        self.head = services.store.append(self.lease, self.head.seq, append).await?;
        tracing::trace!(run = %self.lease.run.short(), seq = self.head.seq.0, kind, "event recorded");
        crash_if(services.crash, number, CrashPoint::After);
        (self.appended, self.end, self.run) = (number, end, next);
        Ok(())
    }
}

pub(crate) fn encode<E: JournalEvent>(at: Timestamp, event: &E) -> Result<NewEvent, Error> {
    Ok(NewEvent { at, version: event.version(), kind: event.kind(), payload: event.encode()? })
}

pub(crate) fn head_of(run: RunId, recorded: &[Recorded]) -> Head {
    recorded.last().map_or_else(|| Head::genesis(run), |last| Head { seq: last.seq, hash: last.hash })
}

pub(crate) fn replay<M: Machine>(loop_id: RunId, recorded: Vec<Recorded>) -> Result<M, Error> {
    let wrong = |source| Error::Replay { loop_id, source };
    let mut events = Vec::with_capacity(recorded.len());
    for record in recorded {
        let event = M::Event::decode(record.version, &record.payload)
            .map_err(|source| wrong(ReplayError::Decode { seq: record.seq.0, source }))?;
        events.push((record.at, event));
    }
    M::replay(events).map_err(wrong)
}

fn crash_if(wanted: Option<CrashPoint>, number: u32, at: fn(u32) -> CrashPoint) {
    if wanted == Some(at(number)) {
        // As SIGKILL would: no destructor, no farewell.
        std::process::abort();
    }
}
