//! The end of a task, and what it means for the tasks that wait for it.

use std::collections::BTreeMap;

use ralph_model::{Task, TaskId, TaskStatus, Timestamp};
use serde_json::{Value as Json, json};

use super::row::{self, TaskRow};
use crate::error::Result;
use crate::sql::session::{Session, values};

/// Ends a locked task, and unblocks or fails those that depend on it.
pub(super) async fn end(
    session: &mut Session<'_>,
    mut task: TaskRow,
    status: TaskStatus,
    at: Timestamp,
    details: Json,
) -> Result<Task> {
    close(session, &mut task, status, at, status.name(), details).await?;
    match status {
        TaskStatus::Completed => unblock(session, task.task.id, at).await?,
        _ => fail_all(session, &task.task, at).await?,
    }
    Ok(task.task)
}

/// Ends a task that killed too many workers.
pub(super) async fn quarantine(session: &mut Session<'_>, mut task: TaskRow, at: Timestamp) -> Result<()> {
    let deaths = task.task.worker_deaths;
    task.task.failure_reason = Some("quarantined: three workers died while they held this task".to_owned());
    let details = json!({ "workerDeaths": deaths });
    close(session, &mut task, TaskStatus::Failed, at, "quarantined", details).await?;
    fail_all(session, &task.task, at).await
}

/// Fails a locked task that can never be claimed, because a task that it depends on ended without success.
pub(super) async fn fail_dependent(
    session: &mut Session<'_>,
    mut task: TaskRow,
    needs: TaskId,
    status: TaskStatus,
    at: Timestamp,
) -> Result<Task> {
    let ended = if status == TaskStatus::Cancelled { "was cancelled" } else { "failed" };
    task.task.failure_reason = Some(format!("task {needs}, which this task depends on, {ended}"));
    close(session, &mut task, TaskStatus::Failed, at, "failed", json!({ "dependency": needs })).await?;
    Ok(task.task)
}

async fn close(
    session: &mut Session<'_>,
    task: &mut TaskRow,
    status: TaskStatus,
    at: Timestamp,
    kind: &'static str,
    details: Json,
) -> Result<()> {
    task.task.status = status;
    task.task.finished_at = Some(at);
    task.lease_until = None;
    task.cancel_requested = false;
    if task.epoch.0 > 0 {
        revoke_tokens(session, task.task.id).await?;
    }
    row::record(session, task, at, kind, details).await
}

/// Removes the tokens of a task: they end with the lease.
pub(super) async fn revoke_tokens(session: &mut Session<'_>, id: TaskId) -> Result<()> {
    session.execute("DELETE FROM tokens WHERE task IS NOT NULL AND task = $1", values![id]).await.map(drop)
}

async fn dependents(session: &mut Session<'_>, id: TaskId) -> Result<Vec<TaskId>> {
    let rows = session.rows("SELECT task FROM task_dependencies WHERE needs = $1 ORDER BY task", values![id]).await?;
    rows.iter().map(|row| row.parsed("task", |id: &String| id.parse().ok())).collect()
}

async fn unblock(session: &mut Session<'_>, completed: TaskId, at: Timestamp) -> Result<()> {
    for id in dependents(session, completed).await? {
        let mut task = row::lock(session, id).await?;
        if task.task.status.is_final() {
            continue;
        }
        task.blocked_by = task.blocked_by.saturating_sub(1);
        match task.blocked_by {
            0 => row::record(session, &mut task, at, "ready", json!({ "dependency": completed })).await?,
            _ => row::save(session, &task).await?,
        }
    }
    Ok(())
}

/// Fails everything that waits for a task, directly or not. The smallest id first: a task is younger than those that it
/// depends on, so all transactions lock in the same order.
async fn fail_all(session: &mut Session<'_>, ended: &Task, at: Timestamp) -> Result<()> {
    let mut doomed = BTreeMap::new();
    let cause = (ended.id, ended.status);
    doomed.extend(dependents(session, ended.id).await?.into_iter().map(|id| (id, cause)));
    while let Some((id, (needs, status))) = doomed.pop_first() {
        let task = row::lock(session, id).await?;
        if task.task.status.is_final() {
            continue;
        }
        fail_dependent(session, task, needs, status, at).await?;
        let cause = (id, TaskStatus::Failed);
        doomed.extend(dependents(session, id).await?.into_iter().map(|id| (id, cause)));
    }
    Ok(())
}
