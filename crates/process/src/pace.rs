//! How soon a pipe is read again. Reads nothing itself.
//!
//! A program that prints now and then is read at once. One that prints quickly is left alone for a moment after each read, too
//! short for anybody to notice: a switch of processes for each line costs more than the line. One that would fill its pipe in such
//! a moment is not left alone, because it would have to wait.

use std::time::Duration;

use tokio::time::Instant;

/// How long a pipe is left alone.
const REST: Duration = Duration::from_millis(3);
/// Whoever prints again within this time prints quickly.
const QUICK: Duration = Duration::from_millis(1);
/// For how long there is no rest after a pipe was found full.
const FLOOD: Duration = Duration::from_millis(100);

/// The pace at which a pipe is read.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Half of what the pipe holds.
    half: usize,
    /// When something was read last, and how much.
    last: (Instant, usize),
    next: Next,
    /// Until when there is no rest.
    flood: Instant,
}

/// When a pipe is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// As soon as it has something.
    AtOnce,
    /// At this moment.
    At(Instant),
}

impl Pace {
    /// The pace for a pipe that holds so many bytes.
    pub(crate) fn new(capacity: usize, now: Instant) -> Self {
        Self { half: capacity / 2, last: (now, 0), next: Next::AtOnce, flood: now }
    }

    /// So many bytes were read.
    pub(crate) fn read(&mut self, bytes: usize, now: Instant) -> Next {
        let (before, earlier) = std::mem::replace(&mut self.last, (now, bytes));
        // What came within a rest came quickly.
        let is_quick = self.next != Next::AtOnce || now.duration_since(before) < QUICK;
        let (is_half, was_half) = (bytes >= self.half, earlier >= self.half);
        if is_quick && is_half && was_half {
            self.flood = now + FLOOD;
        }
        let rests = is_quick && !is_half && now >= self.flood;
        self.next = if rests { Next::At(now + REST) } else { Next::AtOnce };
        self.next
    }

    /// There was nothing to read.
    pub(crate) fn read_nothing(&mut self) -> Next {
        self.next = Next::AtOnce;
        self.next
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
