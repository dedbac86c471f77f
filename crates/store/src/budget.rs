//! The day's money over all loops and processes. Grants what is left and never more; knows no cap by itself.

use ralph_model::{Attempt, LoopId, Money};
use sqlx::Row as _;

use crate::error::{Error, Result};
use crate::sqlite::Connection;
use crate::store::{Store, Writing};

/// The most that one attempt can weigh: with more, the sum of a day would not fit into the database's numbers, and one absurd
/// figure would keep every loop of that day from starting.
const MAX: Money = Money::dollars(1_000_000_000);

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

/// A budget that several loops share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// What they have in common.
    pub id: String,
    /// What they may spend together.
    pub cap: Money,
}

/// The money of one day, or of one pool, over all loops.
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
    /// The pool with this reservation in it, where there is one.
    pub pool: DayTotals,
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

/// What an attempt cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settlement {
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
        self.reserve_from(day, loop_id, attempt, want, day_cap, None).await
    }

    /// As [`Store::reserve`], and over all loops of the pool never more than its cap either.
    ///
    /// # Errors
    /// As [`Store::reserve`].
    pub async fn reserve_from(
        &self,
        day: &str,
        loop_id: LoopId,
        attempt: Attempt,
        want: Money,
        day_cap: Money,
        pool: Option<&Pool>,
    ) -> Result<Reservation> {
        let mut writing = self.write("reserve money").await?;
        let mut granted = want.min(left(&mut writing, day, loop_id, attempt, day_cap).await?);
        if let Some(pool) = pool {
            // An older reservation of the same attempt is replaced, so it does not stand in its own way.
            hold(&mut writing, day, loop_id, attempt, Money::ZERO, Some(pool)).await?;
            let held = totals(writing.on(), Of::Pool(&pool.id)).await.map_err(|error| writing.fault(error))?;
            granted = granted.min(pool.cap.less(held.settled + held.reserved));
        }
        hold(&mut writing, day, loop_id, attempt, granted, pool).await?;
        let day = totals(writing.on(), Of::Day(day)).await.map_err(|error| writing.fault(error))?;
        let pool = match pool {
            Some(pool) => totals(writing.on(), Of::Pool(&pool.id)).await.map_err(|error| writing.fault(error))?,
            None => DayTotals::default(),
        };
        writing.commit().await?;
        Ok(Reservation { granted, day, pool })
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

    /// What a loop was charged for its attempts that ended, also those whose events were set aside.
    ///
    /// # Errors
    /// What the database says.
    pub async fn settlements(&self, loop_id: LoopId) -> Result<Vec<Settlement>> {
        let rows =
            sqlx::query("SELECT attempt, settled FROM budget WHERE loop = $1 AND settled IS NOT NULL ORDER BY attempt")
                .bind(loop_id.to_string())
                .fetch_all(self.readers())
                .await
                .map_err(self.fault("read settlements"))?;
        rows.iter()
            .map(|row| {
                let attempt: i64 = self.column(row, "attempt")?;
                Ok(Settlement {
                    attempt: Attempt(u32::try_from(attempt).map_err(|_| self.malformed("attempt", attempt))?),
                    amount: Money::from_micros(self.column(row, "settled")?),
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
        totals(&mut reader, Of::Day(day)).await.map_err(&doing)
    }

    /// The money of a pool over all its loops.
    ///
    /// # Errors
    /// What the database says.
    pub async fn pool_totals(&self, pool: &str) -> Result<DayTotals> {
        let doing = self.fault("read a shared budget");
        let mut reader = self.readers().acquire().await.map_err(&doing)?;
        totals(&mut reader, Of::Pool(pool)).await.map_err(&doing)
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
            hold(writing, &day, loop_id, attempt, amount, None).await
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
    let day = totals(writing.on(), Of::Day(day)).await.map_err(|error| writing.fault(error))?;
    Ok(day_cap.less((day.settled + day.reserved).less(older)))
}

async fn hold(
    writing: &mut Writing<'_>,
    day: &str,
    loop_id: LoopId,
    attempt: Attempt,
    amount: Money,
    pool: Option<&Pool>,
) -> Result<()> {
    let row = "INSERT INTO budget (day, loop, attempt, reserved, pool) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (loop, attempt) DO UPDATE SET day = $1, reserved = $4, pool = $5";
    let held = sqlx::query(row)
        .bind(day)
        .bind(loop_id.to_string())
        .bind(i64::from(attempt.0))
        .bind(amount.min(MAX).micros())
        .bind(pool.map(|pool| pool.id.as_str()))
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
        .bind(amount.min(MAX).micros())
        .execute(writing.on())
        .await
        .map_err(|error| writing.fault(error))?;
    if settled.rows_affected() == 0 {
        return Err(Error::NoReservation { loop_id, attempt });
    }
    Ok(())
}

/// Whose money is summed.
enum Of<'a> {
    Day(&'a str),
    Pool(&'a str),
}

async fn totals(connection: &mut Connection, of: Of<'_>) -> sqlx::Result<DayTotals> {
    let (sums, key) = match of {
        Of::Day(day) => {
            let sums = "SELECT CAST(COALESCE(SUM(settled), 0) AS BIGINT), \
                CAST(COALESCE(SUM(CASE WHEN settled IS NULL THEN reserved ELSE 0 END), 0) AS BIGINT) \
                FROM budget WHERE day = $1";
            (sums, day)
        }
        Of::Pool(pool) => {
            let sums = "SELECT CAST(COALESCE(SUM(settled), 0) AS BIGINT), \
                CAST(COALESCE(SUM(CASE WHEN settled IS NULL THEN reserved ELSE 0 END), 0) AS BIGINT) \
                FROM budget WHERE pool = $1";
            (sums, pool)
        }
    };
    let row = sqlx::query(sums).bind(key).fetch_one(connection).await?;
    Ok(DayTotals { settled: Money::from_micros(row.try_get(0)?), reserved: Money::from_micros(row.try_get(1)?) })
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
