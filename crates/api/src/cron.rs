//! Cron expressions in time zones.

use croner::parser::{CronParser, Seconds};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Moment, Zoned};
use ralph_model::Timestamp;

use crate::Problem;

/// A cron expression that is read in a time zone.
#[derive(Debug)]
pub struct Cron {
    pattern: croner::Cron,
    zone: TimeZone,
}

impl Cron {
    /// Reads an expression of five fields, or six with seconds first.
    ///
    /// # Errors
    /// The expression or the zone, whichever is wrong.
    pub fn parse(expression: &str, zone: &str) -> Result<Self, Problem> {
        let parser = CronParser::builder().seconds(Seconds::Optional).build();
        let pattern = parser.parse(expression).map_err(|error| {
            let detail = format!("cron `{expression}` is not understood: {error}; write it like `0 3 * * 1-5`");
            Problem::invalid("cron", detail)
        })?;
        let zone = TimeZone::get(zone).map_err(|_| {
            Problem::invalid("timeZone", format!("timeZone `{zone}` is not known: write it like Europe/Zurich or UTC"))
        })?;
        Ok(Self { pattern, zone })
    }

    /// The first time after one.
    #[must_use]
    pub fn after(&self, at: Timestamp) -> Option<Timestamp> {
        self.upcoming(at, 1).first().map(|next| Timestamp(next.timestamp().as_millisecond()))
    }

    /// The next times after one.
    #[must_use]
    pub fn upcoming(&self, at: Timestamp, count: usize) -> Vec<Zoned> {
        let Ok(moment) = Moment::from_millisecond(at.0) else { return Vec::new() };
        self.pattern.iter_after(moment.to_zoned(self.zone.clone())).take(count).collect()
    }
}

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
