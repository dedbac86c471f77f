//! The checks run on the untouched workspace, to learn whether passing them will prove anything.

use ralph_model::{Attempt, Millis};

use super::{Phase, Step, next_iteration};
use crate::event::{Effect, Event};
use crate::facts::Facts;

/// Waits for the checks on the untouched workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    pub attempt: Attempt,
}

impl Baseline {
    pub(crate) fn enter(facts: &mut Facts) -> Step {
        let attempt = facts.next_attempt();
        (Phase::Baseline(Self { attempt }), vec![Effect::RunBaseline { attempt }])
    }

    pub(crate) fn on(self, facts: &mut Facts, event: Event) -> Step {
        match event {
            Event::BaselineFinished { attempt, verdict } if attempt == self.attempt => {
                // Checks that were cut short say nothing about the workspace.
                if facts.stop.is_none() {
                    facts.progress.begin(&facts.tree, verdict.failing_set());
                    facts.baseline = Some(verdict);
                }
                next_iteration(facts, Millis(0))
            }
            Event::Resumed { limits, tree, .. } => {
                facts.resume(limits);
                facts.find(tree);
                Self::enter(facts)
            }
            _ => (Phase::Baseline(self), vec![]),
        }
    }
}
