//! A prohibited file was changed: its content is kept aside and the file is put back. The loop ends here.

use ralph_model::{AbortCause, Attempt, Outcome, Violation};

use super::{Phase, Step, end};
use crate::event::{Effect, Event};
use crate::facts::Facts;

/// Waits for prohibited files to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarding {
    pub attempt: Attempt,
    /// What was seen to be changed. A second attempt may find it put back already.
    pub violations: Vec<Violation>,
}

impl Guarding {
    pub(crate) fn enter(facts: &mut Facts, violations: Vec<Violation>) -> Step {
        let attempt = facts.next_attempt();
        (Phase::Guarding(Self { attempt, violations }), vec![Effect::RestoreProhibited { attempt }])
    }

    pub(crate) fn on(self, facts: &mut Facts, event: Event) -> Step {
        match event {
            Event::ProhibitedRestored { attempt, violations, patch, tree } if attempt == self.attempt => {
                facts.find(tree);
                let violations = if violations.is_empty() { self.violations } else { violations };
                facts.patch = Some(patch.clone());
                let cause = AbortCause::Prohibited { violations, patch, start: facts.start.head.clone() };
                end(facts, Outcome::Aborted { cause })
            }
            Event::Resumed { limits, .. } => {
                facts.resume(limits);
                Self::enter(facts, self.violations)
            }
            _ => (Phase::Guarding(self), vec![]),
        }
    }
}
