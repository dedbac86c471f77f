//! Questions that wait for a person. Nothing expires by itself: reading one with a time does it.

use ralph_model::Timestamp;

use crate::board::{Approval, ApprovalStatus};
use crate::changes::Change;
use crate::error::{Error, Result};
use crate::sql::schema::Dialect;
use crate::sql::session::{Row, Session, values};

const ALL: &str = "SELECT id, run, task, action, why, status, comment, created_at, answered_at, expires_at FROM approvals \
     ORDER BY created_at DESC, id DESC LIMIT $1";
const PENDING: &str = "SELECT id, run, task, action, why, status, comment, created_at, answered_at, expires_at FROM approvals \
     WHERE status = 'pending' AND (expires_at IS NULL OR expires_at > $2) ORDER BY created_at DESC, id DESC LIMIT $1";
const ONE: &str = "SELECT id, run, task, action, why, status, comment, created_at, answered_at, expires_at FROM approvals \
     WHERE id = $1";
const ONE_LOCKED: &str = "SELECT id, run, task, action, why, status, comment, created_at, answered_at, expires_at FROM approvals \
     WHERE id = $1 FOR NO KEY UPDATE";

const MAX_QUESTIONS: u64 = 200;

pub(super) async fn ask(session: &mut Session<'_>, approval: &Approval) -> Result<Approval> {
    let insert = "INSERT INTO approvals (id, run, task, action, why, status, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7) ON CONFLICT (id) DO NOTHING";
    let values = values![
        approval.id.as_str(),
        approval.run_id,
        approval.task_id,
        approval.action.as_str(),
        approval.why.as_str(),
        approval.created_at,
        approval.expires_at,
    ];
    if session.execute(insert, values).await? > 0 {
        if let Some(task) = approval.task_id {
            let asked = session.row("SELECT COUNT(*) AS asked FROM approvals WHERE task = $1", values![task]).await?;
            if asked.map(|row| row.count("asked")).transpose()?.is_some_and(|asked| asked > MAX_QUESTIONS) {
                let detail = format!("asked {MAX_QUESTIONS} questions already, which is the most");
                return Err(Error::TaskConflict { task, detail });
            }
        }
        session.announce(Change::Approvals).await?;
    }
    let known = get(session, &approval.id, approval.created_at).await?;
    let question = |one: &Approval| (one.run_id, one.task_id, one.action.clone(), one.why.clone());
    if question(&known) != question(approval) {
        // An answer counts for the question that the person read.
        let detail = "asks another question".to_owned();
        return Err(Error::EntryConflict { what: "approval", id: approval.id.clone(), detail });
    }
    Ok(known)
}

pub(super) async fn answer(
    session: &mut Session<'_>,
    id: &str,
    answer: ApprovalStatus,
    comment: Option<&str>,
    at: Timestamp,
) -> Result<Approval> {
    let one = match session.dialect() {
        Dialect::Sqlite => ONE,
        Dialect::Postgres => ONE_LOCKED,
    };
    let row = session.row(one, values![id]).await?.ok_or_else(|| unknown(id))?;
    let refused =
        |detail: &str| Error::EntryConflict { what: "approval", id: id.to_owned(), detail: detail.to_owned() };
    match approval(&row, at)?.status {
        ApprovalStatus::Pending => {}
        ApprovalStatus::Approved => return Err(refused("was approved already")),
        ApprovalStatus::Refused => return Err(refused("was refused already")),
        ApprovalStatus::Expired => return Err(refused("expired before it was answered")),
    }
    if !matches!(answer, ApprovalStatus::Approved | ApprovalStatus::Refused) {
        return Err(refused("can only be approved or refused"));
    }
    let update = "UPDATE approvals SET status = $2, comment = $3, answered_at = $4 WHERE id = $1";
    session.execute(update, values![id, answer.name(), comment, at]).await?;
    session.announce(Change::Approvals).await?;
    get(session, id, at).await
}

pub(super) async fn get(session: &mut Session<'_>, id: &str, at: Timestamp) -> Result<Approval> {
    let row = session.row(ONE, values![id]).await?;
    approval(&row.ok_or_else(|| unknown(id))?, at)
}

pub(super) async fn list(
    session: &mut Session<'_>,
    only_pending: bool,
    limit: u32,
    at: Timestamp,
) -> Result<Vec<Approval>> {
    let rows = match only_pending {
        true => session.rows(PENDING, values![limit, at]).await?,
        false => session.rows(ALL, values![limit]).await?,
    };
    rows.iter().map(|row| approval(row, at)).collect()
}

fn unknown(id: &str) -> Error {
    Error::UnknownEntry { what: "approval", id: id.to_owned() }
}

fn approval(row: &Row<'_>, at: Timestamp) -> Result<Approval> {
    let expires_at = row.time_or_null("expires_at")?;
    let status = match row.parsed("status", |name: &String| ApprovalStatus::parse(name))? {
        ApprovalStatus::Pending if expires_at.is_some_and(|expires_at| expires_at <= at) => ApprovalStatus::Expired,
        status => status,
    };
    Ok(Approval {
        id: row.get("id")?,
        run_id: row.parsed_or_null("run", |id| id.parse().ok())?,
        task_id: row.parsed_or_null("task", |id| id.parse().ok())?,
        action: row.get("action")?,
        why: row.get("why")?,
        status,
        comment: row.get("comment")?,
        created_at: row.get("created_at").map(Timestamp)?,
        answered_at: row.time_or_null("answered_at")?,
        expires_at,
    })
}
