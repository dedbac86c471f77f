//! A loop as a value: events in, effects out.

use ralph_model::{Attempt, Outcome, Status, Timestamp};

use crate::claim::Claim;
use crate::decide;
use crate::delegation::delegation_result;
use crate::event::{Effect, Event};
use crate::facts::{Facts, Hint, IterationRecord};
use crate::phase::{self, Phase};
use crate::prompt::{self, Response};
use crate::run::{Machine, ReplayError};

/// One loop, as far as its journal goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    facts: Facts,
    phase: Phase,
}

impl Loop {
    /// A loop from its first event, with what has to be done first.
    pub fn start(at: Timestamp, event: Event) -> Result<(Self, Vec<Effect>), ReplayError> {
        let Event::LoopStarted { config, start } = event else { return Err(ReplayError::NoStart) };
        let mut facts = Facts::new(*config, start, at);
        let (phase, effects) = phase::begin(&mut facts);
        Ok((Self { facts, phase }, effects))
    }

    /// Takes one event into account and says what has to be done. The same events give the same effects.
    pub fn step(&mut self, at: Timestamp, event: Event) -> Vec<Effect> {
        if let Event::Resumed { attempts, settled, .. } = &event {
            self.facts.attempt = self.facts.attempt.max(*attempts);
            // An event that was set aside took its cost with it, and the money is spent all the same.
            self.facts.spent = self.facts.spent.max(*settled);
            // No agent worked between the last event and this one.
            self.facts.last = at;
        }
        if let Event::AlertRaised { alert } = &event {
            self.facts.alerted.insert(*alert);
        }
        if let Event::HintGiven { number, text } = &event {
            let (iteration, text) = (self.facts.next_iteration(), text.clone());
            self.facts.hints.push(Hint { number: *number, at, iteration, text });
        }
        self.facts.note_time(at);
        let phase = std::mem::replace(&mut self.phase, Phase::Taken);
        let (phase, mut effects) = phase.on(&mut self.facts, at, event);
        self.phase = phase;
        let alerts = self.facts.due_alerts();
        effects.splice(0..0, alerts.into_iter().map(Effect::RaiseAlert));
        effects
    }

    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    pub const fn phase(&self) -> &Phase {
        &self.phase
    }

    pub const fn awaited(&self) -> Option<Attempt> {
        self.phase.attempt()
    }

    /// Whether a pass is under way: its agent, its checks or their confirmation are awaited.
    pub const fn has_open_iteration(&self) -> bool {
        match &self.phase {
            Phase::Working(_) | Phase::Guarding(_) | Phase::Verifying(_) | Phase::Confirming(_) => true,
            Phase::Baseline(_)
            | Phase::Pausing(_)
            | Phase::Restoring(_)
            | Phase::Closing(_)
            | Phase::Done(_)
            | Phase::Taken => false,
        }
    }

    /// How the loop ended, once it has.
    pub const fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Done(done) => Some(&done.outcome),
            _ => None,
        }
    }

    /// Whether the work is verified and only the last things were in the way of saying so.
    pub fn is_only_to_be_closed(&self) -> bool {
        match self.outcome() {
            Some(outcome) => decide::completion_after(&self.facts, outcome).is_some(),
            None => decide::completion(&self.facts).is_some(),
        }
    }

    /// What an agent's final message says about its work, judged by the prompt that it was given. Nothing where no agent runs.
    pub fn claim(&self, final_message: &str) -> Option<Claim> {
        match &self.phase {
            Phase::Working(working) => Some(working.claim(&self.facts, final_message)),
            _ => None,
        }
    }

    pub fn envelope(&self, record: &IterationRecord) -> String {
        prompt::envelope(&self.facts, record, Response::Shown)
    }

    /// What the evidence of one pass allows.
    pub fn status(&self, record: &IterationRecord) -> Status {
        delegation_result(record, None).status
    }
}

impl Machine for Loop {
    type Event = Event;
    type Effect = Effect;
    type Outcome = Outcome;

    fn start(at: Timestamp, event: Event) -> Result<(Self, Vec<Effect>), ReplayError> {
        Self::start(at, event)
    }

    fn step(&mut self, at: Timestamp, event: Event) -> Vec<Effect> {
        self.step(at, event)
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.outcome()
    }

    fn replay(events: impl IntoIterator<Item = (Timestamp, Event)>) -> Result<Self, ReplayError> {
        let mut events = events.into_iter().peekable();
        let (at, first) = events.next().ok_or(ReplayError::NoStart)?;
        let (mut run, _) = Self::start(at, first)?;
        while let Some((at, event)) = events.next() {
            let next = events.peek().map(|(_, event)| event);
            run.facts.is_claim_known = match (&event, next) {
                (
                    Event::IterationStarted { attempt: started, .. },
                    Some(Event::AgentFinished { attempt, claim: Some(_), .. }),
                ) => started == attempt,
                _ => false,
            };
            run.step(at, event);
        }
        run.facts.is_claim_known = false;
        Ok(run)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "machine_distrust_tests.rs"]
mod distrust_tests;

#[cfg(test)]
#[path = "machine_resume_tests.rs"]
mod resume_tests;

#[cfg(test)]
#[path = "machine_service_tests.rs"]
mod service_tests;

#[cfg(test)]
#[path = "machine_walk_tests.rs"]
mod walk_tests;

#[cfg(test)]
#[path = "machine_transition_tests.rs"]
mod transition_tests;

#[cfg(test)]
#[path = "machine_golden_tests.rs"]
mod golden_tests;
