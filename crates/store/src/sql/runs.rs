//! What listings show of runs, and who may write to them. A projection of the journals, changed together with them.

use ralph_model::{Grade, RunId, RunKind, Timestamp};
use sqlx::AssertSqlSafe;

use super::schema::Dialect;
use super::session::{Row, Session, Value, values};
use crate::chain::{Head, Seq};
use crate::error::{Error, Result};
use crate::run::{Epoch, Filter, Lease, LeaseHolder, Lookup, Machine, NewRun, RunEntry, RunStatus, RunSummary};

const COLUMNS: &str = "SELECT id, kind, parent, workspace, origin, objective, agent, skill, status, reason, iterations, \
     cost_micros, verified, grade, started_at, updated_at, finished_at, pid, host, boot, lease_until, epoch, head_seq, head_hash \
     FROM loops";
const NEWEST_FIRST: &str = " ORDER BY started_at DESC, id DESC";

/// Makes sure that a lease is the newest one, and returns where the journal ends. The run stays locked for other writers until
/// the transaction ends.
pub(super) async fn fence(session: &mut Session<'_>, lease: Lease) -> Result<Head> {
    let (epoch, head) = lock(session, lease.run).await?;
    if epoch != lease.epoch {
        tracing::warn!(run = %lease.run, held = lease.epoch.0, newest = epoch.0, "a write with an old lease was refused");
        return Err(Error::StaleLease { run: lease.run, held: lease.epoch, newest: epoch });
    }
    Ok(head)
}

async fn lock(session: &mut Session<'_>, run: RunId) -> Result<(Epoch, Head)> {
    let locked = match session.dialect() {
        // The whole database is locked for other writers.
        Dialect::Sqlite => "SELECT epoch, head_seq, head_hash FROM loops WHERE id = $1",
        Dialect::Postgres => "SELECT epoch, head_seq, head_hash FROM loops WHERE id = $1 FOR NO KEY UPDATE",
    };
    let row = session.row(locked, values![run]).await?;
    let row = row.ok_or_else(|| session.unknown(run))?;
    Ok((Epoch(row.count("epoch")?), head_of(&row)?))
}

/// Gives out a new lease, which makes older ones stale.
pub(super) async fn acquire(session: &mut Session<'_>, run: RunId, holder: Option<&LeaseHolder>) -> Result<Lease> {
    let (epoch, _) = lock(session, run).await?;
    let epoch = Epoch(epoch.0 + 1);
    let row = "UPDATE loops SET epoch = $2, pid = $3, host = $4, boot = $5, lease_until = $6 WHERE id = $1";
    let host = holder.map(|holder| holder.machine.host.as_str());
    let boot = holder.map(|holder| holder.machine.boot.as_str());
    let (pid, until) = (holder.map(|holder| holder.pid), holder.map(|holder| holder.until));
    session.later(row, values![run, epoch.0, pid, host, boot, until]).await?;
    tracing::debug!(%run, epoch = epoch.0, "lease acquired");
    Ok(Lease { run, epoch })
}

pub(super) async fn renew(session: &mut Session<'_>, run: RunId, until: Timestamp) -> Result<()> {
    session.later("UPDATE loops SET lease_until = $2 WHERE id = $1", values![run, until]).await
}

/// Ends the lease of a finished run, and keeps what its end is based on.
pub(super) async fn retire(session: &mut Session<'_>, run: RunId, certificate: Option<&str>) -> Result<()> {
    let row = "UPDATE loops SET pid = NULL, lease_until = NULL, certificate = COALESCE($2, certificate) WHERE id = $1";
    session.execute(row, values![run, certificate]).await.map(drop)
}

pub(super) async fn certificate(session: &mut Session<'_>, run: RunId) -> Result<Option<String>> {
    let row = session.row("SELECT certificate FROM loops WHERE id = $1", values![run]).await?;
    row.ok_or_else(|| session.unknown(run))?.get("certificate")
}

/// Where the journal of a run ends, without a lock.
pub(super) async fn noted_head(session: &mut Session<'_>, run: RunId) -> Result<Head> {
    let row = session.row("SELECT head_seq, head_hash FROM loops WHERE id = $1", values![run]).await?;
    head_of(&row.ok_or_else(|| session.unknown(run))?)
}

