//! One agent at work on one delegation: its conversation, its calls, and what the evidence says about it.

use ralph_engine::{Conduct, Envelope, EvidenceLine, Judged, Mark, derive_status};
use ralph_llm::{ToolCall, ToolResult};
use ralph_model::{
    Attempt, Delegation, DelegationResult, Expectation, Money, ResultUsage, ScoutFindings, ToolEvidence,
};

use crate::agent_file::{AgentFile, Role};
use crate::conversation::Conversation;
use crate::event::{Base, FrameId, Question, Unmet};
use crate::machine::CallId;

/// An agent at work.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) agent: String,
    /// The call that waits for it; none for the first agent.
    pub(crate) parent: Option<CallId>,
    pub(crate) delegation: Option<Delegation>,
    pub(crate) conversation: Conversation,
    pub(crate) turns: u32,
    pub(crate) tool_calls: u32,
    pub(crate) evidence: Vec<ToolEvidence>,
    pub(crate) usage: ResultUsage,
    pub(crate) base: Base,
    /// Answers without any content in a row.
    pub(crate) silent: u32,
    /// What its model is told before it is asked again.
    pub(crate) note: Option<&'static str>,
    pub(crate) state: FrameState,
}

/// What a frame waits for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FrameState {
    /// A look at the workspace.
    Opening { isolate: bool },
    /// The answer of its model.
    Asking { attempt: Attempt, most: Option<Money> },
    /// A summary.
    Compacting { attempt: Attempt, most: Option<Money> },
    /// Its calls, one after the other.
    Calling { calls: Vec<Call> },
    /// A look at what it left behind.
    Checking { ending: Ending },
    /// The next request.
    Idle,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) tool: ToolCall,
    pub(crate) state: CallState,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallState {
    Waiting,
    /// A tool runs.
    Running,
    /// A person has to decide.
    Asking {
        question: Question,
    },
    /// An outward action has been decided and is to be written down.
    Beginning {
        key: String,
    },
    /// An outward action may have happened.
    Acting {
        key: String,
    },
    /// Agents work on it.
    Delegating {
        frames: Vec<FrameId>,
        results: Vec<Option<(String, DelegationResult)>>,
        is_parallel: bool,
    },
    Done(ToolResult),
}

/// How an agent came to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) content: String,
    pub(crate) escalation: Option<String>,
    pub(crate) out_of_turns: bool,
}

impl Frame {
    pub(crate) fn new(agent: &AgentFile, parent: Option<CallId>, delegation: Option<Delegation>, text: String) -> Self {
        Self {
            agent: agent.name.clone(),
            parent,
            delegation,
            conversation: Conversation::new(text),
            turns: 0,
            tool_calls: 0,
            evidence: Vec::new(),
            usage: ResultUsage::default(),
            base: Base::default(),
            silent: 0,
            note: None,
            state: FrameState::Idle,
        }
    }

    /// What must be observable after it.
    pub(crate) fn expects(&self) -> &[Expectation] {
        self.delegation.as_ref().map_or(&[], |delegation| &delegation.expects)
    }

    pub(crate) fn calls(&self) -> &[Call] {
        match &self.state {
            FrameState::Calling { calls } => calls,
            _ => &[],
        }
    }

    /// The call that waits for a person.
    pub(crate) fn pending(&self) -> Option<&Question> {
        self.calls().iter().find_map(|call| match &call.state {
            CallState::Asking { question } => Some(question),
            _ => None,
        })
    }

    /// Whether a person or another frame has to act before it continues.
    pub(crate) fn waits_for_others(&self) -> bool {
        let waits = |call: &Call| match call.state {
            CallState::Waiting | CallState::Asking { .. } | CallState::Delegating { .. } | CallState::Done(_) => true,
            CallState::Running | CallState::Beginning { .. } | CallState::Acting { .. } => false,
        };
        !self.calls().is_empty() && self.calls().iter().all(waits)
    }

    /// What came of the work: the status that the evidence allows, and the agent's own words beside it.
    pub(crate) fn result(&self, agent: &AgentFile, ending: &Ending, unmet: &[Unmet]) -> DelegationResult {
        let findings = (agent.domain == ralph_model::Domain::Research).then(|| findings(&ending.content)).flatten();
        let mut evidence = self.evidence.clone();
        if agent.role == Role::Talking {
            // What a researcher looked at is no evidence of what was found.
            evidence.clear();
            if let Some(findings) = &findings {
                evidence.push(research(&agent.name, findings));
            }
        }
        let status = derive_status(&Judged {
            conduct: agent.role.conduct(),
            escalated: ending.escalation.is_some(),
            has_content: !ending.content.trim().is_empty(),
            evidence: &evidence,
            tool_calls: usize::try_from(self.tool_calls).unwrap_or(usize::MAX),
            unmet: unmet.len(),
            confidence: findings.as_ref().map(|findings| findings.confidence),
            out_of_turns: ending.out_of_turns,
        });
        let summary = match &ending.escalation {
            Some(reason) => format!("{} escalated: {reason}\n{}", agent.title(), ending.content).trim_end().to_owned(),
            None => ending.content.clone(),
        };
        let (escalation, usage) = (ending.escalation.clone(), Some(self.usage.clone()));
        DelegationResult { status, summary, tool_evidence: evidence, escalation, findings, usage }
    }

