//! What happens in a crew, and what has to be done for it. Values only.

use std::collections::BTreeMap;

use ralph_engine::{JournalEvent, Stop};
use ralph_llm::{Answer, ToolCall};
use ralph_model::{
    AbortReason, Access, Attempt, Delegation, DelegationResult, Expectation, Money, StopBy, ToolEvidence, TreeHash,
    Trouble, TroubleKind,
};
use serde::{Deserialize, Serialize};

use crate::agent_file::AgentFile;
use crate::machine::CallId;
use crate::stream::StreamEvent;
use ralph_tools::{Effect as ToolEffect, Outcome as ToolOutcome};

/// One agent at work on one delegation. Numbers are never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameId(pub u32);

impl FrameId {
    /// The agent that the request goes to.
    pub const ROOT: Self = Self(0);
}

/// Who decides about outward actions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approve {
    /// A person, each time.
    #[default]
    Ask,
    /// All are refused.
    Never,
    /// All are allowed.
    All,
}

/// What a crew works with, as it was when it began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CrewConfig {
    /// The folder that it works in.
    pub workspace: String,
    /// What it may cost, all agents together; none where cost is not counted here.
    pub max_cost: Option<Money>,
    /// How often the first agent's model is asked for one request.
    pub max_rounds: u32,
    /// Who decides about outward actions.
    pub approve: Approve,
    /// From how many tokens on a conversation is compacted.
    pub compact_at: u64,
    pub agents: Vec<AgentFile>,
    /// The agent that the request goes to.
    pub root: String,
    /// What each tool can change.
    pub tools: BTreeMap<String, ToolEffect>,
    /// Other agents on this machine that work can be handed to.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The models, as `PROVIDER:MODEL`: the standard one, and the fast one where it is another.
    #[serde(default)]
    pub models: Vec<String>,
    /// What tools and programs may read and reach.
    #[serde(default)]
    pub access: Access,
}

impl CrewConfig {
    pub fn agent(&self, name: &str) -> Option<&AgentFile> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}

/// The workspace when a delegation began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Base {
    /// Its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The folder of a worktree that the agent has for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// Where a crew continues whose files are on a machine that is gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedCrew {
    /// What it works with from now on: that of the new machine, because another one wrote the journal.
    pub config: CrewConfig,
    /// The files that reached the new machine.
    pub base: Base,
}

/// Something that was expected and not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unmet {
    pub what: String,
    /// Why it does not count as seen.
    pub why: String,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "camelCase")]
pub enum Decision {
    /// Yes; the comment is the answer to a question, or what the person added.
    Approved { comment: Option<String> },
    /// No.
    Refused { comment: Option<String> },
    /// No answer came in time.
    Expired,
}

/// Something that happened in a crew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CrewEvent {
    /// The crew exists.
    CrewStarted { config: Box<CrewConfig>, request: Option<String> },
    /// The person said something: the next request of a conversation.
    UserSpoke { text: String },
    /// A model answered. The cost holds what answers that broke off may have cost.
    ModelAnswered { frame: FrameId, attempt: Attempt, answer: Box<Answer>, cost: Money },
    /// No model answered.
    ModelFailed { frame: FrameId, attempt: Attempt, trouble: Trouble, cost: Money },
    /// The day's money is spent.
    BudgetRefused { frame: FrameId, attempt: Attempt, spent: Money, cap: Money },
    /// A tool call ended; of an agent that is a program, with what came of its work.
    ToolFinished {
        call: CallId,
        outcome: ToolOutcome,
        cost: Money,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<DelegationResult>>,
    },
    /// An outward action is about to run. What has this event and no end may have happened, and is not done again.
    ActionStarted { call: CallId, key: String },
    /// The workspace at the start of a delegation is known.
    DelegationOpened { frame: FrameId, base: Base, problem: Option<String> },
    /// Expectations were checked, and the work of a worktree was merged.
    DelegationChecked { frame: FrameId, unmet: Vec<Unmet>, evidence: Vec<ToolEvidence> },
    /// A person decided about an approval or answered a question.
    Decided { call: CallId, decision: Decision },
    /// A conversation was compacted.
    Compacted { frame: FrameId, attempt: Attempt, summary: String, cost: Money },
    /// The answer was compared with the evidence.
    Reviewed { attempt: Attempt, doubts: Vec<String>, cost: Money },
    /// The person wants the turn to end.
    StopRequested { stop: Stop },
    /// A new process continues. Requests to models that have no answer are charged what was reserved for them.
    Resumed {
        lost: Money,
        max_cost: Option<Money>,
        max_rounds: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moved: Option<Box<MovedCrew>>,
    },
    /// The crew ended. Only a record: the outcome follows from the events before it.
    CrewFinished { outcome: Box<CrewOutcome> },
}

