//! Whether a tree still does anything. Looks at no output itself: it is told.
//!
//! The first look after an output only notes how much processor time was used; a later one that finds the same amount
//! knows that nothing happened in between. Looks come four times per limit, so that a tree is called idle between one
//! and one and a quarter times the limit after its last sign of life, never earlier, and one that prints costs no looks.

use std::time::Duration;

use tokio::time::Instant;

/// Watches for the absence of output and of work.
#[derive(Debug)]
pub(crate) struct Idle {
    limit: Duration,
    since: Instant,
    ticks: Option<u64>,
    look_at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Life,
    Idle,
}

impl Idle {
    pub(crate) fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, since: now, ticks: None, look_at: now + step(limit) }
    }

    pub(crate) fn look_at(&self) -> Instant {
        self.look_at
    }

    pub(crate) fn printed(&mut self) {
        self.ticks = None;
    }

    /// Looks: `ticks` is the processor time used so far, none if it cannot be known.
    pub(crate) fn look(&mut self, now: Instant, ticks: Option<u64>) -> Found {
        if ticks.is_none() || self.ticks != ticks {
            self.since = now;
            self.ticks = ticks;
        } else if now.duration_since(self.since) >= self.limit {
            return Found::Idle;
        }
        self.look_at = now + step(self.limit);
        Found::Life
    }
}

fn step(limit: Duration) -> Duration {
    (limit / 4).max(Duration::from_millis(1))
}

#[cfg(test)]
#[path = "idle_tests.rs"]
mod tests;
