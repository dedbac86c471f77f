//! A prohibited file was changed: its content is kept aside and the file is put back. The loop ends here.

use ralph_model::{AbortReason, Attempt, Outcome, Violation};

use super::{Phase, Step, end, fault};
use crate::event::{Effect, Event};
use crate::facts::Facts;

/// Waits for prohibited files to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarding {
    /// Whose answer is awaited.
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
                let files = describe(if violations.is_empty() { &self.violations } else { &violations });
                let details = format!("{files}; restored, and the offending content is kept in {patch}");
                facts.patch = Some(patch);
                end(facts, Outcome::Aborted { reason: AbortReason::ProhibitedPath, details })
            }
            Event::StopRequested { stop } => {
                facts.note_stop(stop);
                (Phase::Guarding(self), vec![])
            }
            Event::Resumed { limits, .. } => {
                facts.resume(limits);
                Self::enter(facts, self.violations)
            }
            Event::Faulted { error, .. } => fault(error),
            Event::ProhibitedRestored { .. }
            | Event::LoopStarted { .. }
            | Event::BaselineFinished { .. }
            | Event::IterationStarted { .. }
            | Event::IterationRefused { .. }
            | Event::AgentFinished { .. }
            | Event::ChecksFinished { .. }
            | Event::TripwireFinished { .. }
            | Event::PinsRestored { .. }
            | Event::TreeRestored { .. }
            | Event::WorkCommitted { .. }
            | Event::AlertRaised { .. }
            | Event::LoopFinished { .. } => (Phase::Guarding(self), vec![]),
        }
    }
}

fn describe(violations: &[Violation]) -> String {
    let named: Vec<String> =
        violations.iter().map(|v| format!("{} {} (prohibited by {})", v.kind.letter(), v.path, v.glob)).collect();
    named.join(", ")
}
