//! Attempts of agents: a row for each that starts, recorded before it does.

use ralph_model::{Attempt, Money, RunId, Timestamp};

use super::session::{Session, values};
use crate::attempt::{AttemptEntry, Metering, NewAttempt};
use crate::error::{Error, Result};
use crate::run::Machine;
use crate::store::MAX_AMOUNT;

pub(super) async fn insert(session: &mut Session<'_>, run: RunId, new: &NewAttempt) -> Result<()> {
    let row = "INSERT INTO attempts (loop, attempt, at, host, boot, metering) VALUES ($1, $2, $3, $4, $5, $6)";
    let NewAttempt { attempt, at, machine: Machine { host, boot }, metering } = new;
    session.later(row, values![run, *attempt, *at, host.as_str(), boot.as_str(), metering.name()]).await
}

pub(super) async fn note_began(
    session: &mut Session<'_>,
    run: RunId,
    attempt: Attempt,
    at: Option<Timestamp>,
) -> Result<()> {
    let row = "UPDATE attempts SET began_at = $3 WHERE loop = $1 AND attempt = $2";
    let changed = session.execute(row, values![run, attempt, at]).await?;
    known(run, attempt, changed)
}

pub(super) async fn note_cost(
    session: &mut Session<'_>,
    run: RunId,
    attempt: Attempt,
    cost: Option<Money>,
) -> Result<()> {
    let row = "UPDATE attempts SET cost_micros = $3 WHERE loop = $1 AND attempt = $2";
    let micros = cost.map(|cost| cost.min(MAX_AMOUNT).micros());
    let changed = session.execute(row, values![run, attempt, micros]).await?;
    known(run, attempt, changed)
}

const fn known(run: RunId, attempt: Attempt, changed: u64) -> Result<()> {
    match changed {
        0 => Err(Error::UnknownAttempt { run, attempt }),
        _ => Ok(()),
    }
}

pub(super) async fn list(session: &mut Session<'_>, run: RunId) -> Result<Vec<AttemptEntry>> {
    let all = "SELECT attempt, at, host, boot, metering, began_at, cost_micros FROM attempts WHERE loop = $1 \
         ORDER BY attempt";
    let rows = session.rows(all, values![run]).await?;
    rows.iter()
        .map(|row| {
            Ok(AttemptEntry {
                attempt: Attempt(row.small("attempt")?),
                at: row.get("at").map(Timestamp)?,
                machine: Machine { host: row.get("host")?, boot: row.get("boot")? },
                metering: row.parsed("metering", |name: &String| Metering::parse(name))?,
                began_at: row.get::<Option<i64>>("began_at")?.map(Timestamp),
                cost: row.get::<Option<i64>>("cost_micros")?.map(Money::from_micros),
            })
        })
        .collect()
}
