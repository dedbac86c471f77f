//! Tasks from outside: created, listed, changed, cancelled. What workers do is in `leases`.

use ralph_model::{Millis, Money, NewTask, Task, TaskId, TaskStatus, Timestamp};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;

use super::row::{TaskRow, columns};
use super::{ends, row};
use crate::board::{StatusCount, TaskChange, TaskEvent, TaskFilter};
use crate::changes::Change;
use crate::error::{Error, Result};
use crate::run::Epoch;
use crate::sql::schema::Dialect;
use crate::sql::session::{Backend, Insert, Row, Session, Value, values};

/// How long an idempotency key is remembered.
const KEY_LIFETIME: Millis = Millis(24 * 3_600_000);

pub(super) async fn create(
    session: &mut Session<'_>,
    id: TaskId,
    new: &NewTask,
    key: Option<&str>,
    at: Timestamp,
) -> Result<(Task, bool)> {
    if let Some(key) = key
        && let Some(first) = claim_key(session, key, id, new, at).await?
    {
        return Ok((row::get(session, first).await?.task, false));
    }
    let (task, dependencies) = insert(session, id, new, at).await?;
    // A dependency that ended without success can never be completed.
    match dependencies.into_iter().find(|(_, status)| status.is_final() && *status != TaskStatus::Completed) {
        Some((needs, status)) => Ok((ends::fail_dependent(session, task, needs, status, at).await?, true)),
        None => Ok((task.task, true)),
    }
}

/// Takes an idempotency key for a task, or returns the task that it was used for.
async fn claim_key(
    session: &mut Session<'_>,
    key: &str,
    id: TaskId,
    new: &NewTask,
    at: Timestamp,
) -> Result<Option<TaskId>> {
    let content = format!("{:x}", Sha256::digest(json!(new).to_string()));
    let expired = "DELETE FROM task_keys WHERE name = $1 AND at < $2";
    session.execute(expired, values![key, oldest_key(at)]).await?;
    let insert =
        "INSERT INTO task_keys (name, content, task, at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING";
    if session.execute(insert, values![key, content.as_str(), id, at]).await? > 0 {
        return Ok(None);
    }
    match session.row("SELECT content, task FROM task_keys WHERE name = $1", values![key]).await? {
        Some(row) if row.get::<String>("content")? == content => {
            row.parsed("task", |id: &String| id.parse().ok()).map(Some)
        }
        _ => Err(Error::KeyReused { key: key.to_owned() }),
    }
}

const fn oldest_key(at: Timestamp) -> i64 {
    at.0.saturating_sub_unsigned(KEY_LIFETIME.0)
}

/// Whether [`forget_keys`] has something to do.
pub(super) async fn has_old_keys(session: &mut Session<'_>, at: Timestamp) -> Result<bool> {
    let one = "SELECT at FROM task_keys WHERE at < $1 LIMIT 1";
    Ok(session.row(one, values![oldest_key(at)]).await?.is_some())
}

pub(super) async fn forget_keys(session: &mut Session<'_>, at: Timestamp) -> Result<()> {
    // Two that delete the same rows could wait for each other.
    session.lock("ralph task keys").await?;
    session.execute("DELETE FROM task_keys WHERE at < $1", values![oldest_key(at)]).await.map(drop)
}

/// The first and the last of the next tasks with events that are old enough to have ended by then. Ids count up with the
/// time of creation, so that events of newer tasks are not looked at.
pub(super) async fn with_old_events(
    session: &mut Session<'_>,
    after: &str,
    ended_before: Timestamp,
) -> Result<Option<(String, String)>> {
    const PAGE: u32 = 200;
    let millis = u64::try_from(ended_before.0).unwrap_or(0);
    let newest = format!("{:08x}-{:04x}", millis >> 16, millis & 0xffff);
    let page = "SELECT DISTINCT task FROM task_events WHERE task > $1 AND task < $2 ORDER BY task LIMIT $3";
    let rows = session.rows(page, values![after, newest.as_str(), PAGE]).await?;
    match (rows.first(), rows.last()) {
        (Some(first), Some(last)) => Ok(Some((first.get("task")?, last.get("task")?))),
        _ => Ok(None),
    }
}

