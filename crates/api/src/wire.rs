//! Requests and pages.

use ralph_model::{Checkpoint, CheckpointReason, Money, NewTask, RunId, Task, TaskId, TaskStatus, TaskType, Timestamp};
use ralph_store::{AgentEntry, Approval, Schedule, StatusCount};
use ralph_view::{ListEntry, RunStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tasks, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The value of `before` for the next page; none on the last one.
    pub next: Option<TaskId>,
}

impl TaskPage {
    /// The first `limit` of these tasks; one more shows that there is another page.
    pub fn new(mut tasks: Vec<Task>, limit: u32) -> Self {
        let size = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_last = tasks.len() <= size;
        tasks.truncate(size);
        let next = tasks.last().map(|task| task.id).filter(|_| !is_last);
        Self { tasks, next }
    }
}

/// A worker that makes itself known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Register {
    /// Its name.
    #[schemars(length(min = 1, max = 100))]
    pub agent_id: String,
}

/// Agents, the last heard of first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentPage {
    /// The agents.
    pub agents: Vec<AgentEntry>,
}

/// A worker that asks for a task, and waits for one if asked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Poll {
    /// Who asks.
    #[schemars(length(min = 1, max = 100))]
    pub agent_id: String,
    /// The types of tasks that it can work on; all where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<TaskType>>,
    /// Whether it has a workspace for tasks without a repository.
    #[serde(default)]
    pub without_repo: bool,
    /// How long the answer may wait for a task.
    #[serde(default = "Poll::default_wait")]
    #[schemars(range(min = 0, max = 60))]
    pub wait_seconds: u32,
    /// How long the lease lasts unless a heartbeat renews it.
    #[serde(default = "Poll::default_lease")]
    #[schemars(range(min = 5, max = 600))]
    pub lease_seconds: u32,
}

impl Poll {
    /// A worker that takes any task, with the usual times.
    pub fn new(agent_id: impl Into<String>) -> Self {
        Self {
            agent_id: agent_id.into(),
            types: None,
            without_repo: true,
            wait_seconds: Self::default_wait(),
            lease_seconds: Self::default_lease(),
        }
    }

    const fn default_wait() -> u32 {
        30
    }

    const fn default_lease() -> u32 {
        60
    }
}

/// A claimed task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The task, now pending.
    pub task: Task,
    /// The right to work on it.
    pub lease: LeaseView,
    /// A token for this task alone, for the agent inside the worker. It ends with the lease.
    pub token: String,
}

/// The right to work on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseView {
    /// Its id, which is that of the task: a task has one lease at a time.
    pub id: TaskId,
    /// How often the task was claimed. Every write of the worker carries it.
    pub epoch: u64,
    /// When it expires unless it is renewed.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires_at: Timestamp,
}

/// A worker that is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Heartbeat {
    /// The epoch of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// How long the lease lasts from now on.
    #[serde(default = "Poll::default_lease")]
    #[schemars(range(min = 5, max = 600))]
    pub lease_seconds: u32,
}

impl Heartbeat {
    /// For a lease, with the usual time.
    pub const fn new(epoch: u64) -> Self {
        Self { epoch: Some(epoch), lease_seconds: Poll::default_lease() }
    }
}

/// A renewed lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// When it expires now.
    #[serde(with = "ralph_model::wire::moment")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires_at: Timestamp,
    /// Whether someone cancelled the task: end the work and complete it as cancelled.
    pub cancelled: bool,
}

/// How far the work on a task is. What is left out stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgressReport {
    /// The epoch of the lease; a token for the task alone brings its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The run that works on the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Iterations so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub iterations: Option<u32>,
    /// Cost so far.
    #[serde(default, with = "ralph_model::wire::optional_dollars", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub cost_usd: Option<Money>,
    /// A line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub message: Option<String>,
}

/// The end of the work on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Completion {
    /// The epoch of the lease; a token for the task alone brings its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// How it ended: `completed`, `failed` or `cancelled`.
    #[serde(default = "Completion::completed")]
    pub status: TaskStatus,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    pub output: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub failure_reason: Option<String>,
    /// Whether checks passed.
    #[serde(default)]
    pub verified: bool,
    /// Iterations in all; those that were reported where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub iterations: Option<u32>,
    /// Cost in all; what was reported where it is left out.
    #[serde(default, with = "ralph_model::wire::optional_dollars", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub cost_usd: Option<Money>,
}

