//! Reservations against the day's budget and against pools: values only.

use ralph_model::{Attempt, Money};
use serde::{Deserialize, Serialize};

/// A budget that several runs share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    pub id: String,
    pub cap: Money,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// The day in UTC, as `2026-11-15`.
    pub day: String,
    pub attempt: Attempt,
    pub want: Money,
    /// What all runs of the day may spend together.
    pub day_cap: Money,
    pub pool: Option<Pool>,
}

/// The money of one day, or of one pool, over all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayTotals {
    pub settled: Money,
    pub reserved: Money,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// What is held for the attempt, possibly nothing.
    pub granted: Money,
    pub day: DayTotals,
    /// The pool with this reservation in it, where there is one.
    pub pool: DayTotals,
}

/// Money that is held for an attempt that was never settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenReservation {
    pub day: String,
    pub attempt: Attempt,
    pub amount: Money,
}
