//! The board: tasks, who works on them, what waits for a person, what happens by the clock, and who may call.
//!
//! Every change of a task is one transaction that also records a task event and notifies subscribers. A worker's writes carry
//! its lease and change nothing once the lease is stale.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use ralph_model::{Checkpoint, Millis, Money, NewTask, RunId, Task, TaskId, TaskStatus, TaskType, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
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
    /// The types of tasks that it can work on.
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

/// An agent that was noted by [`Board::touch_agent`].
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

/// A board of whatever kind. Clones share their connections.
pub type BoardHandle = Arc<dyn Board>;

/// Tasks and what belongs to them.
///
/// As with [`crate::Store`], a call that writes returns when its transaction is durable. `Error::UnknownTask`,
/// `Error::StaleTaskLease` and `Error::TaskConflict` say why nothing was changed. [`crate::Store::subscribe`] of the same
/// database notifies of changes. Ids of tasks are of UUID version 7: the order of the ids is the order of creation.
#[async_trait]
pub trait Board: Debug + Send + Sync {
    /// Creates a task. A second call with the same idempotency key and the same content within a day returns the task of the
    /// first one. The flag says whether it was created now. A task that depends on one that failed or was cancelled fails at
    /// once. Limits that `new` leaves out are the defaults of [`NewTask`]; the caps of an installation are the caller's.
    ///
    /// # Errors
    /// The key was used for other content, or a task that it depends on does not exist.
    async fn create_task(&self, id: TaskId, new: &NewTask, key: Option<&str>, at: Timestamp) -> Result<(Task, bool)>;

    async fn task(&self, id: TaskId) -> Result<Task>;

    /// Lists tasks, newest first.
    async fn tasks(&self, filter: &TaskFilter) -> Result<Vec<Task>>;

    /// How many tasks have each status, those with none included.
    async fn task_counts(&self) -> Result<Vec<StatusCount>>;

    async fn change_task(&self, id: TaskId, change: &TaskChange, at: Timestamp) -> Result<Task>;

    /// Adds a comment to a task, whether it has ended or not. A second call with the same key and comment changes nothing.
    async fn comment_task(&self, id: TaskId, comment: &str, key: &str, at: Timestamp) -> Result<Task>;

    /// Ends a task that no worker holds, or asks the worker that holds it to end it: then the task is cancelled when the
    /// worker finishes or releases it, or when its lease expires. A task that has ended stays as it is, and that is an error.
    async fn cancel_task(&self, id: TaskId, at: Timestamp) -> Result<Task>;

    /// Claims the most urgent task that this agent may work on: highest priority, then oldest, all that it depends on
    /// completed. No task is ever claimed by two. Leases that expired are cleaned up on the way: their tasks can be claimed
    /// again, and after the third death the task fails as quarantined.
    async fn claim_task(&self, claim: &Claim) -> Result<Option<Claimed>>;

    /// Keeps a lease. Fails once it is stale: a lease past its time counts until [`Board::expire_leases`] or a claim of
    /// another worker takes it away, because its worker lives after all.
    async fn renew_lease(&self, lease: TaskLease, for_span: Millis, at: Timestamp) -> Result<Renewed>;

    async fn task_holder(&self, id: TaskId) -> Result<Option<TaskHolder>>;

    /// Records how far the work is.
    async fn report_progress(&self, lease: TaskLease, progress: &Progress, at: Timestamp) -> Result<Task>;

    /// Records a checkpoint, or clears the one there is.
    async fn set_checkpoint(&self, lease: TaskLease, checkpoint: Option<&Checkpoint>, at: Timestamp) -> Result<Task>;

    /// Ends the work on a task. Calling again with the same lease and status returns the task as it is, for a worker that did
    /// not get the first answer. A completed task unblocks those that depend on it; any other end fails them.
    async fn finish_task(&self, lease: TaskLease, end: &TaskEnd, at: Timestamp) -> Result<Task>;

    /// Gives a task back unfinished; another worker continues its run. No death is counted.
    async fn release_task(&self, lease: TaskLease, at: Timestamp) -> Result<Task>;

    /// Makes tasks whose lease expired claimable again, and returns how many there were. Also forgets old idempotency keys.
    async fn expire_leases(&self, at: Timestamp) -> Result<u64>;

