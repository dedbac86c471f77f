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
                let seen = if violations.is_empty() { &self.violations } else { &violations };
                let files = describe(seen);
                let mut details = format!("{files}; restored, and the offending content is kept in {patch}");
                if let Some(commit) = seen.iter().find_map(|violation| violation.commit.as_deref()) {
                    details.push_str(&way_out(commit, facts.start.head.as_deref()));
                }
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
            Event::Faulted { error, stopped, .. } => fault(facts, error, stopped),
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
    let named = violations.iter().map(|violation| {
        let Violation { path, glob, kind, commit } = violation;
        let letter = kind.letter();
        match commit {
            None => format!("{letter} {path} (prohibited by {glob})"),
            Some(commit) => format!("{letter} {path} (prohibited by {glob}, in commit {})", short(commit)),
        }
    });
    named.collect::<Vec<_>>().join(", ")
}

/// What a person does about a commit. Nobody else may: it is on their branch.
fn way_out(commit: &str, start: Option<&str>) -> String {
    let commit = short(commit);
    let way = match start.map(short) {
        Some(start) => format!(
            "`git reset {start}` takes back what was committed since the loop's start and leaves the files as they are, \
             `git rebase -i {start}` lets you choose"
        ),
        None => "`git update-ref -d HEAD` takes back what was committed and leaves the files as they are".to_owned(),
    };
    format!("; commit {commit} still has it, and a push would ship it: {way}")
}

/// As much of a commit's id as people read.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
