//! The day's money over all loops and processes. Grants what is left and never more; knows no cap by itself.

use ralph_model::{Attempt, LoopId, Money};
use sqlx::Row as _;

use crate::error::{Error, Result};
use crate::sqlite::Connection;
use crate::store::{Store, Writing};

/// The most that one attempt can weigh: with more, the sum of a day would not fit into the database's numbers, and one absurd
/// figure would keep every loop of that day from starting.
const MOST: Money = Money::dollars(1_000_000_000);

/// What an append does to the money of its loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoneyChange {
    /// Reserves the whole amount, or refuses the append with [`Error::OverBudget`].
    Reserve {
        /// The day in UTC, as `2026-11-15`.
        day: String,
        /// The attempt that will spend it.
        attempt: Attempt,
        /// How much.
        amount: Money,
        /// What all loops of the day may spend together.
        day_cap: Money,
    },
    /// Turns the reservation of an attempt into what it cost.
    Settle {
        /// The attempt that ended.
        attempt: Attempt,
        /// What it cost.
        amount: Money,
    },
}

/// The money of one day over all loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayTotals {
    /// Spent by attempts that ended.
    pub settled: Money,
    /// Held for attempts that run.
    pub reserved: Money,
}

/// The answer to a wish for money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// What was held for the attempt, possibly nothing.
    pub granted: Money,
    /// The day with this reservation in it.
    pub day: DayTotals,
}

/// Money that is held for an attempt that was never settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReservation {
    /// The day whose budget it counts against.
    pub day: String,
    /// Which attempt.
    pub attempt: Attempt,
    /// How much.
    pub amount: Money,
}

impl Store {
    /// Holds up to `want` for an attempt. Over all loops and processes, what is settled and reserved on `day` never
    /// passes `day_cap` by this call. An older reservation of the same attempt is replaced.
    ///
    /// # Errors
    /// [`Error::AlreadySettled`], [`Error::UnknownLoop`]; else what the database says. Too little money is no error.
    pub async fn reserve(
        &self,
        day: &str,
        loop_id: LoopId,
        attempt: Attempt,
        want: Money,
        day_cap: Money,
    ) -> Result<Reservation> {
        let mut writing = self.write("reserve money").await?;
        let left = left(&mut writing, day, loop_id, attempt, day_cap).await?;
        let granted = want.min(left);
        hold(&mut writing, day, loop_id, attempt, granted).await?;
        let day = totals(writing.on(), day).await.map_err(|error| writing.fault(error))?;
        writing.commit().await?;
        Ok(Reservation { granted, day })
    }

    /// Turns the reservation of an attempt into what it cost, more than was reserved where that is the truth. Settling
    /// again replaces the amount.
    ///
    /// # Errors
    /// [`Error::NoReservation`]; else what the database says.
    pub async fn settle(&self, loop_id: LoopId, attempt: Attempt, amount: Money) -> Result<()> {
        let mut writing = self.write("settle money").await?;
        settle(&mut writing, loop_id, attempt, amount).await?;
        writing.commit().await
    }

    /// Gives the reservation of an attempt back that cost nothing. Nothing happens to a settled one, or where there is
    /// none.
    ///
    /// # Errors
    /// What the database says.
    pub async fn release(&self, loop_id: LoopId, attempt: Attempt) -> Result<()> {
        let mut writing = self.write("release money").await?;
        sqlx::query("UPDATE budget SET settled = 0 WHERE loop = $1 AND attempt = $2 AND settled IS NULL")
            .bind(loop_id.to_string())
            .bind(i64::from(attempt.0))
            .execute(writing.on())
            .await
            .map_err(|error| writing.fault(error))?;
        writing.commit().await
    }

    /// What a loop holds and never settled: after a crash, the attempts whose cost is not known.
    ///
    /// # Errors
    /// What the database says.
    pub async fn open_reservations(&self, loop_id: LoopId) -> Result<Vec<OpenReservation>> {
        let rows = sqlx::query(
            "SELECT day, attempt, reserved FROM budget WHERE loop = $1 AND settled IS NULL ORDER BY attempt",
        )
        .bind(loop_id.to_string())
        .fetch_all(self.readers())
        .await
        .map_err(self.fault("read reservations"))?;
        rows.iter()
            .map(|row| {
                let attempt: i64 = self.column(row, "attempt")?;
                Ok(OpenReservation {
                    day: self.column(row, "day")?,
                    attempt: Attempt(u32::try_from(attempt).map_err(|_| self.malformed("attempt", attempt))?),
                    amount: Money::from_micros(self.column(row, "reserved")?),
                })
            })
            .collect()
    }

