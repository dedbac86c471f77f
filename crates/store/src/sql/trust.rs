//! Content of repositories that the user approved, by its hash and path. Approves nothing by itself.

use ralph_model::Timestamp;

use super::session::{Session, values};
use crate::error::Result;
use crate::store::Trusted;

pub(super) async fn insert(session: &mut Session<'_>, hash: &str, path: &str, at: Timestamp) -> Result<()> {
    let row = "INSERT INTO trusted (hash, path, at) VALUES ($1, $2, $3) ON CONFLICT (hash, path) DO NOTHING";
    session.execute(row, values![hash, path, at]).await.map(drop)
}

pub(super) async fn contains(session: &mut Session<'_>, hash: &str, path: &str) -> Result<bool> {
    let row = session.row("SELECT at FROM trusted WHERE hash = $1 AND path = $2", values![hash, path]).await?;
    Ok(row.is_some())
}

pub(super) async fn list(session: &mut Session<'_>) -> Result<Vec<Trusted>> {
    let rows = session.rows("SELECT hash, path, at FROM trusted ORDER BY at DESC, path, hash", values![]).await?;
    rows.iter()
        .map(|row| Ok(Trusted { hash: row.get("hash")?, path: row.get("path")?, at: row.get("at").map(Timestamp)? }))
        .collect()
}

pub(super) async fn revoke(session: &mut Session<'_>, hash: &str) -> Result<u64> {
    session.execute("DELETE FROM trusted WHERE hash = $1", values![hash]).await
}
