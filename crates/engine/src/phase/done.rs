//! The loop is over. Only a person who resumes it moves it again.

use ralph_model::{Millis, Outcome};

use super::{Phase, Step, Verifying, end, next_iteration};
use crate::decide;
use crate::event::{Effect, Event};
use crate::facts::Facts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub outcome: Outcome,
}

impl Done {
    pub(crate) fn enter(outcome: Outcome) -> Step {
        let effect = Effect::Finish { outcome: outcome.clone() };
        (Phase::Done(Self { outcome }), vec![effect])
    }

    pub(crate) fn on(self, facts: &mut Facts, event: Event) -> Step {
        match event {
            Event::Resumed { limits, tree, rewound, .. } if !matches!(self.outcome, Outcome::Completed { .. }) => {
                let unseen = facts.has_unseen_work() && !facts.is_rewound(tree.as_ref(), rewound);
                facts.resume(limits);
                // A user who resumes a stalled loop wants it to try again.
                facts.progress.forgive();
                facts.kept = None;
                // Only the last things were in the way of work that is already verified: that work, whatever came since.
                if let Some(outcome) = decide::completion_after(facts, &self.outcome) {
                    return end(facts, outcome);
                }
                facts.find(tree);
                if facts.has_checks() && facts.baseline.is_none() {
                    return super::begin(facts);
                }
                // Work that was never looked at may be all that was missing.
                if unseen {
                    return Verifying::enter(facts);
                }
                next_iteration(facts, Millis(0))
            }
            _ => (Phase::Done(self), vec![]),
        }
    }
}
