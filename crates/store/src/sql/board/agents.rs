//! Who works: agents as they were heard of, and what they hold now.

use std::collections::HashMap;

use ralph_model::{TaskId, Timestamp};

use crate::board::AgentEntry;
use crate::error::{Error, Result};
use crate::sql::session::{Row, Session, values};

/// Notes that an agent is there. It belongs to the token of a worker that was the first to name it, as long as there is one.
pub(super) async fn touch(session: &mut Session<'_>, id: &str, token: Option<&str>, at: Timestamp) -> Result<()> {
    if let Some(token) = token {
        let owner = "SELECT token FROM agents WHERE id = $1 AND token <> $2 AND token IN (SELECT name FROM tokens)";
        if session.row(owner, values![id, token]).await?.is_some() {
            let detail = "belongs to another token: choose another name, or revoke that token".to_owned();
            return Err(Error::EntryConflict { what: "agent", id: id.to_owned(), detail });
        }
    }
    let row = "INSERT INTO agents (id, created_at, last_seen_at, token) VALUES ($1, $2, $2, $3) ON CONFLICT (id) DO UPDATE \
         SET last_seen_at = CASE WHEN agents.last_seen_at < $2 THEN $2 ELSE agents.last_seen_at END, \
         token = COALESCE($3, agents.token) \
         WHERE agents.last_seen_at < $2 OR COALESCE(agents.token, '') <> COALESCE($3, agents.token, '')";
    session.execute(row, values![id, at, token]).await.map(drop)
}

pub(super) async fn get(session: &mut Session<'_>, id: &str) -> Result<AgentEntry> {
    let row = session.row("SELECT id, created_at, last_seen_at FROM agents WHERE id = $1", values![id]).await?;
    let row = row.ok_or_else(|| Error::UnknownEntry { what: "agent", id: id.to_owned() })?;
    // Both columns of the index, or SQLite may read all tasks that the agent ever had.
    let held = "SELECT id, agent FROM tasks WHERE agent = $1 AND lease_until IS NOT NULL AND lease_until >= 0";
    let held = session.rows(held, values![id]).await?;
    entry(&row, &mut tasks_by_agent(&held)?)
}

pub(super) async fn list(session: &mut Session<'_>, limit: u32) -> Result<Vec<AgentEntry>> {
    let all = "SELECT id, created_at, last_seen_at FROM agents ORDER BY last_seen_at DESC, id LIMIT $1";
    let rows = session.rows(all, values![limit]).await?;
    let held = "SELECT id, agent FROM tasks WHERE lease_until IS NOT NULL AND lease_until >= 0";
    let held = session.rows(held, values![]).await?;
    let mut tasks = tasks_by_agent(&held)?;
    rows.iter().map(|row| entry(row, &mut tasks)).collect()
}

fn tasks_by_agent(rows: &[Row<'_>]) -> Result<HashMap<String, Vec<TaskId>>> {
    let mut tasks = HashMap::<String, Vec<TaskId>>::new();
    for row in rows {
        if let Some(agent) = row.get::<Option<String>>("agent")? {
            tasks.entry(agent).or_default().push(row.parsed("id", |id: &String| id.parse().ok())?);
        }
    }
    Ok(tasks)
}

fn entry(row: &Row<'_>, tasks: &mut HashMap<String, Vec<TaskId>>) -> Result<AgentEntry> {
    let id: String = row.get("id")?;
    let mut tasks = tasks.remove(&id).unwrap_or_default();
    tasks.sort_unstable();
    Ok(AgentEntry {
        id,
        busy: !tasks.is_empty(),
        tasks,
        last_seen_at: row.get("last_seen_at").map(Timestamp)?,
        created_at: row.get("created_at").map(Timestamp)?,
    })
}
