//! A pass made things worse and is undone before the next one.

use ralph_model::{Attempt, Best};

use super::{Phase, Step, fault, follow};
use crate::decide::Next;
use crate::event::{Effect, Event};
use crate::facts::Facts;

/// Waits for the workspace to be put back to its best state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restoring {
    pub attempt: Attempt,
    pub best: Best,
    /// The pass was also the one that made a stall.
    pub stalled: bool,
}

impl Restoring {
    pub(crate) fn enter(facts: &mut Facts, best: Best, stalled: bool) -> Step {
        let attempt = facts.next_attempt();
        let effect = Effect::RestoreTree { attempt, to: best.clone() };
        (Phase::Restoring(Self { attempt, best, stalled }), vec![effect])
    }

    pub(crate) fn on(self, facts: &mut Facts, event: Event) -> Step {
        match event {
            Event::TreeRestored { attempt, tree } if attempt == self.attempt => {
                facts.tree = tree;
                if let Some(record) = facts.iterations.last_mut() {
                    record.undone = true;
                }
                follow(facts, if self.stalled { Next::Escalate } else { Next::Continue })
            }
            Event::StopRequested { stop } => {
                facts.note_stop(stop);
                (Phase::Restoring(self), vec![])
            }
            Event::Resumed { limits, .. } => {
                facts.resume(limits);
                Self::enter(facts, self.best, self.stalled)
            }
            Event::Faulted { error, stopped, .. } => fault(facts, error, stopped),
            _ => (Phase::Restoring(self), vec![]),
        }
    }
}
