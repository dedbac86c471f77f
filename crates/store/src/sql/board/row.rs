//! One task as it is stored: reading it, locking it, writing it back together with the event that says what happened.

use ralph_model::{Task, TaskId, TaskStatus, TaskType, Timestamp};
use serde_json::{Value as Json, json};

use crate::board::TaskLease;
use crate::changes::Change;
use crate::error::{Error, Result};
use crate::run::Epoch;
use crate::sql::schema::Dialect;
use crate::sql::session::{Row, Session, values};

/// Every column that is read, for a `SELECT` and for `RETURNING`.
macro_rules! columns {
    () => {
        "id, request, type, status, agent, offered_to, priority, tags, depends_on, blocked_by, repo, base_ref, output, \
         failure_reason, created_at, updated_at, finished_at, promise, iterations, max_iterations, checkpoint, plan_path, \
         verification_command, max_cost_micros, cost_micros, verified, run, worker_deaths, epoch, lease_until, \
         cancel_requested, events, claimed_with"
    };
}
pub(super) use columns;

const ONE: &str = concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1");
const ONE_LOCKED: &str = concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1 FOR NO KEY UPDATE");

/// A task with what callers do not see of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskRow {
    pub(super) task: Task,
    /// The only agent that may claim it.
    pub(super) offered_to: Option<String>,
    /// How many of the tasks that it depends on are not completed.
    pub(super) blocked_by: u32,
    pub(super) epoch: Epoch,
    /// When the lease of the worker that holds it expires.
    pub(super) lease_until: Option<Timestamp>,
    /// The worker that holds it is to end the work.
    pub(super) cancel_requested: bool,
    pub(super) events: u64,
    /// The token that it was claimed with last.
    pub(super) claimed_with: Option<String>,
}

const MAX_EVENTS: u64 = 5000;

impl TaskRow {
    /// The queue that it waits in: a worker that reads its own queues finds only tasks that it may claim.
    pub(super) fn queue(&self) -> String {
        queue(self.task.task_type, self.task.repo.is_some(), self.offered_to.as_deref())
    }

    /// Makes it claimable again, or lets it wait for the agent that it was offered to.
    pub(super) fn requeue(&mut self) {
        self.task.status = if self.offered_to.is_some() { TaskStatus::Offered } else { TaskStatus::Unassigned };
        self.task.agent_id.clone_from(&self.offered_to);
        self.lease_until = None;
    }

    /// Whether what agents and people say of it may still be added: an agent that reports without an end must not fill the disk.
    pub(super) const fn has_room(&self) -> bool {
        self.events < MAX_EVENTS
    }

    pub(super) fn full(&self) -> Error {
        self.conflict(format!("has {MAX_EVENTS} entries already, which is the most"))
    }

    pub(super) fn conflict(&self, detail: impl Into<String>) -> Error {
        Error::TaskConflict { task: self.task.id, detail: detail.into() }
    }

    /// An error where it has ended.
    pub(super) fn ensure_open(&self) -> Result<()> {
        match self.task.status {
            status if status.is_final() => Err(self.conflict(format!("is over ({status})"))),
            _ => Ok(()),
        }
    }

    pub(super) fn is_held_by(&self, lease: TaskLease) -> bool {
        self.task.status.is_claimed() && self.epoch == lease.epoch
    }

    pub(super) const fn stale(&self, lease: TaskLease) -> Error {
        Error::StaleTaskLease { task: self.task.id, held: lease.epoch, newest: self.epoch }
    }
}

pub(super) fn queue(task_type: TaskType, has_repo: bool, offered_to: Option<&str>) -> String {
    let place = if has_repo { "repo" } else { "local" };
    match offered_to {
        Some(agent) => format!("{task_type} {place} {agent}"),
        None => format!("{task_type} {place}"),
    }
}

pub(super) async fn get(session: &mut Session<'_>, id: TaskId) -> Result<TaskRow> {
    let row = session.row(ONE, values![id]).await?;
    parse(&row.ok_or_else(|| session.unknown_task(id))?)
}

/// Reads a task that no other transaction changes until this one ends.
pub(super) async fn lock(session: &mut Session<'_>, id: TaskId) -> Result<TaskRow> {
    let one = match session.dialect() {
        Dialect::Sqlite => ONE,
        Dialect::Postgres => ONE_LOCKED,
    };
    let row = session.row(one, values![id]).await?;
    parse(&row.ok_or_else(|| session.unknown_task(id))?)
}

/// Locks a task for the worker that holds it. A lease past its time counts until it is taken away: the worker lives after all.
pub(super) async fn fence(session: &mut Session<'_>, lease: TaskLease) -> Result<TaskRow> {
    let row = lock(session, lease.task).await?;
    if row.is_held_by(lease) { Ok(row) } else { Err(row.stale(lease)) }
}

