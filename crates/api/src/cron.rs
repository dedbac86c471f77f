//! Schedules: cron expressions in time zones.

use croner::parser::{CronParser, Seconds};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Moment, Zoned};
use ralph_model::{Caps, Timestamp};
use ralph_store::Schedule;

use crate::{Problem, ScheduleRequest};

/// A cron expression that is read in a time zone.
#[derive(Debug)]
pub struct Cron {
    pattern: croner::Cron,
    zone: TimeZone,
}

impl Cron {
    /// Reads an expression of five fields, or six with seconds first.
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

    pub fn after(&self, at: Timestamp) -> Option<Timestamp> {
        self.upcoming(at, 1).first().map(|next| Timestamp(next.timestamp().as_millisecond()))
    }

    pub fn upcoming(&self, at: Timestamp, count: usize) -> Vec<Zoned> {
        let Ok(moment) = Moment::from_millisecond(at.0) else { return Vec::new() };
        self.pattern.iter_after(moment.to_zoned(self.zone.clone())).take(count).collect()
    }
}

const MAX_CRON: usize = 200;

impl ScheduleRequest {
    /// The schedule as it is asked for, with everything checked.
    pub fn plan(self, id: String, created_at: Timestamp, now: Timestamp, caps: &Caps) -> Result<Schedule, Problem> {
        check_name("name", &self.name)?;
        if self.cron.len() > MAX_CRON {
            return Err(Problem::invalid("cron", format!("cron is longer than {MAX_CRON} bytes")));
        }
        let cron = Cron::parse(&self.cron, &self.time_zone)?;
        let next = cron.after(now).ok_or_else(|| Problem::invalid("cron", "cron names a time that never comes"))?;
        self.task.validate(caps).map_err(|mut error| {
            // The rules are those of a task, and the field is inside of one here.
            error.problem = format!("{} {}", error.field, error.problem);
            Problem::invalid(format!("task.{}", error.field), error.problem)
        })?;
        Ok(Schedule {
            id,
            name: self.name,
            cron: self.cron,
            time_zone: self.time_zone,
            task: self.task,
            next_at: self.enabled.then_some(next),
            enabled: self.enabled,
            last_at: None,
            last_task_id: None,
            created_at,
        })
    }
}

/// A name that can be printed.
pub fn check_name(field: &'static str, text: &str) -> Result<(), Problem> {
    match text {
        _ if text.trim().is_empty() => Err(Problem::invalid(field, format!("{field} is empty"))),
        _ if text.len() > 100 => Err(Problem::invalid(field, format!("{field} is longer than 100 bytes"))),
        _ if text.chars().any(char::is_control) => {
            Err(Problem::invalid(field, format!("{field} contains a control character")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
