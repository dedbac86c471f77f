//! What workers do: claim a task, keep it, report on it, end it, give it back. And what happens to tasks of dead workers.

use ralph_model::{Checkpoint, Millis, Task, TaskId, TaskStatus, Timestamp};
use serde_json::{Map, json};
use sqlx::AssertSqlSafe;

use super::row::{TaskRow, columns};
use super::{ends, row};
use crate::board::{Claim, Claimed, Progress, Renewed, TaskEnd, TaskHolder, TaskLease};
use crate::error::{Error, Result};
use crate::sql::schema::Dialect;
use crate::sql::session::{Session, Value, values};

/// After so many deaths of workers a task is quarantined.
const MAX_DEATHS: u32 = 3;

/// What a worker could claim at the moment.
pub(super) struct Heads {
    /// Queues that are not empty, the one with the most urgent task first.
    pub(super) queues: Vec<String>,
    pub(super) has_expired: bool,
}

/// Looks for tasks that a worker may claim. The first task of each queue is one step in an index, however long the queue is.
pub(super) async fn heads(session: &mut Session<'_>, claim: &Claim) -> Result<Heads> {
    let mut values: Vec<Value> = values![claim.at];
    // Repeats the condition of the index literally, or SQLite does not use it. A held task has no place in a queue.
    // The earliest lease by its order: PostgreSQL would read the whole table for a condition that it has no statistics of.
    let mut sql = "SELECT '' AS queue, CAST(0 AS BIGINT) AS priority, '' AS id WHERE (SELECT lease_until FROM tasks \
         WHERE lease_until IS NOT NULL ORDER BY lease_until LIMIT 1) <= $1"
        .to_owned();
    for queue in queues(claim) {
        values.push(queue.into());
        let place = values.len();
        sql += &format!(
            " UNION ALL SELECT * FROM (SELECT queue, priority, id FROM tasks WHERE queue = ${place} \
             AND status IN ('unassigned', 'offered') AND blocked_by = 0 ORDER BY priority DESC, id LIMIT 1) AS queue_{place}"
        );
    }
    let rows = session.rows(AssertSqlSafe(sql), values).await?;
    let mut found = Vec::new();
    for row in &rows {
        found.push((-row.get::<i64>("priority")?, row.get::<String>("id")?, row.get::<String>("queue")?));
    }
    found.sort_unstable();
    let has_expired = found.iter().any(|(_, _, queue)| queue.is_empty());
    let queues = found.into_iter().map(|(_, _, queue)| queue).filter(|queue| !queue.is_empty()).collect();
    Ok(Heads { queues, has_expired })
}

fn queues(claim: &Claim) -> Vec<String> {
    let places: &[bool] = if claim.without_repo { &[true, false] } else { &[true] };
    let mut queues = Vec::new();
    for task_type in &claim.types {
        for has_repo in places {
            queues.push(row::queue(*task_type, *has_repo, None));
            queues.push(row::queue(*task_type, *has_repo, Some(&claim.agent)));
        }
    }
    queues.sort_unstable();
    queues.dedup();
    queues
}

/// Claims the first task of a queue. Those that another transaction claims at this moment are passed over.
pub(super) async fn claim_from(session: &mut Session<'_>, queue: &str, claim: &Claim) -> Result<Option<Claimed>> {
    let (expires_at, details) = (after(claim.at, claim.lease), json!({ "agentId": claim.agent }));
    let mut values = values![queue, claim.agent.as_str(), expires_at, claim.at, claim.token.as_deref()];
    let task = match session.dialect() {
        Dialect::Sqlite => {
            let update = concat!(
                "UPDATE tasks SET status = 'pending', agent = $2, epoch = epoch + 1, lease_until = $3, updated_at = $4, \
                 claimed_with = $5, events = events + 1 WHERE id = (SELECT id FROM tasks WHERE queue = $1 \
                 AND status IN ('unassigned', 'offered') AND blocked_by = 0 ORDER BY priority DESC, id LIMIT 1) RETURNING ",
                columns!()
            );
            let Some(found) = session.row(update, values).await? else { return Ok(None) };
            let task = row::parse(&found)?;
            row::note(session, &task, claim.at, "claimed", details).await?;
            task
        }
        // The event and the notification in the same statement: claims are what a server does most.
        Dialect::Postgres => {
            let update = concat!(
                "WITH taken AS (UPDATE tasks SET status = 'pending', agent = $2, epoch = epoch + 1, lease_until = $3, \
                 updated_at = $4, claimed_with = $5, events = events + 1 WHERE id = (SELECT id FROM tasks WHERE queue = $1 \
                 AND status IN ('unassigned', 'offered') AND blocked_by = 0 ORDER BY priority DESC, id LIMIT 1 \
                 FOR NO KEY UPDATE SKIP LOCKED) RETURNING ",
                columns!(),
                "), noted AS (INSERT INTO task_events (task, seq, at, kind, details) \
                 SELECT id, events, $4, 'claimed', $6 FROM taken) \
                 SELECT pg_notify('ralph', 'task ' || id || ' ' || status), ",
                columns!(),
                " FROM taken"
            );
            values.push(details.to_string().into());
            let Some(found) = session.row(update, values).await? else { return Ok(None) };
            row::parse(&found)?
        }
    };
    let lease = TaskLease { task: task.task.id, epoch: task.epoch };
    Ok(Some(Claimed { task: task.task, lease, expires_at }))
}