pub(super) async fn forget_events(
    session: &mut Session<'_>,
    first: &str,
    last: &str,
    ended_before: Timestamp,
) -> Result<u64> {
    // Two that delete the same rows could wait for each other.
    session.lock("ralph task events").await?;
    let delete = "DELETE FROM task_events WHERE task >= $1 AND task <= $2 AND task IN \
         (SELECT id FROM tasks WHERE id >= $1 AND id <= $2 AND finished_at < $3)";
    session.execute(delete, values![first, last, ended_before]).await
}

macro_rules! insert_task {
    () => {
        "INSERT INTO tasks (id, request, type, status, agent, offered_to, queue, priority, tags, depends_on, \
         blocked_by, repo, base_ref, created_at, updated_at, promise, iterations, max_iterations, plan_path, \
         verification_command, max_cost_micros, cost_micros, verified, worker_deaths, epoch, cancel_requested, events) \
         VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, 0, $15, $16, $17, $18, 0, FALSE, 0, 0, \
         FALSE, $19) ON CONFLICT (id) DO NOTHING"
    };
}

/// Creates a task that concerns no other row: most do, and then one statement is enough.
pub(super) async fn create_alone(backend: &Backend, id: TaskId, new: &NewTask, at: Timestamp) -> Result<Task> {
    let insert = Insert {
        sqlite: insert_task!(),
        postgres: concat!(
            "WITH made AS (",
            insert_task!(),
            " RETURNING id, status) SELECT pg_notify('ralph', 'task ' || id || ' ' || status) FROM made"
        ),
    };
    let task = new_row(id, new, at, 0);
    let change = Change::Task { task: id, status: task.task.status };
    if insert.run(backend, "create a task", task_values(&task, at), change).await? == 0 {
        return Err(task.conflict("exists already"));
    }
    Ok(task.task)
}

/// Records a task, and returns it with the status of each task that it depends on.
async fn insert(
    session: &mut Session<'_>,
    id: TaskId,
    new: &NewTask,
    at: Timestamp,
) -> Result<(TaskRow, Vec<(TaskId, TaskStatus)>)> {
    let dependencies = lock_dependencies(session, &new.depends_on).await?;
    let open = dependencies.iter().filter(|(_, status)| *status != TaskStatus::Completed).count();
    let task = new_row(id, new, at, u32::try_from(open).unwrap_or(u32::MAX));
    if session.execute(insert_task!(), task_values(&task, at)).await? == 0 {
        return Err(task.conflict("exists already"));
    }
    insert_tags(session, id, &task.task.tags).await?;
    for (needs, _) in &dependencies {
        let statement = "INSERT INTO task_dependencies (needs, task) VALUES ($1, $2)";
        session.execute(statement, values![*needs, id]).await?;
    }
    session.announce(Change::Task { task: id, status: task.task.status }).await?;
    Ok((task, dependencies))
}

fn new_row(id: TaskId, new: &NewTask, at: Timestamp, blocked_by: u32) -> TaskRow {
    TaskRow {
        task: unassigned(id, new, at),
        offered_to: new.agent_id.clone(),
        blocked_by,
        epoch: Epoch(0),
        lease_until: None,
        cancel_requested: false,
        events: 1,
        claimed_with: None,
    }
}

fn task_values(row: &TaskRow, at: Timestamp) -> Vec<Value> {
    let Task { id, task: request, task_type, status, agent_id, priority, tags, depends_on, repo, base_ref, .. } =
        &row.task;
    values![
        *id,
        request.as_str(),
        task_type.name(),
        status.name(),
        agent_id.as_deref(),
        row.queue(),
        *priority,
        json!(tags).to_string(),
        json!(depends_on).to_string(),
        row.blocked_by,
        repo.as_deref(),
        base_ref.as_deref(),
        at,
        row.task.ralph_promise.as_deref(),
        row.task.ralph_max_iterations,
        row.task.ralph_plan_path.as_deref(),
        row.task.verification_command.as_deref(),
        row.task.max_cost_usd,
        row.events,
    ]
}

