//! What commands print about many runs, about agents and about proofs: types of their own, so that their JSON has a schema.

use std::collections::BTreeMap;

use ralph_model::{Grade, LoopId, Money, TreeHash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire;

/// What a loop's verdict depends on, and whether that still stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProofView {
    /// Which loop.
    pub loop_id: LoopId,
    /// Whether everything holds.
    pub holds: bool,
    /// Its status, as the journal gives it.
    pub status: String,
    /// Whether checks passed at its end.
    pub verified: bool,
    /// What that is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Why it is worth no less and no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grade_reasons: Vec<String>,
    /// The tree that the last verdict is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeHash>,
    /// Commands that the verdict depends on.
    pub checks: Vec<String>,
    /// What else it depends on, one sentence each.
    pub rests_on: Vec<String>,
    /// Events of the journal.
    pub events: u64,
    /// The last hash of the journal.
    pub chain_head: String,
    /// Everything that was looked at.
    pub findings: Vec<ProofFinding>,
}

impl ProofView {
    pub fn note(&mut self, what: impl Into<String>, holds: bool, detail: impl Into<String>) {
        self.findings.push(ProofFinding { what: what.into(), holds, detail: detail.into() });
    }
}

/// Whether one thing is as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProofFinding {
    /// What was looked at.
    pub what: String,
    /// Whether it holds.
    pub holds: bool,
    /// In words.
    pub detail: String,
}

/// The agents that are known on a computer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsView {
    /// All of them.
    pub agents: Vec<AgentView>,
    /// The one that is taken when none is named.
    pub default: Option<String>,
    /// The day of the price list.
    pub prices_as_of: String,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// What it is called here.
    pub name: String,
    /// What kind of agent it is.
    pub kind: String,
    /// Whether it can be used.
    pub state: AgentState,
    /// Whether it is taken when none is named.
    pub default: bool,
    /// Where its program is.
    pub program: Option<String>,
    /// The version that the program reports.
    pub version: Option<String>,
    /// The model that it is asked for.
    pub model: Option<String>,
    /// The command line that Ralph uses.
    pub call: String,
    /// What makes it usable.
    pub advice: Option<String>,
    /// What should be known about its model.
    pub note: Option<String>,
    /// What Ralph can see of it, and what it can do.
    pub capabilities: Option<BTreeMap<String, Capability>>,
}

/// Whether an agent can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AgentState {
    /// It can.
    Usable,
    /// It is installed, and no login was found.
    NotLoggedIn,
    /// It is not installed.
    Missing,
}

/// Something that an agent can do, or how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Capability {
    /// Whether it can.
    Flag(bool),
    /// In which way.
    Word(String),
}

/// What tokens cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PricesView {
    /// The day of the list.
    pub as_of: String,
    /// What the figures are.
    pub unit: String,
    /// By the name of a model.
    pub models: BTreeMap<String, PriceView>,
}

/// What the tokens of a model cost, in dollars for a million.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PriceView {
    #[serde(with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub input: Money,
    #[serde(with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cache_read: Money,
    #[serde(with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cache_write: Money,
    #[serde(with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub output: Money,
}

/// What many finished loops show together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportView {
    /// The first day, in UTC.
    pub since: String,
    /// The last day, in UTC.
    pub date: String,
    /// All loops that ended in that time.
    pub loops: u64,
    /// Those that completed.
    pub completed: u64,
    /// Those that a limit or a person ended.
    pub aborted: u64,
    /// Those in which Ralph or a service failed.
    pub errors: u64,
    /// Completed, and checks said so.
    pub verified: u64,
    /// Completed by the agent's claim alone.
    pub unverified: u64,
    /// Aborted by a person.
    pub cancelled: u64,
    /// Completed ones among those that were not cancelled; null where there are none.
    pub completion_rate: Option<f64>,
    /// Stalled ones among all; null where there are none.
    pub stall_rate: Option<f64>,
    /// Iterations of a loop.
    pub iterations: SpreadView,
    /// Cost of a loop, in dollars.
    #[serde(rename = "costUSD")]
    pub cost: SpreadView,
    /// Time of a loop.
    pub duration_seconds: SpreadView,
    /// Claims that the checks contradicted.
    pub false_claims: u64,
    /// Loops in which what the checks depend on was changed.
    pub tampered_loops: u64,
    /// Files that were changed.
    pub files_modified: u64,
    /// Tests that failed at the start and passed at the end, less those of the opposite kind.
    pub tests_fixed: i64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// How many loops were aborted for each reason.
    pub abort_reasons: BTreeMap<String, u64>,
    /// The same by skill.
    pub by_skill: Vec<GroupView>,
    /// The same by agent.
    pub by_agent: Vec<GroupView>,
    /// Crews, which are no loops.
    pub crews: CrewsView,
    /// What should be looked at, one sentence each.
    pub alerts: Vec<String>,
    /// Lines of the metrics that could not be read.
    pub broken_lines: usize,
}

/// A figure over many loops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpreadView {
    /// Of all together.
    pub total: f64,
    /// Of one, on average.
    pub mean: f64,
    /// Nineteen of twenty have no more.
    pub p95: f64,
}

/// Loops that share a skill or an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    /// What they share.
    pub name: String,
    /// How many.
    pub loops: u64,
    /// Those that completed.
    pub completed: u64,
    /// Those that checks verified.
    pub verified: u64,
    /// Iterations of all.
    pub iterations: u64,
    /// Cost of all, in dollars.
    #[serde(rename = "costUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cost: Money,
}

/// Crews that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrewsView {
    /// How many.
    pub crews: u64,
    /// Those that answered.
    pub answered: u64,
    /// Those that a person ended.
    pub cancelled: u64,
    /// Rounds of all.
    pub rounds: u64,
    /// Cost of all, in dollars.
    #[serde(rename = "costUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cost: Money,
}
