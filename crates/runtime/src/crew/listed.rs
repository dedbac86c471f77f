//! What listings show of a crew.

use ralph_crew::{Crew, CrewOutcome};
use ralph_engine::Machine as _;
use ralph_model::RunId;
use ralph_store::{RunEntry, RunStatus, RunSummary};

use crate::journaled::Listed;

/// The reason of a run that has no end because it waits for a person.
const WAITING: &str = "WAITING";

/// Whether a run that has no end can only continue once a person decided.
pub fn is_waiting(entry: &RunEntry) -> bool {
    entry.status == RunStatus::Running && entry.reason.as_deref() == Some(WAITING)
}

impl Listed for Crew {
    const FINISHED: &'static str = "crewFinished";

    fn summary(&self, _: RunId) -> RunSummary {
        let (status, reason) = match self.outcome() {
            None => (RunStatus::Running, self.is_waiting().then(|| WAITING.to_owned())),
            Some(CrewOutcome::Answered { .. }) => (RunStatus::Completed, None),
            Some(CrewOutcome::Aborted { cause }) => (RunStatus::Aborted, Some(cause.reason().name().to_owned())),
            Some(CrewOutcome::Failed { .. }) => (RunStatus::Error, None),
        };
        RunSummary {
            status,
            reason,
            iterations: self.rounds(),
            cost: self.spent(),
            verified: false,
            grade: None,
            finished_at: self.outcome().map(|_| self.times().1),
        }
    }
}
