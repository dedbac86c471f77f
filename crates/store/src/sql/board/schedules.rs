//! Tasks by the clock: which are due is decided elsewhere, here each of them is created once.

use ralph_model::{Task, TaskId, TaskStatus, Timestamp};
use serde_json::json;

use super::tasks;
use crate::board::Schedule;
use crate::changes::Change;
use crate::error::{Error, Result};
use crate::sql::session::{Row, Session, values};

pub(super) async fn put(session: &mut Session<'_>, schedule: &Schedule) -> Result<()> {
    let Schedule { id, name, .. } = schedule;
    session.lock("ralph schedules").await?;
    let other = "SELECT id FROM schedules WHERE name = $1 AND id <> $2";
    if session.row(other, values![name.as_str(), id.as_str()]).await?.is_some() {
        let detail = "exists already; choose another name".to_owned();
        return Err(Error::EntryConflict { what: "schedule", id: name.clone(), detail });
    }
    // What it created last is written by `fire` alone.
    let row = "INSERT INTO schedules (id, name, cron, time_zone, task, enabled, next_at, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE \
         SET name = $2, cron = $3, time_zone = $4, task = $5, enabled = $6, next_at = $7";
    let values = values![
        id.as_str(),
        name.as_str(),
        schedule.cron.as_str(),
        schedule.time_zone.as_str(),
        json!(schedule.task).to_string(),
        schedule.enabled,
        schedule.next_at,
        schedule.created_at,
    ];
    session.execute(row, values).await?;
    session.announce(Change::Schedules).await
}

pub(super) async fn remove(session: &mut Session<'_>, id: &str) -> Result<bool> {
    let removed = session.execute("DELETE FROM schedules WHERE id = $1", values![id]).await? > 0;
    if removed {
        session.announce(Change::Schedules).await?;
    }
    Ok(removed)
}

pub(super) async fn list(session: &mut Session<'_>) -> Result<Vec<Schedule>> {
    let all = "SELECT id, name, cron, time_zone, task, enabled, next_at, last_at, last_task, created_at FROM schedules \
         ORDER BY name";
    session.rows(all, values![]).await?.iter().map(schedule).collect()
}

pub(super) async fn fire(
    session: &mut Session<'_>,
    id: &str,
    due: Timestamp,
    next: Option<Timestamp>,
    task: TaskId,
    at: Timestamp,
) -> Result<Option<Task>> {
    // As long as no worker takes its tasks, a schedule adds no more of them.
    let last = "SELECT tasks.status AS status FROM schedules JOIN tasks ON tasks.id = schedules.last_task WHERE schedules.id = $1";
    if let Some(row) = session.row(last, values![id]).await?
        && matches!(
            row.parsed("status", |name: &String| TaskStatus::parse(name))?,
            TaskStatus::Unassigned | TaskStatus::Offered
        )
    {
        let skip = "UPDATE schedules SET next_at = $3 WHERE id = $1 AND next_at = $2 AND enabled";
        session.execute(skip, values![id, due, next]).await?;
        return Ok(None);
    }
    // Another server that moved the schedule on leaves nothing here to update.
    let update = "UPDATE schedules SET next_at = $3, last_at = $4, last_task = $5 WHERE id = $1 AND next_at = $2 AND enabled \
         RETURNING id, name, cron, time_zone, task, enabled, next_at, last_at, last_task, created_at";
    let Some(row) = session.row(update, values![id, due, next, at, task]).await? else { return Ok(None) };
    let (task, _) = tasks::create(session, task, &schedule(&row)?.task, None, at).await?;
    session.announce(Change::Schedules).await?;
    Ok(Some(task))
}

fn schedule(row: &Row<'_>) -> Result<Schedule> {
    Ok(Schedule {
        id: row.get("id")?,
        name: row.get("name")?,
        cron: row.get("cron")?,
        time_zone: row.get("time_zone")?,
        task: row.parsed("task", |json: &String| serde_json::from_str(json).ok())?,
        enabled: row.get("enabled")?,
        next_at: row.time_or_null("next_at")?,
        last_at: row.time_or_null("last_at")?,
        last_task_id: row.parsed_or_null("last_task", |id| id.parse().ok())?,
        created_at: row.get("created_at").map(Timestamp)?,
    })
}
