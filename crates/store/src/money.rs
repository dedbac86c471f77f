//! Reservations against the day's budget and against pools: values only.

use ralph_model::{Attempt, Money};
use serde::{Deserialize, Serialize};

/// A budget that several runs share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// The name that they have in common.
    pub id: String,
    /// What they may spend together.
    pub cap: Money,
}

/// What an attempt wants to reserve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// The day in UTC, as `2026-11-15`.
    pub day: String,
    /// The attempt that will spend it.
    pub attempt: Attempt,
    /// How much it wants.
    pub want: Money,
    /// What all runs of the day may spend together.
    pub day_cap: Money,
    /// A budget that is shared with other runs.
    pub pool: Option<Pool>,
}

/// The money of one day, or of one pool, over all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayTotals {
    /// Spent by attempts that ended.
    pub settled: Money,
    /// Held for attempts that run.
    pub reserved: Money,
}

/// What was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// What is held for the attempt, possibly nothing.
    pub granted: Money,
    /// The day with this reservation in it.
    pub day: DayTotals,
    /// The pool with this reservation in it, where there is one.
    pub pool: DayTotals,
}

/// Money that is held for an attempt that was never settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenReservation {
    /// The day whose budget it counts against.
    pub day: String,
    /// Which attempt.
    pub attempt: Attempt,
    /// How much.
    pub amount: Money,
}
