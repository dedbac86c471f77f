//! What listings show of loops. A projection of the journals, changed together with them.

use std::fmt;
use std::str::FromStr;

use ralph_model::{LoopId, Money, Timestamp};
use sqlx::{Decode, QueryBuilder, Row as _, Type};

use crate::chain::Head;
use crate::error::{Error, Result};
use crate::sqlite::{Connection, Database, Row};
use crate::store::Store;

/// A loop that is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLoop {
    /// Its id, never used before.
    pub id: LoopId,
    /// The folder it works in.
    pub workspace: String,
    /// What it is to reach, byte for byte.
    pub objective: String,
    /// The agent that works.
    pub agent: String,
    /// The skill it follows.
    pub skill: Option<String>,
    /// The process that runs it.
    pub pid: Option<u32>,
    /// When it started.
    pub at: Timestamp,
}

/// How far a loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopStatus {
    /// Not ended. Without a living process of that pid it was interrupted and can be resumed.
    Running,
    /// Ended with success.
    Completed,
    /// Ended without success, for a reason.
    Aborted,
    /// Ralph's own machinery failed.
    Error,
}

impl LoopStatus {
    /// The name that is stored and that scripts see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Aborted => "ABORTED",
            Self::Error => "ERROR",
        }
    }
}

impl fmt::Display for LoopStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a status: expected running, completed, aborted or error")]
pub struct ParseLoopStatus(String);

impl FromStr for LoopStatus {
    type Err = ParseLoopStatus;

    /// In any case, as people type it.
    fn from_str(text: &str) -> Result<Self, ParseLoopStatus> {
        [Self::Running, Self::Completed, Self::Aborted, Self::Error]
            .into_iter()
            .find(|status| status.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| ParseLoopStatus(text.to_owned()))
    }
}

/// What changes in a listing while a loop runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopSummary {
    /// How far it is. Any other than running also takes the pid away.
    pub status: LoopStatus,
    /// Why it was aborted, or what failed.
    pub reason: Option<String>,
    /// Agent runs so far.
    pub iterations: u32,
    /// What they cost.
    pub cost: Money,
    /// Whether checks passed at its end.
    pub verified: bool,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Whatever else a listing shows, as JSON. `None` keeps what is stored.
    pub details: Option<String>,
}

/// A loop as listings show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopEntry {
    /// Its id.
    pub id: LoopId,
    /// The folder it works in.
    pub workspace: String,
    /// What it is to reach.
    pub objective: String,
    /// The agent that works.
    pub agent: String,
    /// The skill it follows.
    pub skill: Option<String>,
    /// How far it is.
    pub status: LoopStatus,
    /// Why it was aborted, or what failed.
    pub reason: Option<String>,
    /// Agent runs so far.
    pub iterations: u32,
    /// What they cost.
    pub cost: Money,
    /// Whether checks passed at its end.
    pub verified: bool,
    /// When it started.
    pub started_at: Timestamp,
    /// When its last event happened.
    pub updated_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The process that runs it, as far as it said.
    pub pid: Option<u32>,
    /// Where its journal ends.
    pub head: Head,
    /// Whatever else a listing shows, as JSON.
    pub details: Option<String>,
}

/// Which loops to list. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those that work in this folder.
    pub workspace: Option<String>,
    /// Only those that are this far.
    pub status: Option<LoopStatus>,
    /// At most so many.
    pub limit: Option<u32>,
}

/// Who answers to a text that a person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Exactly this one.
    One(Box<LoopEntry>),
    /// Nobody.
    None,
    /// More than one, newest first.
    Several(Vec<LoopEntry>),
}

const COLUMNS: &str = "SELECT id, workspace, objective, agent, skill, status, reason, iterations, cost_micros, verified, \
     started_at, updated_at, finished_at, pid, head_seq, head_hash, summary FROM loops";
const NEWEST_FIRST: &str = " ORDER BY started_at DESC, id DESC";

impl Store {
    /// Lists loops, newest first.
    ///
    /// # Errors
    /// What the database says.
    pub async fn loops(&self, filter: &Filter) -> Result<Vec<LoopEntry>> {
        let mut query = QueryBuilder::<Database>::new(COLUMNS);
        query.push(" WHERE 1 = 1");
        if let Some(workspace) = &filter.workspace {
            query.push(" AND workspace = ").push_bind(workspace.as_str());
        }
        if let Some(status) = filter.status {
            query.push(" AND status = ").push_bind(status.name());
        }
        query.push(NEWEST_FIRST);
        if let Some(limit) = filter.limit {
            query.push(" LIMIT ").push_bind(i64::from(limit));
        }
        self.entries(query).await
    }

    /// One loop, by its whole id.
    ///
    /// # Errors
    /// [`Error::UnknownLoop`]; else what the database says.
    pub async fn get(&self, loop_id: LoopId) -> Result<LoopEntry> {
        let mut query = QueryBuilder::<Database>::new(COLUMNS);
        query.push(" WHERE id = ").push_bind(loop_id.to_string());
        self.entries(query).await?.pop().ok_or_else(|| self.unknown(loop_id))
    }