pub(super) async fn insert(session: &mut Session<'_>, new: &NewRun, head: Head) -> Result<Lease> {
    let lease = Lease { run: new.id, epoch: Epoch::FIRST };
    let row = "INSERT INTO loops (id, kind, parent, workspace, origin, objective, agent, skill, status, started_at, updated_at, \
         pid, host, boot, lease_until, epoch, head_seq, head_hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $12, $13, $14, $15, 0, $16) ON CONFLICT (id) DO NOTHING";
    let holder = new.holder.as_ref();
    let values = values![
        new.id,
        new.kind.name(),
        new.parent,
        new.workspace.as_str(),
        new.origin.as_deref(),
        new.objective.as_str(),
        new.agent.as_str(),
        new.skill.as_deref(),
        RunStatus::Running.name(),
        new.at,
        holder.map(|holder| holder.pid),
        holder.map(|holder| holder.machine.host.as_str()),
        holder.map(|holder| holder.machine.boot.as_str()),
        holder.map(|holder| holder.until),
        lease.epoch.0,
        head.hash.to_string(),
    ];
    match session.execute(row, values).await? {
        0 => Err(Error::RunExists { run: new.id }),
        _ => Ok(lease),
    }
}

pub(super) async fn update(session: &mut Session<'_>, run: RunId, summary: &RunSummary) -> Result<()> {
    let row = "UPDATE loops SET status = $2, reason = $3, iterations = $4, cost_micros = $5, verified = $6, finished_at = $7, grade = $8, \
         pid = CASE WHEN $2 = 'RUNNING' THEN pid END, lease_until = CASE WHEN $2 = 'RUNNING' THEN lease_until END \
         WHERE id = $1";
    let values = values![
        run,
        summary.status.name(),
        summary.reason.as_deref(),
        summary.iterations,
        summary.cost,
        summary.verified,
        summary.finished_at,
        summary.grade.map(Grade::name),
    ];
    session.later(row, values).await
}

pub(super) async fn move_head(session: &mut Session<'_>, run: RunId, head: Head, at: Option<Timestamp>) -> Result<()> {
    let row = "UPDATE loops SET head_seq = $2, head_hash = $3, updated_at = COALESCE($4, updated_at) WHERE id = $1";
    session.later(row, values![run, head.seq, head.hash.to_string(), at]).await
}

pub(super) async fn list(session: &mut Session<'_>, filter: &Filter) -> Result<Vec<RunEntry>> {
    let (mut sql, mut values) = (COLUMNS.to_owned(), Vec::<Value>::new());
    let mut conditions = Vec::new();
    let mut add = |condition: &dyn Fn(usize) -> String, value: Value| {
        values.push(value);
        conditions.push(condition(values.len()));
    };
    if let Some(workspace) = &filter.workspace {
        add(&|place| format!("(workspace = ${place} OR origin = ${place})"), workspace.as_str().into());
    }
    if let Some(status) = filter.status {
        add(&|place| format!("status = ${place}"), status.name().into());
    }
    if let Some(kind) = filter.kind {
        add(&|place| format!("kind = ${place}"), kind.name().into());
    }
    if let Some(parent) = filter.parent {
        add(&|place| format!("parent = ${place}"), parent.into());
    }
    if let Some(before) = filter.before {
        let older = |place: usize| {
            let last = format!("(SELECT started_at FROM loops WHERE id = ${place})");
            format!("(started_at < {last} OR (started_at = {last} AND id < ${place}))")
        };
        add(&older, before.into());
    }
    if !conditions.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&conditions.join(" AND "));
    }
    sql.push_str(NEWEST_FIRST);
    if let Some(limit) = filter.limit {
        values.push(limit.into());
        sql.push_str(&format!(" LIMIT ${}", values.len()));
    }
    entries(session, sql, values).await
}

pub(super) async fn counts(session: &mut Session<'_>) -> Result<Vec<(RunStatus, u64)>> {
    let sql = "SELECT status, COUNT(*) AS loops FROM loops WHERE kind = $1 GROUP BY status ORDER BY status";
    let rows = session.rows(sql, values![RunKind::Loop.name()]).await?;
    rows.iter()
        .map(|row| Ok((row.parsed("status", |status: &String| status.parse().ok())?, row.count("loops")?)))
        .collect()
}

pub(super) async fn get(session: &mut Session<'_>, run: RunId) -> Result<RunEntry> {
    let found = entries(session, format!("{COLUMNS} WHERE id = $1"), values![run]).await?.pop();
    found.ok_or_else(|| session.unknown(run))
}

