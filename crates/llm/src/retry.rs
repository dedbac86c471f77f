//! How often and how long a refused request is tried again.

use std::time::Duration;

use ralph_model::{Millis, Remedy, Timestamp, Trouble};

/// How often a request is sent at most.
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// A service that asks for a longer wait is an error: a program that waits longer seems to hang.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The wait before the next try after `tries` ones; none when there is no use in one.
pub(crate) fn wait(trouble: &Trouble, tries: u32, now: Timestamp, jitter: f64) -> Option<Duration> {
    if tries >= TRIES || trouble.kind.remedy() != Remedy::Wait {
        return None;
    }
    if let Some(until) = trouble.until {
        let Millis(millis) = until.since(now);
        let wait = Duration::from_millis(millis);
        return (wait <= LONGEST_WAIT).then_some(wait);
    }
    let doubled = FIRST_WAIT.saturating_mul(1 << tries.saturating_sub(1).min(16));
    // Apart from each other, so that many who were refused at once do not come back at once.
    Some(doubled.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 2.0).min(LONGEST_WAIT))
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
