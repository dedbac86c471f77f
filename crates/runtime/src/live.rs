//! A loop in step with its journal, and what others see of it.

use ralph_agents::Kind;
use ralph_engine::{Effect, Event, IterationRecord, Loop, Lost, Phase};
use ralph_model::{AgentSpec, Attempt, Cost, Money, Outcome, PriceList, RunId, Timestamp};
use ralph_store::{Append, Metering, NewAttempt, NewRun, RunStatus as StoredStatus, RunSummary, Settlement};
use ralph_view::{Delta, Folded, OutcomeView, RunResult, RunState, RunStatus, RunView, Update, What};

use crate::artifacts::logs;
use crate::attempts::Attempts;
use crate::error::Error;
use crate::home::LoopFolder;
use crate::journaled::{Journaled, Listed, encode};
use crate::perform::Answer;
use crate::services::Services;

/// A loop that this process works on.
pub(crate) type Live = Journaled<Loop>;

impl Listed for Loop {
    const FINISHED: &'static str = "loopFinished";

    fn summary(&self, id: RunId) -> RunSummary {
        let state = RunState::new(id, self);
        RunSummary {
            status: match state.status {
                RunStatus::Running | RunStatus::Interrupted | RunStatus::Waiting => StoredStatus::Running,
                RunStatus::Completed => StoredStatus::Completed,
                RunStatus::Aborted => StoredStatus::Aborted,
                RunStatus::Error => StoredStatus::Error,
            },
            reason: state.reason,
            iterations: state.counted,
            cost: state.cost,
            verified: state.verified,
            grade: state.grade,
            finished_at: self.outcome().map(|_| state.updated_at),
        }
    }
}

impl Live {
    /// Records a new loop and what has to be done first.
    pub(crate) async fn begin(services: &Services, new: NewRun, first: Event) -> Result<(Self, Vec<Effect>), Error> {
        let at = new.at;
        let (live, effects) = Self::create(services, new, first).await?;
        live.tell(services, at, vec![ralph_view::opened(&live.run)]);
        Ok((live, effects))
    }

    /// What is known of an agent's run that has no recorded end, and what that does to the money.
    pub(crate) fn lost(&self, attempts: &Attempts) -> Option<(Lost, Option<Settlement>)> {
        let Phase::Working(working) = self.run.phase() else { return None };
        let ran = attempts.may_have_run(working.attempt);
        let cost = match (working.unmetered, ran) {
            (true, _) => Cost::Unmetered,
            (false, false) => Cost::Known { amount: Money::ZERO },
            (false, true) => attempts.cost(working.attempt),
        };
        let estimate = (cost == Cost::Unknown).then(|| self.estimate(attempts.prices()));
        let lost = Lost { attempt: working.attempt, ran, cost, estimate };
        let money = settlement(working.attempt, working.reserved, lost.charge(working.reserved));
        Some((lost, money))
    }

    /// What a run is charged whose cost was not reported: as much as the dearest one before it, else one request of a usual size.
    fn estimate(&self, prices: &PriceList) -> Money {
        let facts = self.run.facts();
        let is_known =
            |record: &&IterationRecord| record.run.as_ref().is_some_and(|run| matches!(run.cost, Cost::Known { .. }));
        let dearest = facts.iterations.iter().filter(is_known).map(|record| record.charged).max();
        let title = facts.last_iteration().map(|last| last.agent.as_str());
        let agent = facts.config.agents().find(|agent| Some(agent.title().as_str()) == title);
        dearest
            .filter(|cost| *cost > Money::ZERO)
            .unwrap_or_else(|| prices.usual_request(agent.and_then(|agent| agent.model.as_deref())))
    }

    /// Writes one event down, then steps. A failed write leaves the engine as it was: the journal is the truth.
    pub(crate) async fn record(
        &mut self,
        services: &Services,
        answer: impl Into<Answer>,
    ) -> Result<Vec<Effect>, Error> {
        let at = (services.now)();
        let Answer { event, money, mut artifacts } = answer.into();
        let encoded = encode(at, &event)?;
        artifacts.extend(logs(&event, self.run.facts().last_iteration().map(|record| record.iteration), at));
        let Folded { run: next, effects, deltas } = ralph_view::fold(self.lease.run, &self.run, at, event);
        // In the same commit: once it is durable, the agent may start.
        let start = effects.iter().find_map(|effect| match effect {
            Effect::RunAgent { attempt, agent, .. } => Some(started(services, at, *attempt, agent)),
            _ => None,
        });
        let with = Append { settle: money, start, artifacts, ..Append::default() };
        self.commit(services, encoded, next, with).await?;
        self.tell(services, at, deltas);
        Ok(effects)
    }

    fn tell(&self, services: &Services, at: Timestamp, deltas: Vec<Delta>) {
        let state = Box::new(RunState::new(self.lease.run, &self.run));
        let what = What::Recorded { seq: self.head.seq.0, at, state, deltas };
        services.tell(Update { run: Some(self.lease.run), candidate: None, what });
    }

    pub(crate) fn view(&self) -> RunView {
        RunView::new(self.lease.run, &self.run)
    }

    /// The result of a loop that ended like this.
    pub(crate) fn result(&self, view: &RunView, outcome: &Outcome, folder: &LoopFolder) -> RunResult {
        let folder = folder.root().to_string_lossy().into_owned();
        RunResult::new(view, OutcomeView::new(self.lease.run, outcome, &self.run), folder, self.head.hash.to_string())
    }
}

/// An attempt whose agent is about to start here.
fn started(services: &Services, at: Timestamp, attempt: Attempt, agent: &AgentSpec) -> NewAttempt {
    let writes_report = Kind::of(agent).is_some_and(|kind| kind.capabilities.writes_report);
    let metering = if writes_report { Metering::Reported } else { Metering::Watched };
    NewAttempt { attempt, at, machine: services.machine.clone(), metering }
}

/// The settlement that goes with an event, when money was reserved for its attempt.
pub(crate) fn settlement(attempt: ralph_model::Attempt, reserved: Money, amount: Money) -> Option<Settlement> {
    (reserved > Money::ZERO).then_some(Settlement { attempt, amount })
}
