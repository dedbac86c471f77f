//! A journal and its engine in step: an event is written down before the engine sees it.

use ralph_agents::read_report;
use ralph_engine::{EVENT_VERSION, Effect, Event, Loop, Lost, Phase};
use ralph_model::{Attempt, Cost, LoopId, Money, Outcome, Timestamp};
use ralph_store::{Append, Head, Lease, NewEvent, NewRun, Recorded, RunStatus as StoredStatus, RunSummary, Settlement};
use ralph_view::{Delta, Folded, OutcomeView, RunResult, RunState, RunStatus, RunView, Update, What};

use crate::cost_note::CostNote;
use crate::error::Error;
use crate::home::LoopFolder;
use crate::services::{CrashPoint, Services};

const LOOP_FINISHED: &str = "loopFinished";

/// A loop that this process works on.
pub(crate) struct Live {
    pub(crate) lease: Lease,
    pub(crate) run: Loop,
    pub(crate) head: Head,
    pub(crate) end: End,
    appended: u32,
}

/// Whether the journal says that the loop is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Written,
    Unwritten,
}

impl End {
    /// The record of an end is always the last event: only a resumed loop goes on after it.
    pub(crate) fn of(recorded: &[Recorded]) -> Self {
        if recorded.last().is_some_and(|last| last.kind == LOOP_FINISHED) { Self::Written } else { Self::Unwritten }
    }
}

impl Live {
    /// Records a new loop and what has to be done first.
    pub(crate) async fn create(services: &Services, new: NewRun, first: Event) -> Result<(Self, Vec<Effect>), Error> {
        let (loop_id, at) = (new.id, new.at);
        crash_if(services.crash, 1, CrashPoint::Before);
        let (lease, head) = services.store.create_run(new, encode(at, &first)?).await?;
        crash_if(services.crash, 1, CrashPoint::After);
        let (run, effects) = Loop::start(at, first).map_err(|source| Error::Replay { loop_id, source })?;
        let live = Self { lease, run, head, end: End::Unwritten, appended: 1 };
        live.tell(services, at, vec![ralph_view::opened(&live.run)]);
        Ok((live, effects))
    }

    pub(crate) const fn reopened(lease: Lease, run: Loop, head: Head, end: End) -> Self {
        Self { lease, run, head, end, appended: 0 }
    }

    /// What is known of an agent whose run nobody answered for, and what that does to the money.
    pub(crate) fn lost(&self, folder: &LoopFolder) -> Option<(Lost, Option<Settlement>)> {
        let Phase::Working(working) = self.run.phase() else { return None };
        let ran = folder.marker(working.attempt).exists();
        let cost = match (working.unmetered, ran) {
            (true, _) => Cost::Unmetered,
            (false, false) => Cost::Known { amount: Money::ZERO },
            (false, true) => told(folder, working.attempt),
        };
        let money = settlement(working.attempt, working.reserved, cost.charge(working.reserved));
        Some((Lost { attempt: working.attempt, ran, cost }, money))
    }

    /// Writes one event down, then steps. A failed write leaves the engine as it was: the journal is the truth.
    pub(crate) async fn record(
        &mut self,
        services: &Services,
        event: Event,
        money: Option<Settlement>,
    ) -> Result<Vec<Effect>, Error> {
        let at = (services.now)();
        let encoded = encode(at, &event)?;
        let end = if event.kind() == LOOP_FINISHED { End::Written } else { End::Unwritten };
        // Stepping a copy tells what the listing has to show in the same transaction; only a commit makes it real.
        let Folded { run: next, effects, deltas } = ralph_view::fold(self.lease.run, &self.run, at, event);
        let number = self.appended + 1;
        crash_if(services.crash, number, CrashPoint::Before);
        let summary = Some(summary(self.lease.run, &next));
        let append = Append { events: vec![encoded], summary, settle: money };
        self.head = services.store.append(self.lease, self.head.seq, append).await?;
        crash_if(services.crash, number, CrashPoint::After);
        self.appended = number;
        self.end = end;
        self.run = next;
        self.tell(services, at, deltas);
        Ok(effects)
    }

    fn tell(&self, services: &Services, at: Timestamp, deltas: Vec<Delta>) {
        let state = Box::new(RunState::new(self.lease.run, &self.run));
        let what = What::Recorded { seq: self.head.seq.0, at, state, deltas };
        services.tell(Update { run: Some(self.lease.run), candidate: None, what });
    }

    /// All of the loop, as it is seen.
    pub(crate) fn view(&self) -> RunView {
        RunView::new(self.lease.run, &self.run)
    }

    /// The result of a loop that ended like this.
    pub(crate) fn result(&self, view: &RunView, outcome: &Outcome, folder: &LoopFolder) -> RunResult {
        let folder = folder.root().to_string_lossy().into_owned();
        RunResult::new(view, OutcomeView::new(self.lease.run, outcome, &self.run), folder, self.head.hash.to_string())
    }
}

fn encode(at: Timestamp, event: &Event) -> Result<NewEvent, Error> {
    Ok(NewEvent { at, version: EVENT_VERSION, kind: event.kind().to_owned(), payload: event.encode()? })
}

fn summary(loop_id: LoopId, run: &Loop) -> RunSummary {
    let state = RunState::new(loop_id, run);
    RunSummary {
        status: match state.status {
            RunStatus::Running | RunStatus::Interrupted => StoredStatus::Running,
            RunStatus::Completed => StoredStatus::Completed,
            RunStatus::Aborted => StoredStatus::Aborted,
            RunStatus::Error => StoredStatus::Error,
        },
        reason: state.reason,
        iterations: state.counted,
        cost: state.cost,
        verified: state.verified,
        finished_at: run.outcome().map(|_| state.updated_at),
    }
}

/// What the agent of an attempt that nobody answered for cost, as far as anybody knows.
pub(crate) fn told(folder: &LoopFolder, attempt: Attempt) -> Cost {
    CostNote::read(&folder.so_far(attempt)).unwrap_or_else(|| {
        // Nobody watched it: it tells in a report of its own.
        let report = read_report(&folder.attempt(attempt).join("result.json")).ok().flatten();
        report.and_then(|report| report.cost).map_or(Cost::Unknown, |amount| Cost::Known { amount })
    })
}

/// The settlement that goes with an event, when money was reserved for its attempt.
pub(crate) fn settlement(attempt: ralph_model::Attempt, reserved: Money, amount: Money) -> Option<Settlement> {
    (reserved > Money::ZERO).then_some(Settlement { attempt, amount })
}

fn crash_if(wanted: Option<CrashPoint>, number: u32, at: fn(u32) -> CrashPoint) {
    if wanted == Some(at(number)) {
        // As SIGKILL would: no destructor, no farewell.
        std::process::abort();
    }
}
