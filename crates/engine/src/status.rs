//! Derives the status of a delegation from its evidence. No model is asked.

use ralph_model::{Confidence, Status, ToolEvidence};

/// What kind of work an agent was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conduct {
    /// It has to act, and its stream shows every tool call.
    Acting,
    /// It has to act, and only its exit code and the changed files can be seen; those are in the evidence.
    Opaque,
    Talking,
}

#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub conduct: Conduct,
    pub escalated: bool,
    pub has_content: bool,
    /// What was observed, checks included.
    pub evidence: &'a [ToolEvidence],
    pub tool_calls: usize,
    /// How many expectations were not met.
    pub unmet: usize,
    pub confidence: Option<Confidence>,
    /// It ended because its turns were used up.
    pub out_of_turns: bool,
}

pub fn derive_status(judged: &Judged<'_>) -> Status {
    if judged.escalated {
        return Status::Escalated;
    }
    if judged.evidence.is_empty() && !judged.has_content {
        return Status::Failed;
    }
    if judged.conduct == Conduct::Acting && judged.tool_calls == 0 {
        return Status::Failed;
    }
    let pending = judged.evidence.iter().filter(|evidence| evidence.is_pending()).count();
    let settled = || judged.evidence.iter().filter(|evidence| !evidence.is_pending());
    let (successes, failures) = (settled().filter(|e| e.success).count(), settled().filter(|e| !e.success).count());
    let by_evidence = match (successes, failures, pending) {
        (0, 0, 0) if judged.conduct == Conduct::Talking && judged.has_content => Status::Success,
        (0, 0, 0) | (0, 1.., 0) => Status::Failed,
        (1.., 0, 0) => Status::Success,
        _ => Status::Partial,
    };
    let doubtful = judged.unmet > 0 || judged.out_of_turns || judged.confidence == Some(Confidence::Low);
    if by_evidence == Status::Success && doubtful { Status::Partial } else { by_evidence }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