    /// The envelope over the work.
    pub(crate) fn envelope(
        &self,
        agent: &AgentFile,
        result: &DelegationResult,
        unmet: &[Unmet],
        most: usize,
    ) -> String {
        let delegation = self.delegation.as_ref();
        let objective = delegation.map_or(self.conversation.request(), |delegation| &delegation.objective);
        let mut evidence: Vec<EvidenceLine> = result.tool_evidence.iter().map(EvidenceLine::from).collect();
        if agent.role == Role::Acting && self.tool_calls == 0 {
            evidence.push(EvidenceLine::new(Mark::Missing, agent.name.clone(), "no tool was called"));
        }
        evidence.extend(unmet.iter().map(|unmet| EvidenceLine::new(Mark::Missing, unmet.what.clone(), &unmet.why)));
        let envelope = Envelope {
            agent: &agent.name,
            objective,
            expected_outcome: delegation.and_then(|delegation| delegation.expected_outcome.as_deref()),
            status: result.status,
            evidence,
            escalation: result.escalation.as_deref(),
            recommendations: result.findings.as_ref().map_or(&[], |findings| &findings.recommendations),
            summary: cut(&result.summary, most),
        };
        envelope.render()
    }
}

/// The beginning of a text.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The row of evidence that a researcher has.
fn research(agent: &str, findings: &ScoutFindings) -> ToolEvidence {
    let confidence = serde_json::to_value(findings.confidence).unwrap_or_default();
    let (files, advice) = (findings.relevant_files.len(), findings.recommendations.len());
    let confidence = confidence.as_str().unwrap_or_default();
    let summary = format!("found {files} files, {advice} recommendations (confidence: {confidence})");
    ToolEvidence::ok(format!("{agent}_research"), summary)
}

/// The findings in an answer: one JSON object, with or without text or a fence around it.
fn findings(content: &str) -> Option<ScoutFindings> {
    let (start, end) = (content.find('{')?, content.rfind('}')?);
    serde_json::from_str(content.get(start..=end)?).ok()
}

/// The instructions of an agent.
pub fn briefing(delegation: &Delegation) -> String {
    let list = |title: &str, items: &[String]| match items {
        [] => String::new(),
        items => format!("\n\n{title}:\n- {}", items.join("\n- ")),
    };
    let expects: Vec<String> = delegation.expects.iter().map(ToString::to_string).collect();
    let one = |title: &str, text: Option<&String>| text.map_or_else(String::new, |text| format!("\n\n{title}: {text}"));
    let scope = delegation.scope.map(|scope| serde_json::to_value(scope).unwrap_or_default());
    let scope = scope.as_ref().and_then(|scope| scope.as_str()).map(str::to_owned);
    [
        delegation.objective.clone(),
        one("Expected outcome", delegation.expected_outcome.as_ref()),
        list("Facts", &delegation.context_facts),
        list("Constraints", &delegation.constraints),
        one("Context", delegation.context.as_ref()),
        one("Where to look", scope.as_ref()),
        list("Ralph checks afterwards", &expects),
    ]
    .concat()
}

/// What came of the work of an agent that is a program, with its envelope: judged by what it reports and what was seen of it.
pub fn program_result(
    delegation: &Delegation,
    conduct: Conduct,
    evidence: Vec<ToolEvidence>,
    summary: String,
    escalation: Option<String>,
    unmet: &[Unmet],
) -> (DelegationResult, String) {
    let status = derive_status(&Judged {
        conduct,
        escalated: escalation.is_some(),
        has_content: !summary.trim().is_empty(),
        evidence: &evidence,
        tool_calls: evidence.len(),
        unmet: unmet.len(),
        confidence: None,
        out_of_turns: false,
    });
    let mut lines: Vec<EvidenceLine> = evidence.iter().map(EvidenceLine::from).collect();
    lines.extend(unmet.iter().map(|unmet| EvidenceLine::new(Mark::Missing, unmet.what.clone(), &unmet.why)));
    let envelope = Envelope {
        agent: &delegation.target,
        objective: &delegation.objective,
        expected_outcome: delegation.expected_outcome.as_deref(),
        status,
        evidence: lines,
        escalation: escalation.as_deref(),
        recommendations: &[],
        summary: &summary,
    };
    let text = envelope.render();
    let result = DelegationResult { status, summary, tool_evidence: evidence, escalation, findings: None, usage: None };
    (result, text)
}
