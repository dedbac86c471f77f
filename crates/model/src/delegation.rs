//! The one protocol between an orchestrator and its agents.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Money;

/// What an agent is asked to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// The agent that is asked.
    pub target: String,
    /// What kind of work it is.
    pub domain: Domain,
    /// The request, byte for byte as the user or the coordinator wrote it.
    pub objective: String,
    /// What should be true afterwards, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_outcome: Option<String>,
    /// Facts that the agent can rely on.
    #[serde(default)]
    pub context_facts: Vec<String>,
    /// What the agent must not do.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Free text that goes along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Where research may look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SearchScope>,
    /// How strong a model is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_tier: Option<ModelTier>,
    /// What must be observable afterwards; Ralph looks for itself.
    #[serde(default)]
    pub expects: Vec<Expectation>,
}

impl Delegation {
    pub fn new(target: impl Into<String>, domain: Domain, objective: impl Into<String>) -> Self {
        Self { target: target.into(), domain, objective: objective.into(), ..Self::default() }
    }
}

/// Kinds of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// Code, tests, version control.
    #[default]
    Development,
    /// Messages, boards, schedules.
    Communication,
    /// Finding things out.
    Research,
}

/// Where research may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchScope {
    /// The workspace.
    Codebase,
    /// The network.
    Web,
    /// Both of them.
    Both,
}

/// How strong a model is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelTier {
    /// Cheap and quick.
    Fast,
    /// The ordinary one.
    Standard,
}

/// What came of a delegation. The status is derived from the evidence, never taken from the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationResult {
    /// Derived without a model call.
    pub status: Status,
    /// The agent's own words.
    pub summary: String,
    /// What was observed.
    pub tool_evidence: Vec<ToolEvidence>,
    /// Why the agent handed the work back, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<String>,
    /// What research found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<ScoutFindings>,
    /// What the run used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ResultUsage>,
}

/// How a delegation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All evidence is good and everything expected was seen.
    Success,
    /// Some of it is.
    Partial,
    /// None of it is.
    Failed,
    /// The agent handed the work back.
    Escalated,
}

impl Status {
    /// As it stands in an envelope.
    pub const fn shout(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Partial => "PARTIAL",
            Self::Failed => "FAILED",
            Self::Escalated => "ESCALATED",
        }
    }
}

/// One observed fact about what an agent did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolEvidence {
    /// The tool, as the agent calls it.
    pub tool: String,
    /// Whether it did what it was called for.
    pub success: bool,
    /// One line about it.
    pub summary: String,
    /// It waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_approval: Option<bool>,
    /// Its id in another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What has to happen next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl ToolEvidence {
    pub fn ok(tool: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { tool: tool.into(), success: true, summary: summary.into(), ..Self::default() }
    }

    /// A call that did not.
    pub fn error(tool: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { tool: tool.into(), success: false, summary: summary.into(), ..Self::default() }
    }

    /// Whether the call waits for a person.
    pub fn is_pending(&self) -> bool {
        self.pending_approval == Some(true)
    }
}

/// What research found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoutFindings {
    /// Files worth reading.
    #[serde(default)]
    pub relevant_files: Vec<String>,
    /// Named patterns seen in the code.
    #[serde(default)]
    pub code_patterns: BTreeMap<String, String>,
    /// What the network said.
    #[serde(default)]
    pub web_findings: Vec<String>,
    /// What to do with it.
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// How sure the researcher is.
    pub confidence: Confidence,
}

/// How sure a researcher is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Seen for itself.
    High,
    /// Likely.
    Medium,
    /// A guess.
    Low,
}

/// What a run used, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultUsage {
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// What it cost, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// Something that must be observable after a delegation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expectation {
    /// `tool:NAME`: the agent's stream shows a successful call of that tool.
    Tool(String),
    /// `commit`: the repository has a commit that it did not have before.
    Commit,
    /// `file:GLOB`: a file that matches was added or changed.
    File(String),
    /// `command:CMD`: the command exits with 0.
    Command(String),
    /// `clean-tree`: nothing is left uncommitted.
    CleanTree,
    /// `checklist:FILE`: every item of the task list in this file of the workspace is ticked.
    Checklist(String),
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Commit => f.write_str("commit"),
            Self::File(glob) => write!(f, "file:{glob}"),
            Self::Command(command) => write!(f, "command:{command}"),
            Self::CleanTree => f.write_str("clean-tree"),
            Self::Checklist(file) => write!(f, "checklist:{file}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an expectation: use tool:NAME, commit, file:GLOB, command:CMD, clean-tree or checklist:FILE")]
pub struct ParseExpectation(String);

impl FromStr for Expectation {
    type Err = ParseExpectation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("tool", name)) if !name.is_empty() => Ok(Self::Tool(name.to_owned())),
            Some(("file", glob)) if !glob.is_empty() => Ok(Self::File(glob.to_owned())),
            Some(("command", command)) if !command.trim().is_empty() => Ok(Self::Command(command.to_owned())),
            Some(("checklist", file)) if is_inside(file) => Ok(Self::Checklist(file.to_owned())),
            None if text == "commit" => Ok(Self::Commit),
            None if text == "clean-tree" => Ok(Self::CleanTree),
            _ => Err(ParseExpectation(text.to_owned())),
        }
    }
}

/// Whether a path names something below the folder that it starts at.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| part != "..")
}

impl JsonSchema for Expectation {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expectation".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "tool:NAME, commit, file:GLOB, command:CMD, clean-tree or checklist:FILE" })
    }
}

impl Serialize for Expectation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Expectation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "delegation_tests.rs"]
mod tests;
