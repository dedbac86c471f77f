//! The day's money over all runs and processes. Grants what is left and never more; knows no cap by itself.

use ralph_model::{Attempt, Money, RunId};

use super::session::{Session, values};
use crate::error::{Error, Result};
use crate::money::{DayTotals, OpenReservation, Pool, Reservation, Reserve};
use crate::run::Settlement;
use crate::store::MAX_AMOUNT;

pub(super) async fn reserve(session: &mut Session<'_>, run: RunId, reserve: &Reserve) -> Result<Reservation> {
    let Reserve { day, attempt, want, day_cap, pool } = reserve;
    let (attempt, pool) = (*attempt, pool.as_ref());
    // Always in this order, after the run: no two transactions can wait for each other.
    session.lock(&format!("ralph day {day}")).await?;
    if let Some(pool) = pool {
        session.lock(&format!("ralph pool {}", pool.id)).await?;
    }
    let mut granted = (*want).min(left(session, day, run, attempt, *day_cap).await?);
    if let Some(pool) = pool {
        // An older reservation of the same attempt is replaced, so it does not count against this one.
        hold(session, day, run, attempt, Money::ZERO, Some(pool)).await?;
        let held = pool_totals(session, &pool.id).await?;
        granted = granted.min(pool.cap.less(held.settled + held.reserved));
    }
    hold(session, day, run, attempt, granted, pool).await?;
    let day = day_totals(session, day).await?;
    let pool = match pool {
        Some(pool) => pool_totals(session, &pool.id).await?,
        None => DayTotals::default(),
    };
    Ok(Reservation { granted, day, pool })
}

pub(super) async fn settle(session: &mut Session<'_>, run: RunId, settlement: Settlement) -> Result<()> {
    let Settlement { attempt, amount } = settlement;
    let row = "UPDATE budget SET settled = $3 WHERE loop = $1 AND attempt = $2";
    match session.execute(row, values![run, attempt, amount.min(MAX_AMOUNT)]).await? {
        0 => Err(Error::NoReservation { run, attempt }),
        _ => Ok(()),
    }
}

pub(super) async fn release(session: &mut Session<'_>, run: RunId, attempt: Attempt) -> Result<()> {
    let row = "UPDATE budget SET settled = 0 WHERE loop = $1 AND attempt = $2 AND settled IS NULL";
    session.execute(row, values![run, attempt]).await.map(drop)
}

/// Gives back everything that a run reserved and never settled.
pub(super) async fn release_open(session: &mut Session<'_>, run: RunId) -> Result<()> {
    session.execute("UPDATE budget SET settled = 0 WHERE loop = $1 AND settled IS NULL", values![run]).await.map(drop)
}

pub(super) async fn open_reservations(session: &mut Session<'_>, run: RunId) -> Result<Vec<OpenReservation>> {
    let open = "SELECT day, attempt, reserved FROM budget WHERE loop = $1 AND settled IS NULL ORDER BY attempt";
    let rows = session.rows(open, values![run]).await?;
    rows.iter()
        .map(|row| {
            let attempt = Attempt(row.small("attempt")?);
            Ok(OpenReservation { day: row.get("day")?, attempt, amount: row.money("reserved")? })
        })
        .collect()
}

pub(super) async fn settlements(session: &mut Session<'_>, run: RunId) -> Result<Vec<Settlement>> {
    let ended = "SELECT attempt, settled FROM budget WHERE loop = $1 AND settled IS NOT NULL ORDER BY attempt";
    let rows = session.rows(ended, values![run]).await?;
    rows.iter()
        .map(|row| Ok(Settlement { attempt: Attempt(row.small("attempt")?), amount: row.money("settled")? }))
        .collect()
}

pub(super) async fn day_totals(session: &mut Session<'_>, day: &str) -> Result<DayTotals> {
    let sums = "SELECT CAST(COALESCE(SUM(settled), 0) AS BIGINT) AS settled, \
        CAST(COALESCE(SUM(CASE WHEN settled IS NULL THEN reserved ELSE 0 END), 0) AS BIGINT) AS reserved \
        FROM budget WHERE day = $1";
    totals(session, sums, day).await
}

pub(super) async fn pool_totals(session: &mut Session<'_>, pool: &str) -> Result<DayTotals> {
    let sums = "SELECT CAST(COALESCE(SUM(settled), 0) AS BIGINT) AS settled, \
        CAST(COALESCE(SUM(CASE WHEN settled IS NULL THEN reserved ELSE 0 END), 0) AS BIGINT) AS reserved \
        FROM budget WHERE pool = $1";
    totals(session, sums, pool).await
}

async fn totals(session: &mut Session<'_>, sums: &'static str, key: &str) -> Result<DayTotals> {
    match session.row(sums, values![key]).await? {
        Some(row) => Ok(DayTotals { settled: row.money("settled")?, reserved: row.money("reserved")? }),
        None => Ok(DayTotals::default()),
    }
}

/// What the day still has for this attempt, its own older reservation given back.
async fn left(session: &mut Session<'_>, day: &str, run: RunId, attempt: Attempt, day_cap: Money) -> Result<Money> {
    let own = "SELECT day, reserved, settled FROM budget WHERE loop = $1 AND attempt = $2";
    let older = match session.row(own, values![run, attempt]).await? {
        None => Money::ZERO,
        Some(row) if row.get::<Option<i64>>("settled")?.is_some() => {
            return Err(Error::AlreadySettled { run, attempt });
        }
        Some(row) if row.get::<String>("day")? == day => row.money("reserved")?,
        Some(_) => Money::ZERO,
    };
    let day = day_totals(session, day).await?;
    Ok(day_cap.less((day.settled + day.reserved).less(older)))
}

async fn hold(
    session: &mut Session<'_>,
    day: &str,
    run: RunId,
    attempt: Attempt,
    amount: Money,
    pool: Option<&Pool>,
) -> Result<()> {
    let row = "INSERT INTO budget (day, loop, attempt, reserved, pool) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (loop, attempt) DO UPDATE SET day = $1, reserved = $4, pool = $5";
    let pool = pool.map(|pool| pool.id.as_str());
    session.execute(row, values![day, run, attempt, amount.min(MAX_AMOUNT), pool]).await.map(drop)
}