fn after(at: Timestamp, span: Millis) -> Timestamp {
    Timestamp(at.0.saturating_add_unsigned(span.0))
}

pub(super) async fn renew(session: &mut Session<'_>, lease: TaskLease, span: Millis, at: Timestamp) -> Result<Renewed> {
    let expires_at = after(at, span);
    let update = "UPDATE tasks SET lease_until = $3 WHERE id = $1 AND epoch = $2 AND status IN ('pending', 'in_progress') \
         RETURNING cancel_requested";
    match session.row(update, values![lease.task, lease.epoch.0, expires_at]).await? {
        Some(row) => Ok(Renewed { expires_at, cancelled: row.get("cancel_requested")? }),
        None => Err(row::get(session, lease.task).await?.stale(lease)),
    }
}

pub(super) async fn holder(session: &mut Session<'_>, id: TaskId) -> Result<Option<TaskHolder>> {
    let TaskRow { task, epoch, claimed_with: token, .. } = row::get(session, id).await?;
    let lease = TaskLease { task: id, epoch };
    Ok(task.agent_id.filter(|_| task.status.is_claimed()).map(|agent| TaskHolder { lease, agent, token }))
}

pub(super) async fn progress(
    session: &mut Session<'_>,
    lease: TaskLease,
    progress: &Progress,
    at: Timestamp,
) -> Result<Task> {
    let mut row = row::fence(session, lease).await?;
    let before = row.clone();
    let Progress { run, iterations, cost, message } = progress;
    let mut details = Map::new();
    if let Some(run) = *run {
        row.task.run_id = Some(run);
        row.task.status = TaskStatus::InProgress;
    }
    row.task.ralph_iterations = row.task.ralph_iterations.max(iterations.unwrap_or(0));
    row.task.cost_usd = row.task.cost_usd.max(cost.unwrap_or_default());
    if (row.task.run_id, row.task.status) != (before.task.run_id, before.task.status) {
        let details = json!({ "runId": row.task.run_id });
        row::record(session, &mut row, at, "started", details).await?;
    }
    if row.task.ralph_iterations != before.task.ralph_iterations {
        details.insert("iterations".to_owned(), json!(row.task.ralph_iterations));
    }
    if row.task.cost_usd != before.task.cost_usd {
        details.insert("costUsd".to_owned(), json!(row.task.cost_usd.to_json_number()));
    }
    if !row.has_room() {
        return match (details.is_empty(), message) {
            (true, Some(_)) => Err(row.full()),
            // Figures count without an entry.
            _ => row::save(session, &row).await.map(|()| row.task),
        };
    }
    if let Some(message) = message {
        details.insert("message".to_owned(), json!(message));
    }
    if !details.is_empty() {
        row::record(session, &mut row, at, "progress", details.into()).await?;
    }
    Ok(row.task)
}