    /// The money of a day over all loops.
    ///
    /// # Errors
    /// What the database says.
    pub async fn day_totals(&self, day: &str) -> Result<DayTotals> {
        let doing = self.fault("read the day's budget");
        let mut reader = self.readers().acquire().await.map_err(&doing)?;
        totals(&mut reader, day).await.map_err(&doing)
    }
}

/// Applies a change inside an append.
pub(crate) async fn change(writing: &mut Writing<'_>, loop_id: LoopId, change: MoneyChange) -> Result<()> {
    match change {
        MoneyChange::Settle { attempt, amount } => settle(writing, loop_id, attempt, amount).await,
        MoneyChange::Reserve { day, attempt, amount, day_cap } => {
            let left = left(writing, &day, loop_id, attempt, day_cap).await?;
            if amount > left {
                return Err(Error::OverBudget { wanted: amount, left, cap: day_cap });
            }
            hold(writing, &day, loop_id, attempt, amount).await
        }
    }
}

/// What the day still has for this attempt, its own older reservation given back.
async fn left(
    writing: &mut Writing<'_>,
    day: &str,
    loop_id: LoopId,
    attempt: Attempt,
    day_cap: Money,
) -> Result<Money> {
    let own = sqlx::query("SELECT day, reserved, settled FROM budget WHERE loop = $1 AND attempt = $2")
        .bind(loop_id.to_string())
        .bind(i64::from(attempt.0))
        .fetch_optional(writing.on())
        .await
        .and_then(|row| {
            row.map(|row| Ok::<(String, i64, Option<i64>), _>((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
                .transpose()
        })
        .map_err(|error| writing.fault(error))?;
    let older = match own {
        Some((_, _, Some(_))) => return Err(Error::AlreadySettled { loop_id, attempt }),
        Some((held, reserved, None)) if held == day => Money::from_micros(reserved),
        Some((_, _, None)) | None => Money::ZERO,
    };
    let day = totals(writing.on(), day).await.map_err(|error| writing.fault(error))?;
    Ok(day_cap.less((day.settled + day.reserved).less(older)))
}

async fn hold(writing: &mut Writing<'_>, day: &str, loop_id: LoopId, attempt: Attempt, amount: Money) -> Result<()> {
    let row = "INSERT INTO budget (day, loop, attempt, reserved) VALUES ($1, $2, $3, $4)
         ON CONFLICT (loop, attempt) DO UPDATE SET day = $1, reserved = $4";
    let held = sqlx::query(row)
        .bind(day)
        .bind(loop_id.to_string())
        .bind(i64::from(attempt.0))
        .bind(amount.min(MOST).micros())
        .execute(writing.on())
        .await;
    match held {
        Ok(_) => Ok(()),
        Err(error) => Err(writing.foreign_key(error, loop_id)),
    }
}

async fn settle(writing: &mut Writing<'_>, loop_id: LoopId, attempt: Attempt, amount: Money) -> Result<()> {
    let settled = sqlx::query("UPDATE budget SET settled = $3 WHERE loop = $1 AND attempt = $2")
        .bind(loop_id.to_string())
        .bind(i64::from(attempt.0))
        .bind(amount.min(MOST).micros())
        .execute(writing.on())
        .await
        .map_err(|error| writing.fault(error))?;
    if settled.rows_affected() == 0 {
        return Err(Error::NoReservation { loop_id, attempt });
    }
    Ok(())
}

async fn totals(connection: &mut Connection, day: &str) -> sqlx::Result<DayTotals> {
    let sums = "SELECT CAST(COALESCE(SUM(settled), 0) AS BIGINT), \
         CAST(COALESCE(SUM(CASE WHEN settled IS NULL THEN reserved ELSE 0 END), 0) AS BIGINT) FROM budget WHERE day = $1";
    let row = sqlx::query(sums).bind(day).fetch_one(connection).await?;
    Ok(DayTotals { settled: Money::from_micros(row.try_get(0)?), reserved: Money::from_micros(row.try_get(1)?) })
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