pub(super) async fn find(session: &mut Session<'_>, text: &str) -> Result<Lookup> {
    // Only digits of an id reach the pattern, so that nothing in it has a meaning of its own.
    let digits: String = text.trim().chars().filter(|c| *c != '-').collect::<String>().to_ascii_lowercase();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Lookup::None);
    }
    let id = "REPLACE(id, '-', '')";
    let sql = format!("{COLUMNS} WHERE {id} LIKE $1 OR {id} LIKE $2 OR {id} LIKE $3{NEWEST_FIRST}");
    // The short id is the last eight of 32 digits.
    let short = format!("{}{digits}%", "_".repeat(24));
    let mut entries = entries(session, sql, values![format!("{digits}%"), format!("%{digits}"), short]).await?;
    entries.retain(|entry| entry.id.answers_to(&digits));
    // Listings show short ids, so the start of one is what people type.
    if entries.iter().any(|entry| entry.id.short().starts_with(&digits)) {
        entries.retain(|entry| entry.id.short().starts_with(&digits));
    }
    Ok(match entries.pop() {
        None => Lookup::None,
        Some(only) if entries.is_empty() => Lookup::One(Box::new(only)),
        Some(last) => {
            entries.push(last);
            Lookup::Several(entries)
        }
    })
}

/// Everything of a run, in every table that names it.
pub(super) async fn remove(session: &mut Session<'_>, run: RunId) -> Result<()> {
    noted_head(session, run).await?;
    let rows = [
        "DELETE FROM events WHERE loop = $1",
        "DELETE FROM budget WHERE loop = $1",
        "DELETE FROM stops WHERE loop = $1",
        "DELETE FROM hints WHERE loop = $1",
        "DELETE FROM quarantined WHERE loop = $1",
        "DELETE FROM attempts WHERE loop = $1",
        "DELETE FROM artifacts WHERE loop = $1",
        "DELETE FROM artifact_parts WHERE loop = $1",
        "UPDATE loops SET parent = NULL WHERE parent = $1",
        "DELETE FROM loops WHERE id = $1",
    ];
    for statement in rows {
        session.execute(statement, values![run]).await?;
    }
    Ok(())
}

/// `sql` is made of this module's own text; what others typed is in `values`.
async fn entries(session: &mut Session<'_>, sql: String, values: Vec<Value>) -> Result<Vec<RunEntry>> {
    session.rows(AssertSqlSafe(sql), values).await?.iter().map(entry).collect()
}

fn entry(row: &Row<'_>) -> Result<RunEntry> {
    let parent: Option<String> = row.get("parent")?;
    Ok(RunEntry {
        id: row.parsed("id", |id: &String| id.parse().ok())?,
        kind: row.parsed("kind", |kind: &String| RunKind::parse(kind))?,
        parent: parent.map(|_| row.parsed("parent", |id: &String| id.parse().ok())).transpose()?,
        workspace: row.get("workspace")?,
        origin: row.get("origin")?,
        objective: row.get("objective")?,
        agent: row.get("agent")?,
        skill: row.get("skill")?,
        status: row.parsed("status", |status: &String| status.parse().ok())?,
        reason: row.get("reason")?,
        iterations: row.small("iterations")?,
        cost: row.money("cost_micros")?,
        verified: row.get("verified")?,
        // One of a later version is none that this one knows.
        grade: row.get::<Option<String>>("grade")?.and_then(|grade| ralph_model::Grade::parse(&grade)),
        started_at: row.get("started_at").map(Timestamp)?,
        updated_at: row.get("updated_at").map(Timestamp)?,
        finished_at: row.get::<Option<i64>>("finished_at")?.map(Timestamp),
        pid: row.small_or_null("pid")?,
        machine: row.get::<Option<String>>("host")?.zip(row.get("boot")?).map(|(host, boot)| Machine { host, boot }),
        lease_until: row.get::<Option<i64>>("lease_until")?.map(Timestamp),
        epoch: Epoch(row.count("epoch")?),
        head: head_of(row)?,
    })
}

fn head_of(row: &Row<'_>) -> Result<Head> {
    let hash = row.parsed("head_hash", |hash: &String| hash.parse().ok())?;
    Ok(Head { seq: Seq(row.count("head_seq")?), hash })
}
