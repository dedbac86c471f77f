//! What observers of a crew see.

use ralph_model::{Delegation, Status};
use serde::Serialize;

use crate::event::Question;

/// Something that can be watched.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum StreamEvent {
    /// Another agent works now.
    AgentSwitch { agent: String },
    /// Work is handed to an agent.
    Delegation { delegation: Box<Delegation> },
    /// A tool is called.
    ToolCall { agent: String, tool: String, arguments: serde_json::Value },
    /// A tool call ended.
    ToolResult {
        agent: String,
        tool: String,
        success: bool,
        summary: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Delegated>,
    },
    /// An agent ended its work.
    AgentComplete { agent: String, status: Status },
    /// A person is asked.
    Question { question: Question },
    /// A person has to approve.
    Approval { question: Question },
    /// A piece of an answer that is on its way.
    Delta { agent: String, text: String },
    /// The answer to the request.
    Answer { answer: String, doubts: Vec<String> },
    /// Something that somebody should know.
    Warning { text: String },
}

/// The result of a call that is a delegation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delegated {
    /// Always true.
    pub delegated: bool,
    /// The agent.
    pub agent: String,
    /// What the evidence allows.
    pub status: Status,
}