/// Writes what can change of a locked task.
pub(super) async fn save(session: &mut Session<'_>, row: &TaskRow) -> Result<()> {
    let update = "UPDATE tasks SET status = $2, agent = $3, offered_to = $4, queue = $5, priority = $6, tags = $7, \
         blocked_by = $8, output = $9, failure_reason = $10, updated_at = $11, finished_at = $12, iterations = $13, \
         checkpoint = $14, cost_micros = $15, verified = $16, run = $17, worker_deaths = $18, lease_until = $19, \
         cancel_requested = $20, events = $21 WHERE id = $1";
    let task = &row.task;
    let values = values![
        task.id,
        task.status.name(),
        task.agent_id.as_deref(),
        row.offered_to.as_deref(),
        row.queue(),
        task.priority,
        json!(task.tags).to_string(),
        row.blocked_by,
        task.output.as_deref(),
        task.failure_reason.as_deref(),
        task.last_updated_at,
        task.finished_at,
        task.ralph_iterations,
        task.ralph_last_checkpoint.as_ref().map(|checkpoint| json!(checkpoint).to_string()).as_deref(),
        task.cost_usd,
        task.verified,
        task.run_id,
        task.worker_deaths,
        row.lease_until,
        row.cancel_requested,
        row.events,
    ];
    session.execute(update, values).await.map(drop)
}

/// Writes a locked task and the event that changed it.
pub(super) async fn record(
    session: &mut Session<'_>,
    row: &mut TaskRow,
    at: Timestamp,
    kind: &'static str,
    details: Json,
) -> Result<()> {
    row.events += 1;
    row.task.last_updated_at = at;
    save(session, row).await?;
    note(session, row, at, kind, details).await
}

/// Adds the newest event of a task and notifies subscribers.
pub(super) async fn note(
    session: &mut Session<'_>,
    row: &TaskRow,
    at: Timestamp,
    kind: &'static str,
    details: Json,
) -> Result<()> {
    let change = Change::Task { task: row.task.id, status: row.task.status };
    let mut values = values![row.task.id, row.events, at, kind, details.to_string()];
    match session.dialect() {
        Dialect::Sqlite => {
            let insert = "INSERT INTO task_events (task, seq, at, kind, details) VALUES ($1, $2, $3, $4, $5)";
            session.execute(insert, values).await?;
            session.announce(change).await
        }
        // In one statement: a server may be far away.
        Dialect::Postgres => {
            let insert = "WITH noted AS (INSERT INTO task_events (task, seq, at, kind, details) VALUES ($1, $2, $3, $4, $5)) \
                 SELECT pg_notify('ralph', $6)";
            values.push(change.encode().into());
            session.rows(insert, values).await.map(drop)
        }
    }
}

pub(super) fn parse(row: &Row<'_>) -> Result<TaskRow> {
    let text = |column| row.get::<Option<String>>(column);
    let task = Task {
        id: row.parsed("id", |id: &String| id.parse().ok())?,
        task: row.get("request")?,
        task_type: row.parsed("type", |name: &String| TaskType::parse(name))?,
        status: row.parsed("status", |name: &String| TaskStatus::parse(name))?,
        agent_id: text("agent")?,
        priority: row.parsed("priority", |number: &i64| i32::try_from(*number).ok())?,
        tags: row.parsed("tags", |list: &String| serde_json::from_str(list).ok())?,
        depends_on: row.parsed("depends_on", |list: &String| serde_json::from_str(list).ok())?,
        repo: text("repo")?,
        base_ref: text("base_ref")?,
        output: text("output")?,
        failure_reason: text("failure_reason")?,
        created_at: row.get("created_at").map(Timestamp)?,
        last_updated_at: row.get("updated_at").map(Timestamp)?,
        finished_at: row.time_or_null("finished_at")?,
        ralph_promise: text("promise")?,
        ralph_iterations: row.small("iterations")?,
        ralph_max_iterations: row.small("max_iterations")?,
        ralph_last_checkpoint: row.parsed_or_null("checkpoint", |json| serde_json::from_str(json).ok())?,
        ralph_plan_path: text("plan_path")?,
        verification_command: text("verification_command")?,
        max_cost_usd: row.money("max_cost_micros")?,
        cost_usd: row.money("cost_micros")?,
        verified: row.get("verified")?,
        run_id: row.parsed_or_null("run", |id| id.parse().ok())?,
        worker_deaths: row.small("worker_deaths")?,
    };
    Ok(TaskRow {
        task,
        offered_to: text("offered_to")?,
        blocked_by: row.small("blocked_by")?,
        epoch: Epoch(row.count("epoch")?),
        lease_until: row.time_or_null("lease_until")?,
        cancel_requested: row.get("cancel_requested")?,
        events: row.count("events")?,
        claimed_with: text("claimed_with")?,
    })
}
