//! How soon a pipe is read again. Reads nothing itself.
//!
//! Waking up for each line costs more than the line. So a program that prints often is left alone for a moment after each read, too
//! short to be noticed and for the pipe to fill. A program that prints now and then is read at once.

use std::time::Duration;

use tokio::time::Instant;

/// A program that prints again within this time prints often.
const OFTEN: Duration = Duration::from_millis(8);
/// How long a pipe is left alone, at least and at most.
const LEAST: Duration = Duration::from_millis(1);
const MAX: Duration = Duration::from_millis(10);
/// How many times as long as the gap between two prints the first rest is.
const GAPS: u32 = 4;
/// For how long rests are the shortest after a pipe was found full.
const FLOOD: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Pace {
    capacity: usize,
    last: Instant,
    /// The read before found the pipe half full at least.
    was_half: bool,
    rest: Option<Duration>,
    /// Until when rests are the shortest.
    flood: Instant,
}

/// When a pipe is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    AtOnce,
    At(Instant),
}

impl Pace {
    /// The pace for a pipe that holds so many bytes.
    pub(crate) fn new(capacity: usize, now: Instant) -> Self {
        Self { capacity, last: now, was_half: false, rest: None, flood: now }
    }

    /// So many bytes were read.
    pub(crate) fn read(&mut self, bytes: usize, now: Instant) -> Next {
        let gap = now.duration_since(std::mem::replace(&mut self.last, now));
        let is_half = bytes >= self.capacity / 2;
        let is_full = is_half && std::mem::replace(&mut self.was_half, is_half) && gap < LEAST;
        if is_full {
            self.flood = now + FLOOD;
        }
        self.rest = match self.rest {
            // There may be more of it.
            _ if is_half => None,
            _ if now < self.flood => Some(LEAST),
            // As long as it takes the program to fill about a quarter of the pipe.
            Some(rest) if bytes >= self.capacity / 8 * 3 => Some((rest / 2).max(LEAST)),
            Some(rest) if bytes < self.capacity / 16 * 3 => Some((rest * 2).min(MAX)),
            Some(rest) => Some(rest),
            None => (gap < OFTEN).then(|| (gap * GAPS).clamp(LEAST, MAX)),
        };
        self.rest.map_or(Next::AtOnce, |rest| Next::At(now + rest))
    }

    pub(crate) fn read_nothing(&mut self) -> Next {
        self.rest = None;
        Next::AtOnce
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