pub(super) async fn set_checkpoint(
    session: &mut Session<'_>,
    lease: TaskLease,
    checkpoint: Option<&Checkpoint>,
    at: Timestamp,
) -> Result<Task> {
    let mut row = row::fence(session, lease).await?;
    if checkpoint.is_some_and(|checkpoint| checkpoint.task_id != lease.task) {
        return Err(row.conflict("does not take the checkpoint of another task"));
    }
    row.task.ralph_last_checkpoint = checkpoint.cloned();
    match row.has_room() {
        true => row::record(session, &mut row, at, "checkpoint", json!({ "checkpoint": checkpoint })).await?,
        false => row::save(session, &row).await?,
    }
    Ok(row.task)
}

pub(super) async fn finish(session: &mut Session<'_>, lease: TaskLease, end: &TaskEnd, at: Timestamp) -> Result<Task> {
    let mut row = row::lock(session, lease.task).await?;
    if !end.status.is_final() {
        return Err(row.conflict(format!("cannot end as {}", end.status)));
    }
    // The worker did not hear that its first call succeeded. One that was cancelled meanwhile ended so, whatever was reported.
    let is_repeated = row.task.status == end.status || row.task.status == TaskStatus::Cancelled;
    if is_repeated && row.epoch == lease.epoch {
        return Ok(row.task);
    }
    if !row.is_held_by(lease) {
        return Err(row.stale(lease));
    }
    // The caller who cancelled it was promised that it ends so.
    let status = if row.cancel_requested { TaskStatus::Cancelled } else { end.status };
    let task = &mut row.task;
    task.output = end.output.clone();
    task.failure_reason = end.failure_reason.clone();
    task.verified = end.verified && status == TaskStatus::Completed;
    task.ralph_iterations = task.ralph_iterations.max(end.iterations);
    task.cost_usd = task.cost_usd.max(end.cost);
    let details = json!({ "verified": task.verified, "iterations": task.ralph_iterations,
        "costUsd": task.cost_usd.to_json_number(), "failureReason": task.failure_reason });
    ends::end(session, row, status, at, details).await
}

pub(super) async fn release(session: &mut Session<'_>, lease: TaskLease, at: Timestamp) -> Result<Task> {
    let mut row = row::fence(session, lease).await?;
    if row.cancel_requested {
        return ends::end(session, row, TaskStatus::Cancelled, at, json!({})).await;
    }
    let agent = row.task.agent_id.take();
    row.requeue();
    ends::revoke_tokens(session, lease.task).await?;
    row::record(session, &mut row, at, "released", json!({ "agentId": agent })).await?;
    Ok(row.task)
}

pub(super) async fn has_expired(session: &mut Session<'_>, at: Timestamp) -> Result<bool> {
    let one =
        "SELECT epoch FROM tasks WHERE lease_until IS NOT NULL AND lease_until <= $1 ORDER BY lease_until LIMIT 1";
    Ok(session.row(one, values![at]).await?.is_some())
}

/// Takes one task away from a worker that let its lease expire, and returns whether there was one.
pub(super) async fn expire_one(session: &mut Session<'_>, at: Timestamp) -> Result<bool> {
    let one = match session.dialect() {
        Dialect::Sqlite => concat!(
            "SELECT ",
            columns!(),
            " FROM tasks WHERE lease_until IS NOT NULL AND lease_until <= $1 ORDER BY lease_until LIMIT 1"
        ),
        Dialect::Postgres => concat!(
            "SELECT ",
            columns!(),
            " FROM tasks WHERE lease_until IS NOT NULL AND lease_until <= $1 ORDER BY lease_until LIMIT 1 \
             FOR NO KEY UPDATE SKIP LOCKED"
        ),
    };
    let Some(found) = session.row(one, values![at]).await? else { return Ok(false) };
    let mut row = row::parse(&found)?;
    row.task.worker_deaths += 1;
    let agent = row.task.agent_id.clone();
    let details = json!({ "agentId": agent, "workerDeaths": row.task.worker_deaths });
    if row.cancel_requested {
        ends::end(session, row, TaskStatus::Cancelled, at, details).await?;
    } else if row.task.worker_deaths >= MAX_DEATHS {
        ends::quarantine(session, row, at).await?;
    } else {
        row.requeue();
        ends::revoke_tokens(session, row.task.id).await?;
        row::record(session, &mut row, at, "expired", details).await?;
    }
    Ok(true)
}

/// Makes sure that a lease holds its task, which stays locked for other writers.
pub(super) async fn ensure_held(session: &mut Session<'_>, lease: TaskLease) -> Result<(), Error> {
    row::fence(session, lease).await.map(drop)
}
