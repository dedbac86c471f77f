//! What users tell a run. The run takes it into its journal before its next iteration.

use ralph_model::{RunId, Timestamp};

use super::runs;
use super::session::{Row, Session, values};
use crate::error::Result;
use crate::run::Hint;

pub(super) async fn insert(session: &mut Session<'_>, run: RunId, text: &str, at: Timestamp) -> Result<()> {
    // A run that does not exist is named as such.
    runs::noted_head(session, run).await?;
    session.lock(&format!("ralph hints {run}")).await?;
    let row = "INSERT INTO hints (loop, number, at, text) \
         SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3 FROM hints WHERE loop = $1";
    session.execute(row, values![run, at, text]).await.map(drop)
}

pub(super) async fn after(session: &mut Session<'_>, run: RunId, number: u32) -> Result<Vec<Hint>> {
    let rows = "SELECT number, at, text FROM hints WHERE loop = $1 AND number > $2 ORDER BY number";
    let rows = session.rows(rows, values![run, i64::from(number)]).await?;
    let hint = |row: &Row<'_>| {
        Ok(Hint { number: row.small("number")?, at: row.get("at").map(Timestamp)?, text: row.get("text")? })
    };
    rows.iter().map(hint).collect()
}
