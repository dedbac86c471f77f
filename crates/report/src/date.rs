//! Days in UTC, as whole numbers and as text.

use jiff::civil::Date;
use ralph_model::Timestamp;

use crate::error::{Error, Result};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A day in UTC, counted from 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DayNumber(pub(crate) i64);

impl DayNumber {
    /// The day in which a moment lies.
    pub(crate) const fn of(at: Timestamp) -> Self {
        Self(at.0.div_euclid(MILLIS_PER_DAY))
    }

    pub(crate) const fn start(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(MILLIS_PER_DAY))
    }

    pub(crate) fn iso(self) -> String {
        self.start().utc_date()
    }

    /// The day in words of `strftime`.
    pub(crate) fn show(self, format: &str) -> String {
        // The same stand-in for a date beyond the calendar as in `Timestamp`.
        let moment = jiff::Timestamp::from_millisecond(self.start().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        moment.to_zoned(jiff::tz::TimeZone::UTC).strftime(format).to_string()
    }
}

/// The first moment of a day in UTC that is written as `2026-11-15`.
///
/// # Errors
/// [`Error::Date`] for any other text.
pub fn day_start(date: &str) -> Result<Timestamp> {
    let wrong = || Error::Date(date.to_owned());
    let day: Date = date.parse().map_err(|_| wrong())?;
    // The parser takes more forms than the one that is asked for, and the text becomes part of a file's name.
    if day.to_string() != date {
        return Err(wrong());
    }
    let moment = day.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| wrong())?;
    Ok(Timestamp(moment.timestamp().as_millisecond()))
}

#[cfg(test)]
#[path = "date_tests.rs"]
mod tests;
