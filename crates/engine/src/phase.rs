//! What a loop waits for. One type per phase. What a phase does not name changes nothing in it: answers to older attempts, and what
//! other phases wait for. A test has the table of all phases and events.

mod baseline;
mod closing;
mod confirming;
mod done;
mod guarding;
mod pausing;
mod restoring;
mod verifying;
mod working;

use ralph_model::{AgentSpec, Attempt, ErrorCause, Iteration, Keep, Millis, Money, Outcome, Timestamp};

use crate::decide::{self, Next};
use crate::event::{Effect, Event};
use crate::facts::Facts;
use crate::prompt::{self, Response};

pub use baseline::Baseline;
pub use closing::Closing;
pub use confirming::Confirming;
pub use done::Done;
pub use guarding::Guarding;
pub use pausing::Pausing;
pub use restoring::Restoring;
pub use verifying::Verifying;
pub use working::Working;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    Baseline(Baseline),
    /// Rest, guard and reservation before a pass.
    Pausing(Pausing),
    Working(Working),
    Guarding(Guarding),
    Verifying(Verifying),
    /// The checks to show that they can still fail.
    Confirming(Confirming),
    Restoring(Restoring),
    /// The last things before the end.
    Closing(Closing),
    Done(Done),
    /// Only while a step is under way; no caller ever sees it.
    Taken,
}

pub(crate) type Step = (Phase, Vec<Effect>);

impl Phase {
    pub(crate) fn on(self, facts: &mut Facts, at: Timestamp, event: Event) -> Step {
        match (self.attempt(), event) {
            (Some(attempt), Event::StopRequested { stop }) => {
                facts.note_stop(stop);
                let effects = if self.is_cut_short(facts) { vec![Effect::StopRunning { attempt }] } else { vec![] };
                (self, effects)
            }
            (Some(_), Event::Faulted { error, lost, stopped }) => {
                match self {
                    Self::Working(phase) => phase.lose(facts, at, lost),
                    Self::Confirming(_) => confirming::forget_verdict(facts),
                    _ => {}
                }
                fault(facts, error, stopped)
            }
            (_, event) => self.on_own(facts, at, event),
        }
    }

    /// Whether what runs is ended when somebody asks the loop to stop.
    fn is_cut_short(&self, facts: &Facts) -> bool {
        match self {
            Self::Baseline(_) | Self::Pausing(_) => true,
            // After the iteration, unless it has to be now.
            Self::Working(_) | Self::Verifying(_) | Self::Confirming(_) => facts.stops_now(),
            // They are short, and leave the workspace as it has to be.
            Self::Guarding(_) | Self::Restoring(_) | Self::Closing(_) | Self::Done(_) | Self::Taken => false,
        }
    }

    /// What only some phases wait for.
    fn on_own(self, facts: &mut Facts, at: Timestamp, event: Event) -> Step {
        match self {
            Self::Baseline(phase) => phase.on(facts, event),
            Self::Pausing(phase) => phase.on(facts, at, event),
            Self::Working(phase) => phase.on(facts, at, event),
            Self::Guarding(phase) => phase.on(facts, event),
            Self::Verifying(phase) => phase.on(facts, at, event),
            Self::Confirming(phase) => phase.on(facts, at, event),
            Self::Restoring(phase) => phase.on(facts, event),
            Self::Closing(phase) => phase.on(facts, event),
            Self::Done(phase) => phase.on(facts, event),
            Self::Taken => (Self::Taken, vec![]),
        }
    }

    pub(crate) const fn attempt(&self) -> Option<Attempt> {
        match self {
            Self::Baseline(phase) => Some(phase.attempt),
            Self::Pausing(phase) => Some(phase.attempt),
            Self::Working(phase) => Some(phase.attempt),
            Self::Guarding(phase) => Some(phase.attempt),
            Self::Verifying(phase) => Some(phase.attempt),
            Self::Confirming(phase) => Some(phase.attempt),
            Self::Restoring(phase) => Some(phase.attempt),
            Self::Closing(phase) => Some(phase.attempt),
            Self::Done(_) | Self::Taken => None,
        }
    }

    pub const fn name(&self) -> &'static str {
        match self {
            Self::Baseline(_) => "baseline",
            Self::Pausing(_) => "pausing",
            Self::Working(_) => "working",
            Self::Guarding(_) => "guarding",
            Self::Verifying(_) => "verifying",
            Self::Confirming(_) => "confirming",
            Self::Restoring(_) => "restoring",
            Self::Closing(_) => "closing",
            Self::Done(_) => "done",
            Self::Taken => "taken",
        }
    }
}

