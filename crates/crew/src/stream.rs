//! What observers of a crew see.

use ralph_model::{Delegation, Status};
use serde::Serialize;

use crate::event::Question;

/// Something that can be watched.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum StreamEvent {
    /// Another agent works now.
    AgentSwitch {
        agent: String,
    },
    Delegation {
        delegation: Box<Delegation>,
    },
    ToolCall {
        agent: String,
        tool: String,
        arguments: serde_json::Value,
    },
    ToolResult {
        agent: String,
        tool: String,
        success: bool,
        summary: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Delegated>,
    },
    AgentComplete {
        agent: String,
        status: Status,
    },
    Question {
        question: Question,
    },
    Approval {
        question: Question,
    },
    /// A piece of an answer that is on its way.
    Delta {
        agent: String,
        text: String,
    },
    Answer {
        answer: String,
        doubts: Vec<String>,
    },
    Warning {
        text: String,
    },
}

/// The result of a call that is a delegation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delegated {
    pub delegated: bool,
    pub agent: String,
    pub status: Status,
}
