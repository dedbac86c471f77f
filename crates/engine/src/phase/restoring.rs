//! A pass made things worse and is undone before the next one, or before the loop ends.

use ralph_model::{Attempt, Best};

use super::{Phase, Step, follow};
use crate::decide::Next;
use crate::event::{Effect, Event};
use crate::facts::Facts;

/// Waits for the workspace to be put back to its best state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restoring {
    pub attempt: Attempt,
    pub best: Best,
    pub(crate) next: Next,
}

impl Restoring {
    pub(crate) fn enter(facts: &mut Facts, best: Best, next: Next) -> Step {
        let attempt = facts.next_attempt();
        let effect = Effect::RestoreTree { attempt, to: best.clone() };
        (Phase::Restoring(Self { attempt, best, next }), vec![effect])
    }

    pub(crate) fn on(self, facts: &mut Facts, event: Event) -> Step {
        match event {
            Event::TreeRestored { attempt, tree } if attempt == self.attempt => {
                facts.tree = tree;
                if let Some(record) = facts.iterations.last_mut() {
                    record.undone = true;
                }
                if matches!(self.next, Next::End(_)) {
                    facts.kept = Some(self.best);
                }
                follow(facts, self.next)
            }
            Event::Resumed { limits, .. } => {
                facts.resume(limits);
                let next = match self.next {
                    // A user who resumes a loop that was about to end wants it to try again.
                    Next::End(_) => {
                        facts.progress.forgive();
                        Next::Continue
                    }
                    next => next,
                };
                Self::enter(facts, self.best, next)
            }
            _ => (Phase::Restoring(self), vec![]),
        }
    }
}
