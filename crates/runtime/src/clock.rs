//! The one place of this crate that looks at a clock.

use std::time::{SystemTime, UNIX_EPOCH};

use ralph_model::Timestamp;

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
