//! Requests to end a run, from any process. Ends nothing.

use ralph_model::{RunId, Timestamp};

use super::runs;
use super::session::{Session, values};
use crate::changes::Change;
use crate::error::Result;
use crate::run::StopMode;

pub(super) async fn request(session: &mut Session<'_>, run: RunId, mode: StopMode, at: Timestamp) -> Result<()> {
    // A run that does not exist is named as such.
    runs::noted_head(session, run).await?;
    let row = "INSERT INTO stops (loop, how, at) VALUES ($1, $2, $3) \
         ON CONFLICT (loop) DO UPDATE SET how = $2, at = $3 WHERE stops.how <> 'now'";
    session.execute(row, values![run, mode.name(), at]).await?;
    session.announce(Change::Stop { run }).await
}

pub(super) async fn requested(session: &mut Session<'_>, run: RunId) -> Result<Option<StopMode>> {
    let row = session.row("SELECT how FROM stops WHERE loop = $1", values![run]).await?;
    row.map(|row| row.parsed("how", |mode: &String| StopMode::parse(mode))).transpose()
}

pub(super) async fn clear(session: &mut Session<'_>, run: RunId) -> Result<()> {
    session.later("DELETE FROM stops WHERE loop = $1", values![run]).await
}
