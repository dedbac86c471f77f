//! The outcome is decided; the last things are done: a commit of verified work, or the best state handed back.

use ralph_model::{Attempt, Best, Outcome};

use super::{Done, Phase, Step, end, follow};
use crate::decide;
use crate::event::Event;
use crate::facts::Facts;

/// Waits for the last things before the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    pub attempt: Attempt,
    pub outcome: Outcome,
    /// The state that the workspace gets, when it is put back.
    pub keep: Option<Best>,
}

impl Closing {
    pub(crate) fn on(self, facts: &mut Facts, event: Event) -> Step {
        match event {
            Event::WorkCommitted { attempt, commit, problem } if attempt == self.attempt => {
                facts.commit = commit;
                facts.commit_problem = problem;
                Done::enter(self.outcome)
            }
            Event::PinsRestored { attempt, patch, moved, tree }
                if attempt == self.attempt && facts.has_pins_to_restore() =>
            {
                facts.tree = tree;
                facts.pinned_patch = Some(patch);
                if moved.is_empty() {
                    return end(facts, self.outcome);
                }
                // What is there now is not what was verified, and the next time files have to be put back again.
                facts.pinned_patch = None;
                if let Some(verdict) = facts.iterations.last_mut().and_then(|record| record.verdict.as_mut()) {
                    verdict.moved = moved;
                }
                follow(facts, decide::after_iteration(facts))
            }
            Event::TreeRestored { attempt, tree } if attempt == self.attempt => {
                facts.tree = tree;
                facts.kept = self.keep;
                Done::enter(self.outcome)
            }
            Event::Resumed { limits, .. } => {
                facts.resume(limits);
                end(facts, self.outcome)
            }
            _ => (Phase::Closing(self), vec![]),
        }
    }
}