    /// The loop that a person means: by its whole id, its beginning or its end, at least four characters.
    ///
    /// # Errors
    /// What the database says.
    pub async fn find(&self, text: &str) -> Result<Found> {
        // Only digits of an id reach the pattern, so that nothing in it has a meaning of its own.
        let digits: String = text.trim().chars().filter(|c| *c != '-').collect::<String>().to_ascii_lowercase();
        if digits.len() < 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Found::None);
        }
        let mut query = QueryBuilder::<Database>::new(COLUMNS);
        query.push(" WHERE REPLACE(id, '-', '') LIKE ").push_bind(format!("{digits}%"));
        query.push(" OR REPLACE(id, '-', '') LIKE ").push_bind(format!("%{digits}"));
        query.push(NEWEST_FIRST);
        let mut entries = self.entries(query).await?;
        entries.retain(|entry| entry.id.answers_to(&digits));
        Ok(match entries.pop() {
            None => Found::None,
            Some(only) if entries.is_empty() => Found::One(Box::new(only)),
            Some(last) => {
                entries.push(last);
                Found::Several(entries)
            }
        })
    }

    /// Notes which process runs a loop, or that none does.
    ///
    /// # Errors
    /// [`Error::UnknownLoop`]; else what the database says.
    pub async fn set_pid(&self, loop_id: LoopId, pid: Option<u32>) -> Result<()> {
        let mut writing = self.write("note who runs a loop").await?;
        let changed = sqlx::query("UPDATE loops SET pid = $2 WHERE id = $1")
            .bind(loop_id.to_string())
            .bind(pid.map(i64::from))
            .execute(writing.on())
            .await
            .map_err(|error| writing.fault(error))?;
        if changed.rows_affected() == 0 {
            return Err(self.unknown(loop_id));
        }
        writing.commit().await
    }

    pub(crate) fn unknown(&self, loop_id: LoopId) -> Error {
        Error::UnknownLoop { loop_id, path: self.path().to_owned() }
    }

    pub(crate) fn malformed(&self, column: &'static str, value: impl fmt::Display) -> Error {
        Error::Malformed { path: self.path().to_owned(), column, value: value.to_string() }
    }

    /// A value, or the name of the column that holds something else.
    pub(crate) fn column<'r, T: Decode<'r, Database> + Type<Database>>(
        &self,
        row: &'r Row,
        column: &'static str,
    ) -> Result<T> {
        row.try_get(column).map_err(|error| self.malformed(column, error))
    }

    async fn entries(&self, mut query: QueryBuilder<Database>) -> Result<Vec<LoopEntry>> {
        let rows = query.build().fetch_all(self.readers()).await.map_err(self.fault("list loops"))?;
        rows.iter().map(|row| self.entry(row)).collect()
    }

    fn entry(&self, row: &Row) -> Result<LoopEntry> {
        let id: String = self.column(row, "id")?;
        let status: String = self.column(row, "status")?;
        let iterations: i64 = self.column(row, "iterations")?;
        let pid: Option<i64> = self.column(row, "pid")?;
        Ok(LoopEntry {
            id: id.parse().map_err(|_| self.malformed("id", &id))?,
            workspace: self.column(row, "workspace")?,
            objective: self.column(row, "objective")?,
            agent: self.column(row, "agent")?,
            skill: self.column(row, "skill")?,
            status: status.parse().map_err(|_| self.malformed("status", &status))?,
            reason: self.column(row, "reason")?,
            iterations: u32::try_from(iterations).map_err(|_| self.malformed("iterations", iterations))?,
            cost: Money::from_micros(self.column(row, "cost_micros")?),
            verified: self.column(row, "verified")?,
            started_at: Timestamp(self.column(row, "started_at")?),
            updated_at: Timestamp(self.column(row, "updated_at")?),
            finished_at: self.column::<Option<i64>>(row, "finished_at")?.map(Timestamp),
            pid: pid.map(|pid| u32::try_from(pid).map_err(|_| self.malformed("pid", pid))).transpose()?,
            head: self.head_of(row)?,
            details: self.column(row, "summary")?,
        })
    }
}

pub(crate) async fn insert(connection: &mut Connection, new: &NewLoop, head: Head) -> sqlx::Result<()> {
    let row = "INSERT INTO loops (id, workspace, objective, agent, skill, status, started_at, updated_at, pid, head_seq, head_hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, 0, $9)";
    sqlx::query(row)
        .bind(new.id.to_string())
        .bind(new.workspace.as_str())
        .bind(new.objective.as_str())
        .bind(new.agent.as_str())
        .bind(new.skill.as_deref())
        .bind(LoopStatus::Running.name())
        .bind(new.at.0)
        .bind(new.pid.map(i64::from))
        .bind(head.hash.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn update(connection: &mut Connection, loop_id: LoopId, summary: &LoopSummary) -> sqlx::Result<()> {
    let row = "UPDATE loops SET status = $2, reason = $3, iterations = $4, cost_micros = $5, verified = $6, \
         finished_at = $7, summary = COALESCE($8, summary), pid = CASE WHEN $2 = 'RUNNING' THEN pid END WHERE id = $1";
    sqlx::query(row)
        .bind(loop_id.to_string())
        .bind(summary.status.name())
        .bind(summary.reason.as_deref())
        .bind(i64::from(summary.iterations))
        .bind(summary.cost.micros())
        .bind(summary.verified)
        .bind(summary.finished_at.map(|at| at.0))
        .bind(summary.details.as_deref())
        .execute(connection)
        .await?;
    Ok(())
}

#[cfg(test)]
#[path = "loops_tests.rs"]
mod tests;
