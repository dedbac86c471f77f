//! Who may call: hashes of secrets and what they allow. No secret is stored.

use ralph_model::Timestamp;

use super::leases;
use crate::board::{Role, TaskLease, Token};
use crate::error::{Error, Result};
use crate::run::Epoch;
use crate::sql::session::{Row, Session, values};

pub(super) async fn add(session: &mut Session<'_>, token: &Token, hash: &str) -> Result<()> {
    let (role, task, epoch) = match token.role {
        Role::Admin => ("admin", None, None),
        Role::Agent => ("agent", None, None),
        Role::Task { task_id, epoch } => ("task", Some(task_id), Some(i64::try_from(epoch).unwrap_or(i64::MAX))),
    };
    if let Role::Task { task_id, epoch } = token.role {
        leases::ensure_held(session, TaskLease { task: task_id, epoch: Epoch(epoch) }).await?;
    }
    let row = "INSERT INTO tokens (hash, name, role, task, epoch, created_at) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT DO NOTHING";
    match session.execute(row, values![hash, token.name.as_str(), role, task, epoch, token.created_at]).await? {
        0 => {
            let detail = "exists already; revoke it or choose another name".to_owned();
            Err(Error::EntryConflict { what: "token", id: token.name.clone(), detail })
        }
        _ => Ok(()),
    }
}

pub(super) async fn get(session: &mut Session<'_>, hash: &str) -> Result<Option<Token>> {
    let one = "SELECT name, role, task, epoch, created_at FROM tokens WHERE hash = $1";
    session.row(one, values![hash]).await?.as_ref().map(token).transpose()
}

pub(super) async fn list(session: &mut Session<'_>) -> Result<Vec<Token>> {
    let all = "SELECT name, role, task, epoch, created_at FROM tokens WHERE task IS NULL ORDER BY name";
    session.rows(all, values![]).await?.iter().map(token).collect()
}

pub(super) async fn revoke(session: &mut Session<'_>, name: &str) -> Result<bool> {
    Ok(session.execute("DELETE FROM tokens WHERE name = $1", values![name]).await? > 0)
}

fn token(row: &Row<'_>) -> Result<Token> {
    let role = match row.get::<String>("role")?.as_str() {
        "admin" => Some(Role::Admin),
        "agent" => Some(Role::Agent),
        "task" => {
            Some(Role::Task { task_id: row.parsed("task", |id: &String| id.parse().ok())?, epoch: row.count("epoch")? })
        }
        _ => None,
    };
    let role = row.parsed("role", |_: &String| role)?;
    Ok(Token { name: row.get("name")?, role, created_at: row.get("created_at").map(Timestamp)? })
}