/// Locks tasks so that none of them ends before the one that depends on them is recorded. In the order of their ids, as
/// everywhere: then no two transactions wait for each other.
async fn lock_dependencies(session: &mut Session<'_>, ids: &[TaskId]) -> Result<Vec<(TaskId, TaskStatus)>> {
    let locked = match session.dialect() {
        Dialect::Sqlite => "SELECT status FROM tasks WHERE id = $1",
        Dialect::Postgres => "SELECT status FROM tasks WHERE id = $1 FOR SHARE",
    };
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::new();
    for id in ids {
        let row = session.row(locked, values![id]).await?.ok_or_else(|| session.unknown_task(id))?;
        found.push((id, row.parsed("status", |name: &String| TaskStatus::parse(name))?));
    }
    Ok(found)
}

fn unassigned(id: TaskId, new: &NewTask, at: Timestamp) -> Task {
    Task {
        id,
        task: new.task.clone(),
        task_type: new.task_type,
        status: if new.agent_id.is_some() { TaskStatus::Offered } else { TaskStatus::Unassigned },
        agent_id: new.agent_id.clone(),
        priority: new.priority,
        tags: new.tags.clone(),
        depends_on: new.depends_on.clone(),
        repo: new.repo.clone(),
        base_ref: new.base_ref.clone(),
        output: None,
        failure_reason: None,
        created_at: at,
        last_updated_at: at,
        finished_at: None,
        ralph_promise: new.ralph_promise.clone(),
        ralph_iterations: 0,
        ralph_max_iterations: new.ralph_max_iterations.unwrap_or(NewTask::DEFAULT_MAX_ITERATIONS),
        ralph_last_checkpoint: None,
        ralph_plan_path: new.ralph_plan_path.clone(),
        verification_command: new.verification_command.clone(),
        max_cost_usd: new.max_cost_usd.unwrap_or(NewTask::DEFAULT_MAX_COST),
        cost_usd: Money::ZERO,
        verified: false,
        run_id: None,
        worker_deaths: 0,
    }
}

async fn insert_tags(session: &mut Session<'_>, id: TaskId, tags: &[String]) -> Result<()> {
    for tag in tags {
        let statement = "INSERT INTO task_tags (tag, task) VALUES ($1, $2) ON CONFLICT (tag, task) DO NOTHING";
        session.execute(statement, values![tag.as_str(), id]).await?;
    }
    Ok(())
}

pub(super) async fn list(session: &mut Session<'_>, filter: &TaskFilter) -> Result<Vec<Task>> {
    let mut values: Vec<Value> = values![filter.limit];
    let mut conditions = String::new();
    let mut add = |condition: &dyn Fn(usize) -> String, value: Value| {
        values.push(value);
        conditions += &condition(values.len());
    };
    if let Some(tag) = &filter.tag {
        add(&|place| format!(" AND id IN (SELECT task FROM task_tags WHERE tag = ${place})"), tag.as_str().into());
    }
    if let Some(agent) = &filter.agent {
        add(&|place| format!(" AND agent = ${place}"), agent.as_str().into());
    }
    if let Some(before) = filter.before {
        add(&|place| format!(" AND id < ${place}"), before.into());
    }
    // One search for each status, so that the newest are found in an index and nothing has to be sorted.
    let searches: Vec<String> = if filter.statuses.is_empty() {
        vec![format!("SELECT {} FROM tasks WHERE TRUE{conditions} ORDER BY id DESC LIMIT $1", columns!())]
    } else {
        let search = |status: &TaskStatus| {
            let columns = columns!();
            format!(
                "SELECT * FROM (SELECT {columns} FROM tasks WHERE status = '{status}'{conditions} ORDER BY id DESC LIMIT $1) \
                 AS {status}_tasks"
            )
        };
        TaskStatus::ALL.iter().filter(|status| filter.statuses.contains(status)).map(search).collect()
    };
    let sql = match searches.as_slice() {
        [one] => one.clone(),
        several => format!("{} ORDER BY id DESC LIMIT $1", several.join(" UNION ALL ")),
    };
    let rows = session.rows(AssertSqlSafe(sql), values).await?;
    rows.iter().map(|found| row::parse(found).map(|found| found.task)).collect()
}