/// The first phase of a new loop.
pub(crate) fn begin(facts: &mut Facts) -> Step {
    if facts.has_checks() { Baseline::enter(facts) } else { next_iteration(facts, Millis(0)) }
}

/// Begins another pass, or ends the loop when none is allowed.
pub(crate) fn next_iteration(facts: &mut Facts, pause: Millis) -> Step {
    match decide::before_iteration(facts) {
        Next::End(outcome) => end(facts, outcome),
        Next::Escalate | Next::Wait(_) | Next::FailOver | Next::Continue => Pausing::enter(facts, pause),
    }
}

/// Follows the decision over the pass that was recorded last.
pub(crate) fn follow(facts: &mut Facts, next: Next) -> Step {
    let pause = facts.config.pause;
    if !matches!(next, Next::End(Outcome::Completed { .. })) {
        facts.mark_uncounted();
    }
    match next {
        Next::End(outcome) => end(facts, outcome),
        Next::Continue => next_iteration(facts, pause),
        Next::Wait(wait) => {
            facts.waited = facts.waited.plus(wait.most);
            facts.wait = Some(wait);
            facts.waits += 1;
            next_iteration(facts, pause)
        }
        Next::FailOver => {
            facts.fail_over();
            next_iteration(facts, pause)
        }
        Next::Escalate => {
            // While a pass was undone somebody may have asked the loop to stop.
            if let Next::End(outcome) = decide::before_iteration(facts) {
                return end(facts, outcome);
            }
            facts.escalated = true;
            facts.progress.forgive();
            next_iteration(facts, pause)
        }
    }
}

/// Ends the loop, after the last things that the configuration asks for.
pub(crate) fn end(facts: &mut Facts, outcome: Outcome) -> Step {
    if outcome == (Outcome::Completed { verified: true }) && facts.has_pins_to_restore() {
        let attempt = facts.next_attempt();
        return (Phase::Closing(Closing { attempt, outcome, keep: None }), vec![Effect::RestorePinned { attempt }]);
    }
    let wants_commit = facts.config.commit && outcome == Outcome::Completed { verified: true };
    let wants_best = facts.config.keep == Keep::Best && matches!(outcome, Outcome::Aborted { .. });
    if wants_commit {
        let attempt = facts.next_attempt();
        return (Phase::Closing(Closing { attempt, outcome, keep: None }), vec![Effect::CommitWork { attempt }]);
    }
    if let Some(best) = facts.best().filter(|best| wants_best && best.tree != facts.tree) {
        let attempt = facts.next_attempt();
        let effect = Effect::RestoreTree { attempt, to: best.clone() };
        return (Phase::Closing(Closing { attempt, outcome, keep: Some(best) }), vec![effect]);
    }
    Done::enter(outcome)
}

/// Gives up because Ralph's own machinery failed, or was cut short on request; the loop can be resumed.
pub(crate) fn fault(facts: &Facts, error: String, stopped: bool) -> Step {
    let failed = Outcome::Error { cause: ErrorCause::Faulted { error } };
    Done::enter(if stopped { decide::cancelled(facts) } else { failed })
}

pub(crate) fn run_agent(
    facts: &Facts,
    agent: AgentSpec,
    iteration: Iteration,
    attempt: Attempt,
    reserved: Money,
) -> (Working, Effect) {
    let build = |response| {
        if facts.is_claim_known { String::new() } else { prompt::build(facts, iteration, response) }
    };
    let (prompt, told) = (build(Response::Shown), build(Response::LeftOut));
    let left = facts.config.max_duration.map(|limit| limit.less(facts.active));
    let timeout = left.map_or(facts.config.iteration_timeout, |left| left.min(facts.config.iteration_timeout));
    let budget = (!agent.unmetered).then_some(reserved);
    let tokens = facts.config.max_tokens.map(|limit| limit.saturating_sub(facts.tokens));
    let unmetered = agent.unmetered;
    let agent = Box::new(agent);
    let effect = Effect::RunAgent { iteration, attempt, agent, prompt: prompt.clone(), budget, tokens, timeout };
    (Working { attempt, unmetered, reserved, prompt, told }, effect)
}
