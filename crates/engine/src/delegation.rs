//! A loop's iteration as a delegation: what the agent is asked for, and what came of it.

use ralph_model::{AgentSpec, Cost, Delegation, DelegationResult, Domain, FaultKind, LoopConfig, ResultUsage, Verdict};

use crate::envelope::{EvidenceLine, Mark};
use crate::facts::IterationRecord;
use crate::prompt;
use crate::status::{Conduct, Judged, derive_status};

pub fn delegation(config: &LoopConfig, agent: &AgentSpec) -> Delegation {
    let constraints = config.prohibited_paths.iter().map(|glob| format!("do not change files that match {glob}"));
    Delegation {
        expected_outcome: expected_outcome(config),
        constraints: constraints.collect(),
        expects: config.expects.clone(),
        ..Delegation::new(agent.title(), Domain::Development, config.objective.clone())
    }
}

/// What should be true afterwards, in words; nothing in a loop without checks.
pub(crate) fn expected_outcome(config: &LoopConfig) -> Option<String> {
    let commands = &config.verification_commands;
    (!commands.is_empty()).then(|| format!("these checks pass: {}", commands.join("; ")))
}

/// What came of one iteration: the status that the evidence of agent and checks allows, and the agent's own words beside it. Checks
/// are compared with `baseline`, where it is known.
pub fn delegation_result(record: &IterationRecord, baseline: Option<&Verdict>) -> DelegationResult {
    observed(record, baseline).0
}

/// The same with what was expected and not seen, or seen and not permitted.
pub(crate) fn observed(record: &IterationRecord, baseline: Option<&Verdict>) -> (DelegationResult, Vec<EvidenceLine>) {
    let run = record.run.as_ref();
    let (tool_evidence, mut unmet) = prompt::evidence(&record.agent, record, baseline);
    let tampering = record.tampering().iter();
    unmet.extend(tampering.map(|tamper| EvidenceLine::new(Mark::Tampered, tamper.path.clone(), tamper.sentence())));
    let status = derive_status(&Judged {
        conduct: if run.is_none_or(|run| run.opaque) { Conduct::Opaque } else { Conduct::Acting },
        escalated: run.is_some_and(|run| run.escalation.is_some()),
        has_content: run.is_some_and(|run| !run.final_message.trim().is_empty()),
        evidence: &tool_evidence,
        tool_calls: run.map_or(0, |run| run.evidence.len()),
        unmet: unmet.len(),
        confidence: None,
        out_of_turns: run.is_some_and(|run| run.faults.iter().any(|fault| fault.kind == FaultKind::TurnLimit)),
    });
    let result = DelegationResult {
        status,
        summary: run.map(|run| run.final_message.clone()).unwrap_or_default(),
        tool_evidence,
        escalation: run.and_then(|run| run.escalation.clone()),
        findings: None,
        usage: run.map(|run| ResultUsage {
            input_tokens: run.usage.input_tokens,
            output_tokens: run.usage.output_tokens,
            cost: match run.cost {
                Cost::Known { amount } => Some(amount),
                Cost::Unknown | Cost::Unmetered => None,
            },
        }),
    };
    (result, unmet)
}

#[cfg(test)]
#[path = "delegation_tests.rs"]
mod tests;
