//! A loop's iteration as a delegation: what the agent is asked for, and what came of it.

use ralph_model::{AgentSpec, Cost, Delegation, DelegationResult, Domain, LoopConfig, ResultUsage};

use crate::facts::IterationRecord;
use crate::prompt;

/// What the agent of a loop is asked for.
#[must_use]
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

/// What came of one iteration: the status that the evidence of agent and checks allows, and the agent's own words beside it.
#[must_use]
pub fn delegation_result(record: &IterationRecord) -> DelegationResult {
    let run = record.run.as_ref();
    DelegationResult {
        status: prompt::status(record, &record.agent),
        summary: run.map(|run| run.final_message.clone()).unwrap_or_default(),
        tool_evidence: prompt::evidence(&record.agent, record, None).0,
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
    }
}

#[cfg(test)]
#[path = "delegation_tests.rs"]
mod tests;
