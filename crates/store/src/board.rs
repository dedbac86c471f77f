//! The board: tasks, who works on them, what waits for a person, what happens by the clock, and who may call.
//!
//! Every change of a task is one transaction that also records a task event and notifies subscribers. A worker's writes carry
//! its lease and change nothing once the lease is stale.

use ralph_model::{Millis, Money, NewTask, RunId, Task, TaskId, TaskStatus, TaskType, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::Epoch;

/// A worker's right to work on a task, until it expires or another worker claims the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLease {
    pub task: TaskId,
    pub epoch: Epoch,
}

/// A worker that asks for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Who asks. Tasks that are offered to another agent are passed over.
    pub agent: String,
    /// The token that it asks with; none for callers that use the store directly.
    pub token: Option<String>,
    pub types: Vec<TaskType>,
    /// Whether it has a workspace for tasks without a repository.
    pub without_repo: bool,
    /// How long the lease lasts unless it is renewed.
    pub lease: Millis,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub task: Task,
    pub lease: TaskLease,
    /// When the lease expires unless it is renewed.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskHolder {
    pub lease: TaskLease,
    pub agent: String,
    /// The name of the token that it was claimed with, where that is known.
    pub token: Option<String>,
}

/// What a worker hears when it renews its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// When the lease expires now.
    pub expires_at: Timestamp,
    /// Someone cancelled the task: end the work and finish it as cancelled.
    pub cancelled: bool,
}

/// What a worker reports while it works. What is none stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The run that works on the task. Turns a pending task into one in progress.
    pub run: Option<RunId>,
    /// Iterations so far. Never decreases.
    pub iterations: Option<u32>,
    /// Cost so far. Never decreases.
    pub cost: Option<Money>,
    /// A line for people, also recorded as a task event.
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    pub status: TaskStatus,
    pub output: Option<String>,
    pub failure_reason: Option<String>,
    pub verified: bool,
    pub iterations: u32,
    pub cost: Money,
}

/// What a person changes of a task that has not ended. What is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskChange {
    /// Higher ones are claimed first.
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: Option<i32>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// The only agent that may claim it. Only before it is claimed.
    #[serde(default)]
    pub agent_id: Option<String>,
}

/// Which tasks to list, newest first. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only those with one of these statuses; empty means any.
    pub statuses: Vec<TaskStatus>,
    pub tag: Option<String>,
    pub agent: Option<String>,
    /// Only those that are older than this one, which was the last of the page before.
    pub before: Option<TaskId>,
    /// At most so many.
    pub limit: u32,
}

/// Something that happened to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskEvent {
    /// Counts the events of the task from 1: the id of a server-sent event.
    pub seq: u64,
    /// When.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: Timestamp,
    /// What: `created`, `ready` (all that it depends on is completed), `claimed`, `started`, `progress`, `checkpoint`,
    /// `comment`, `cancelRequested`, `released`, `expired`, `quarantined`, `changed`, `completed`, `failed`, `cancelled`.
    pub kind: String,
    /// Its details as a JSON object.
    pub details: serde_json::Value,
}

/// Counts of tasks by status, for dashboards and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusCount {
    /// The status.
    pub status: TaskStatus,
    /// How many tasks have it.
    pub tasks: u64,
}

/// An agent that was noted by [`crate::SqlStore::touch_agent`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentEntry {
    /// Its name.
    pub id: String,
    /// Whether it works on tasks now.
    pub busy: bool,
    /// The tasks that it holds.
    pub tasks: Vec<TaskId>,
    /// When it was heard of last.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub last_seen_at: Timestamp,
    /// When it was heard of first.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// Whether a person allowed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalStatus {
    /// Not answered yet.
    Pending,
    /// Allowed.
    Approved,
    /// Not allowed.
    Refused,
    /// Not answered in time.
    Expired,
}

ralph_model::named!(ApprovalStatus {
    Pending => "pending", Approved => "approved", Refused => "refused", Expired => "expired"
});

/// Something that waits for a person's permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id, a UUID.
    pub id: String,
    /// The run that asks.
    pub run_id: Option<RunId>,
    /// The task that asks.
    pub task_id: Option<TaskId>,
    /// What is to be done.
    pub action: String,
    /// Why.
    pub why: String,
    /// Whether a person allowed it.
    pub status: ApprovalStatus,
    /// What the person added.
    pub comment: Option<String>,
    /// When it was asked.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
    /// When it was answered.
    #[serde(with = "ralph_model::wire::optional_moment")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub answered_at: Option<Timestamp>,
    /// When it expires unanswered.
    #[serde(with = "ralph_model::wire::optional_moment")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub expires_at: Option<Timestamp>,
}

/// A task that is created again and again by the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// Its id, a UUID.
    pub id: String,
    /// What people call it; unique.
    pub name: String,
    /// When, as a cron expression of five or six fields.
    pub cron: String,
    /// The IANA time zone in which the expression is read.
    pub time_zone: String,
    /// The task to create.
    pub task: NewTask,
    /// Whether it creates tasks now.
    pub enabled: bool,
    /// When it creates the next one.
    #[serde(with = "ralph_model::wire::optional_moment")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub next_at: Option<Timestamp>,
    /// When it created the last one.
    #[serde(with = "ralph_model::wire::optional_moment")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub last_at: Option<Timestamp>,
    /// The task that it created last.
    pub last_task_id: Option<TaskId>,
    /// When it was made.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// Something that a person is to be reminded of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reminder {
    /// Its id, a UUID.
    pub id: String,
    /// What the person is told.
    pub message: String,
    /// When.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub due_at: Timestamp,
    /// When it was made.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// What a token allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "role")]
pub enum Role {
    /// Everything.
    Admin,
    /// What a worker needs: register, claim, and write to what it claimed.
    Agent,
    /// One task alone: progress, checkpoints and completion of it, for the agent inside a worker.
    #[serde(rename_all = "camelCase")]
    Task {
        /// The task.
        task_id: TaskId,
        /// The lease under which it was handed out; the token ends with it.
        epoch: u64,
    },
}

/// A token that callers prove who they are with. Only a hash of the secret is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// What people call it; unique.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// When it was made.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}