    /// Forgets the events of tasks that ended before this time, some hundred tasks at once, and returns how many events there
    /// were. The tasks themselves stay.
    async fn forget_events(&self, ended_before: Timestamp) -> Result<u64>;

    /// The events of a task after `seq`, at most `limit`.
    async fn task_events(&self, id: TaskId, seq: u64, limit: u32) -> Result<Vec<TaskEvent>>;

    /// Notes that an agent is there, and the token of a worker that it belongs to from then on. A claim does not, so that it stays
    /// small.
    async fn touch_agent(&self, id: &str, token: Option<&str>, at: Timestamp) -> Result<AgentEntry>;

    /// All agents, the last heard of first.
    async fn agents(&self, limit: u32) -> Result<Vec<AgentEntry>>;

    /// Records a question for a person. Asking again with the same id changes nothing.
    async fn ask_approval(&self, approval: &Approval) -> Result<Approval>;

    /// Answers a question that is pending and has not expired.
    async fn answer_approval(
        &self,
        id: &str,
        answer: ApprovalStatus,
        comment: Option<&str>,
        at: Timestamp,
    ) -> Result<Approval>;

    /// One approval; one that expired by `at` says so.
    async fn approval(&self, id: &str, at: Timestamp) -> Result<Approval>;

    /// Approvals, newest first; only pending ones if asked for.
    async fn approvals(&self, only_pending: bool, limit: u32, at: Timestamp) -> Result<Vec<Approval>>;

    /// Writes a schedule, new or changed. What it created last stays: only [`Board::fire_schedule`] writes that.
    async fn put_schedule(&self, schedule: &Schedule) -> Result<()>;

    /// Removes a schedule, and returns whether there was one.
    async fn remove_schedule(&self, id: &str) -> Result<bool>;

    async fn schedules(&self) -> Result<Vec<Schedule>>;

    /// Creates the task of a schedule that is due and moves the schedule on to `next`, in one transaction. Only the first of
    /// several servers that try at once succeeds: the schedule still has to be due at `due`. While no worker has claimed the task
    /// that it created last, the schedule only moves on: it never fills the queue.
    async fn fire_schedule(
        &self,
        id: &str,
        due: Timestamp,
        next: Option<Timestamp>,
        task: TaskId,
        at: Timestamp,
    ) -> Result<Option<Task>>;

    /// Records a reminder. One with the same id stays as it is.
    async fn put_reminder(&self, reminder: &Reminder) -> Result<()>;

    /// The reminders that are due, the oldest first, some hundred at most.
    async fn due_reminders(&self, at: Timestamp) -> Result<Vec<Reminder>>;

    /// Moves a reminder on, and returns whether it was still due when it was found: only then may its finder send it. One that is
    /// not removed afterwards is due again.
    async fn postpone_reminder(&self, reminder: &Reminder, until: Timestamp) -> Result<bool>;

    /// Removes a reminder, and returns whether there was one.
    async fn remove_reminder(&self, id: &str) -> Result<bool>;

    /// Whether servers on several machines can share this database, so that files which they are sent belong into it.
    fn is_shared(&self) -> bool;

    /// Keeps a piece of a file that is recorded for a run. Pieces count from 0, and the file is there once piece 0 is.
    async fn put_part(&self, file: (RunId, &str), part: u32, content: Vec<u8>, at: Timestamp) -> Result<()>;

    async fn part(&self, run: RunId, sha256: &str, part: u32) -> Result<Option<Vec<u8>>>;

    /// Forgets files that were kept before a time, and returns how many pieces.
    async fn forget_parts(&self, before: Timestamp) -> Result<u64>;

    /// Records a token by the SHA-256 of its secret, in hexadecimal. That of a task ends with the lease it names.
    async fn add_token(&self, token: &Token, hash: &str) -> Result<()>;

    async fn token(&self, hash: &str) -> Result<Option<Token>>;

    /// All tokens of people and workers, by name. Those of single tasks are left out.
    async fn tokens(&self) -> Result<Vec<Token>>;

    /// Removes a token by its name, and returns whether there was one.
    async fn revoke_token(&self, name: &str) -> Result<bool>;
}
