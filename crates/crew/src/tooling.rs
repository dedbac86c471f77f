//! Tools as the crew sees them: what each may do, and what came of a call.

use ralph_llm::Tool;
use ralph_model::ToolEvidence;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call of a tool can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolEffect {
    Reads,
    /// Files of the workspace, or Ralph's own records.
    Writes,
    Runs,
    /// Something outside of this machine: it needs approval and is never repeated.
    Outward,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub tool: Tool,
    pub effect: ToolEffect,
}

impl ToolSpec {
    pub fn new(name: &str, description: &str, schema: Value, effect: ToolEffect) -> Self {
        let tool = Tool { name: name.to_owned(), description: description.to_owned(), schema };
        Self { tool, effect }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcome {
    pub success: bool,
    /// What the model reads, bounded and redacted.
    pub text: String,
    pub summary: String,
    /// Its id in another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl ToolOutcome {
    /// A call that failed, in one sentence.
    pub fn error(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { summary: text.clone(), text, ..Self::default() }
    }

    pub fn evidence(&self, tool: &str) -> ToolEvidence {
        ToolEvidence {
            tool: tool.to_owned(),
            success: self.success,
            summary: self.summary.clone(),
            pending_approval: None,
            external_id: self.external_id.clone(),
            next_step: self.next_step.clone(),
        }
    }
}

impl From<ralph_tools::Effect> for ToolEffect {
    fn from(effect: ralph_tools::Effect) -> Self {
        match effect {
            ralph_tools::Effect::Reads => Self::Reads,
            ralph_tools::Effect::Writes => Self::Writes,
            ralph_tools::Effect::Runs => Self::Runs,
            ralph_tools::Effect::Outward => Self::Outward,
        }
    }
}

impl From<ralph_tools::Outcome> for ToolOutcome {
    fn from(outcome: ralph_tools::Outcome) -> Self {
        let ralph_tools::Outcome { success, text, summary, external_id, next_step } = outcome;
        Self { success, text, summary, external_id, next_step }
    }
}

impl From<&ralph_tools::Spec> for ToolSpec {
    fn from(spec: &ralph_tools::Spec) -> Self {
        Self::new(&spec.name, &spec.description, spec.schema.clone(), spec.effect.into())
    }
}