impl CrewEvent {
    /// A request that was given up before its answer was there: it is charged what was reserved for it.
    pub fn cut_off(frame: FrameId, attempt: Attempt, cost: Money) -> Self {
        let message = "stopped while the model was answering".to_owned();
        let trouble = Trouble { kind: TroubleKind::Unreachable, until: None, message, advice: None };
        Self::ModelFailed { frame, attempt, trouble, cost }
    }

    /// A tool call that ended and cost nothing.
    pub const fn tool_finished(call: CallId, outcome: ToolOutcome) -> Self {
        Self::ToolFinished { call, outcome, cost: Money::ZERO, result: None }
    }
}

impl JournalEvent for CrewEvent {
    const VERSION: u32 = 2;
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The call that waits for the answer.
    pub call: CallId,
    /// The agent that asks.
    pub agent: String,
    /// What it asks, or what it wants to do.
    pub text: String,
    /// Why; empty for a plain question.
    pub why: String,
    /// Answers to choose from.
    pub options: Vec<String>,
    /// Whether yes or no is the answer.
    pub is_approval: bool,
}

/// Something to do for a crew.
#[derive(Debug, Clone, PartialEq)]
pub enum CrewEffect {
    /// Ask the model of a frame, for at most this much money; answered by `ModelAnswered`, `ModelFailed` or `BudgetRefused`.
    Ask { frame: FrameId, attempt: Attempt, most: Option<Money> },
    /// Summarise the conversation of a frame; answered by `Compacted` or `BudgetRefused`.
    Compact { frame: FrameId, attempt: Attempt, most: Option<Money> },
    /// Compare the answer with the evidence; answered by `Reviewed`.
    Review { attempt: Attempt, most: Option<Money> },
    /// Call a tool; answered by `ToolFinished`.
    CallTool { frame: FrameId, call: CallId, tool: ToolCall },
    /// Write down that an outward action begins; answered by `ActionStarted`.
    BeginAction { call: CallId, key: String },
    /// Look at the workspace before a delegation begins, and make a worktree if it needs one; answered by `DelegationOpened`.
    OpenDelegation { frame: FrameId, isolate: bool },
    /// Merge a worktree and check expectations; answered by `DelegationChecked`.
    CheckDelegation { frame: FrameId, base: Base, expects: Vec<Expectation>, evidence: Vec<ToolEvidence> },
    /// Hand work to another agent on this machine; answered by `ToolFinished`.
    RunAgent { call: CallId, delegation: Box<Delegation>, most: Option<Money> },
    /// Run a loop; answered by `ToolFinished`.
    RunLoop { call: CallId, arguments: serde_json::Value, most: Option<Money> },
    /// Ask a person; answered by `Decided`.
    AskPerson { question: Question },
    /// Cut short what is under way.
    StopRunning,
    /// Tell those who watch.
    Tell(StreamEvent),
    /// The turn is over.
    Finish { outcome: Box<CrewOutcome> },
}

/// How a crew ended, or one turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CrewOutcome {
    /// It answered.
    Answered {
        answer: String,
        /// What the self-check doubts.
        doubts: Vec<String>,
    },
    /// It was ended before.
    Aborted { cause: CrewAbort },
    /// It could not continue.
    Failed { cause: CrewError },
}

/// Why a crew was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CrewAbort {
    /// Its rounds are used.
    Rounds { max: u32 },
    /// Its money is spent.
    Cost { spent: Money, max: Money },
    /// The day's money is spent.
    Day { spent: Money, cap: Money },
    /// The agent handed the work back to its caller.
    Escalated { reason: String },
    /// Somebody ended it.
    Stopped { by: StopBy },
}

impl CrewAbort {
    /// The reason that scripts know.
    pub const fn reason(&self) -> AbortReason {
        match self {
            Self::Rounds { .. } => AbortReason::MaxIterations,
            Self::Cost { .. } => AbortReason::CostLimit,
            Self::Day { .. } => AbortReason::DailyBudget,
            Self::Escalated { .. } => AbortReason::Blocked,
            Self::Stopped { .. } => AbortReason::Cancelled,
        }
    }
}

/// Why a crew could not continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CrewError {
    /// No model answered.
    Model {
        /// What the last one refused.
        trouble: Trouble,
    },
    /// The model answered with nothing, again and again.
    Silent,
}