impl Completion {
    /// An end in this status, with nothing else said.
    pub const fn new(epoch: u64, status: TaskStatus) -> Self {
        Self {
            epoch: Some(epoch),
            status,
            output: None,
            failure_reason: None,
            verified: false,
            iterations: None,
            cost_usd: None,
        }
    }

    /// What is recorded of it when the agent inside a worker says it: a claim, which the worker verifies.
    pub fn claim(&self) -> String {
        let output: String = self.output.as_deref().unwrap_or_default().chars().take(1024).collect();
        format!("claims completion: {output}")
    }

    const fn completed() -> TaskStatus {
        TaskStatus::Completed
    }
}

/// A checkpoint to be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckpointReport {
    /// The epoch of the lease; a token for the task alone brings its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The task, if it is said: the one in the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The iteration that wrote it.
    #[schemars(range(max = 1_000_000))]
    pub iteration: u32,
    /// Whether the agent's context is full.
    pub context_full: bool,
    /// When it was written; now where it is left out.
    #[serde(default, with = "ralph_model::wire::optional_moment", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub timestamp: Option<Timestamp>,
    /// Why it was written.
    pub checkpoint_reason: CheckpointReason,
}

impl From<&Checkpoint> for CheckpointReport {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            epoch: None,
            task_id: Some(checkpoint.task_id),
            iteration: checkpoint.iteration,
            context_full: checkpoint.context_full,
            timestamp: Some(checkpoint.timestamp),
            checkpoint_reason: checkpoint.checkpoint_reason,
        }
    }
}

/// A task that is given back unfinished.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// The epoch of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// Loops, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopPage {
    /// The loops.
    pub loops: Vec<ListEntry>,
    /// The value of `before` for the next page; none on the last one.
    pub next: Option<RunId>,
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalRequest {
    /// Its id, a UUID; asking again with the same one changes nothing. Made by the server where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<uuid::Uuid>")]
    pub id: Option<String>,
    /// The run that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The task that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What is to be done.
    #[schemars(length(min = 1, max = 4096))]
    pub action: String,
    /// Why.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub why: String,
    /// After how long it expires unanswered; never where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_536_000))]
    pub expires_in_seconds: Option<u32>,
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It may be done.
    Approved,
    /// It may not.
    Refused,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalAnswer {
    /// Whether it may be done.
    pub answer: Answer,
    /// What the person adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub comment: Option<String>,
}

/// Approvals, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalPage {
    /// The approvals.
    pub approvals: Vec<Approval>,
}

/// A schedule to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScheduleRequest {
    /// What people call it; unique.
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    /// When, as a cron expression of five fields, or six with seconds first.
    #[schemars(length(min = 1, max = 200))]
    pub cron: String,
    /// The IANA time zone in which the expression is read.
    #[serde(default = "ScheduleRequest::utc")]
    pub time_zone: String,
    /// The task to create.
    pub task: NewTask,
    /// Whether it creates tasks now.
    #[serde(default = "ScheduleRequest::yes")]
    pub enabled: bool,
}

impl ScheduleRequest {
    fn utc() -> String {
        "UTC".to_owned()
    }

    const fn yes() -> bool {
        true
    }
}

/// A schedule and the times at which it will create tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// The schedule.
    #[serde(flatten)]
    pub schedule: Schedule,
    /// The next times, in RFC 3339 with the offset of its zone; none while it is off.
    pub upcoming: Vec<String>,
}

/// Schedules by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulePage {
    /// The schedules.
    pub schedules: Vec<ScheduleView>,
}

/// How many loops have a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopCount {
    /// The status, as stored: a loop whose process died still counts as running.
    pub status: RunStatus,
    /// How many.
    pub loops: u64,
}

/// Figures for dashboards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Tasks by status.
    pub tasks: Vec<StatusCount>,
    /// Loops by status.
    pub loops: Vec<LoopCount>,
    /// What all loops spent today (UTC).
    #[serde(with = "ralph_model::wire::dollars")]
    #[schemars(with = "f64")]
    pub cost_today_usd: Money,
    /// What is reserved for iterations that run now.
    #[serde(with = "ralph_model::wire::dollars")]
    #[schemars(with = "f64")]
    pub reserved_today_usd: Money,
    /// Agents that were heard of in the last two minutes.
    pub agents_online: u64,
    /// Questions that wait for a person.
    pub approvals_pending: u64,
}