pub(super) async fn counts(session: &mut Session<'_>) -> Result<Vec<StatusCount>> {
    let rows = session.rows("SELECT status, COUNT(*) AS tasks FROM tasks GROUP BY status", values![]).await?;
    let mut counts = TaskStatus::ALL.map(|status| StatusCount { status, tasks: 0 }).to_vec();
    for row in &rows {
        let status = row.parsed("status", |name: &String| TaskStatus::parse(name))?;
        for count in counts.iter_mut().filter(|count| count.status == status) {
            count.tasks = row.count("tasks")?;
        }
    }
    Ok(counts)
}

pub(super) async fn change(session: &mut Session<'_>, id: TaskId, change: &TaskChange, at: Timestamp) -> Result<Task> {
    let mut task = row::lock(session, id).await?;
    task.ensure_open()?;
    let TaskChange { priority, tags, agent_id } = change;
    if let Some(agent) = agent_id {
        if task.task.status.is_claimed() {
            return Err(task.conflict("is held by a worker; its agent can be changed only before it is claimed"));
        }
        task.offered_to = Some(agent.clone());
        task.requeue();
    }
    task.task.priority = priority.unwrap_or(task.task.priority);
    if let Some(tags) = tags {
        session.execute("DELETE FROM task_tags WHERE task = $1", values![id]).await?;
        insert_tags(session, id, tags).await?;
        task.task.tags.clone_from(tags);
    }
    row::record(session, &mut task, at, "changed", json!(change)).await?;
    Ok(task.task)
}

pub(super) async fn comment(
    session: &mut Session<'_>,
    id: TaskId,
    comment: &str,
    key: &str,
    at: Timestamp,
) -> Result<Task> {
    let mut task = row::lock(session, id).await?;
    let details = json!({ "comment": comment, "key": key });
    let same = "SELECT seq FROM task_events WHERE task = $1 AND kind = 'comment' AND details = $2";
    if session.row(same, values![id, details.to_string()]).await?.is_none() {
        if !task.has_room() {
            return Err(task.full());
        }
        row::record(session, &mut task, at, "comment", details).await?;
    }
    Ok(task.task)
}

pub(super) async fn cancel(session: &mut Session<'_>, id: TaskId, at: Timestamp) -> Result<Task> {
    let mut task = row::lock(session, id).await?;
    task.ensure_open()?;
    if !task.task.status.is_claimed() {
        return ends::end(session, task, TaskStatus::Cancelled, at, json!({})).await;
    }
    if !task.cancel_requested {
        task.cancel_requested = true;
        row::record(session, &mut task, at, "cancelRequested", json!({})).await?;
    }
    Ok(task.task)
}

/// The first event of a task, its creation, is no row: the task says all of it. It goes when the others are forgotten.
pub(super) async fn events(session: &mut Session<'_>, id: TaskId, after: u64, limit: u32) -> Result<Vec<TaskEvent>> {
    let some = "SELECT seq, at, kind, details FROM task_events WHERE task = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let rows = session.rows(some, values![id, after, limit]).await?;
    let event = |row: &Row<'_>| {
        Ok(TaskEvent {
            seq: row.count("seq")?,
            at: row.get("at").map(Timestamp)?,
            kind: row.get("kind")?,
            details: row.parsed("details", |details: &String| serde_json::from_str(details).ok())?,
        })
    };
    let mut events: Vec<TaskEvent> = rows.iter().map(event).collect::<Result<_>>()?;
    let is_first_missing = after == 0 && events.first().is_none_or(|first| first.seq > 1);
    if is_first_missing || events.is_empty() {
        // A task that does not exist is named as such.
        let task = row::get(session, id).await?.task;
        if is_first_missing && !(events.is_empty() && task.status.is_final()) {
            let created = TaskEvent { seq: 1, at: task.created_at, kind: "created".to_owned(), details: json!({}) };
            events.insert(0, created);
            events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
    }
    Ok(events)
}
