//! What a crew has to show for itself, as scripts read it.

use ralph_engine::Machine as _;
use ralph_model::{Money, RunId, Status, ToolEvidence, exit_code};
use serde::{Serialize, Serializer};

use crate::event::{CrewAbort, CrewError, CrewOutcome};
use crate::machine::Crew;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CrewStatus {
    Answered,
    Aborted,
    Error,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CrewResult {
    pub run_id: RunId,
    pub status: CrewStatus,
    pub reason: Option<&'static str>,
    pub details: Option<String>,
    pub answer: Option<String>,
    pub doubts: Vec<String>,
    #[serde(rename = "costUSD", serialize_with = "dollars")]
    pub cost: Money,
    /// How often the first agent's model answered.
    pub rounds: u32,
    pub delegations: Vec<DelegationView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    #[serde(skip)]
    pub exit_code: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelegationView {
    pub agent: String,
    pub objective: String,
    /// What the evidence allows; none while it works.
    pub status: Option<Status>,
    pub evidence: Vec<ToolEvidence>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn dollars<S: Serializer>(money: &Money, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(money.to_json_number())
}

impl CrewResult {
    /// The result as far as the crew has come. One without an outcome waits for a person.
    pub fn new(run_id: RunId, crew: &Crew) -> Self {
        let delegations = crew.delegations().iter().map(|record| DelegationView {
            agent: record.agent.clone(),
            objective: record.objective.clone(),
            status: record.result.as_ref().map(|result| result.status),
            evidence: crew.evidence_of(record),
        });
        let mut result = Self {
            run_id,
            status: CrewStatus::Aborted,
            reason: None,
            details: None,
            answer: None,
            doubts: Vec::new(),
            cost: crew.spent(),
            rounds: crew.rounds(),
            delegations: delegations.collect(),
            pending: crew.pending().into_iter().map(|question| question.text.clone()).collect(),
            exit_code: exit_code::COMPLETED,
        };
        match crew.outcome() {
            Some(CrewOutcome::Answered { answer, doubts }) => {
                result.status = CrewStatus::Answered;
                (result.answer, result.doubts) = (Some(answer.clone()), doubts.clone());
            }
            Some(CrewOutcome::Aborted { cause }) => {
                result.reason = Some(cause.reason().name());
                result.exit_code = match cause {
                    CrewAbort::Stopped { by: ralph_model::StopBy::Keyboard } => exit_code::KEYBOARD,
                    cause => cause.reason().exit_code(),
                };
                result.details = Some(cause.to_string());
            }
            Some(CrewOutcome::Failed { cause }) => {
                (result.status, result.exit_code) = (CrewStatus::Error, exit_code::ERROR);
                result.details = Some(cause.to_string());
            }
            None => {
                let blocked = ralph_model::AbortReason::Blocked;
                (result.reason, result.exit_code) = (Some(blocked.name()), blocked.exit_code());
                let short = run_id.short();
                result.details = Some(format!(
                    "waits for a person: answer it over the API, or in a terminal with: ralph resume {short}"
                ));
            }
        }
        result
    }
}

impl CrewResult {
    /// How it ended, in one line.
    pub fn headline(&self) -> String {
        let text = self.answer.as_ref().or(self.details.as_ref()).map_or("", |text| text.lines().next().unwrap_or(""));
        let status = match self.status {
            CrewStatus::Answered => "answered",
            CrewStatus::Aborted => "aborted",
            CrewStatus::Error => "error",
        };
        format!("crew {status}, {}: {}", self.cost, crate::frame::cut(text, 200))
    }
}

impl std::fmt::Display for CrewAbort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rounds { max } => write!(f, "all {max} rounds are used"),
            Self::Cost { spent, max } => write!(f, "{spent} of {max} spent"),
            Self::Day { spent, cap } => write!(f, "the daily budget is used up: {spent} of {cap} spent"),
            Self::Escalated { reason } => write!(f, "handed back: {reason}"),
            Self::Stopped { .. } => f.write_str("stopped"),
        }
    }
}

impl std::fmt::Display for CrewError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model { trouble } => {
                write!(f, "the model could not be asked: {}", trouble.message)?;
                trouble.advice.iter().try_for_each(|advice| write!(f, "; {advice}"))
            }
            Self::Silent => f.write_str("the model answered with nothing, several times in a row"),
        }
    }
}
