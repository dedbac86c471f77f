//! Points in time and spans, as arguments. Nothing here reads a clock.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// How long after `earlier` this is; zero when the clock went backwards.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The date in UTC, as `2026-11-15`.
    pub fn utc_date(self) -> String {
        self.to_zoned_utc().strftime("%Y-%m-%d").to_string()
    }

    /// RFC 3339 in UTC with milliseconds.
    pub fn rfc3339(self) -> String {
        self.to_zoned_utc().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }

    fn to_zoned_utc(self) -> jiff::Zoned {
        // A date outside the years -9999 to 9999 is a broken record; the epoch shows that plainly enough.
        jiff::Timestamp::from_millisecond(self.0)
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
            .to_zoned(jiff::tz::TimeZone::UTC)
    }
}

/// A span of time in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// The longest span that a setting may have: 365 days.
    pub const MAX_SETTING: Self = Self(365 * 86_400_000);

    pub const fn secs(seconds: u64) -> Self {
        Self(seconds * 1000)
    }

    pub const fn minutes(minutes: u64) -> Self {
        Self(minutes * 60_000)
    }

    /// The same span for the standard library.
    pub const fn as_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }

    /// What is left of this span after `other`, at least zero.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Seconds with three decimals, for output.
    pub fn as_seconds(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "spans are far below 2^53 milliseconds")]
        let millis = self.0 as f64;
        millis / 1000.0
    }
}

/// `850ms`, `4.2s`, `3m 20s`, `2h 05m`.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        let text = match self.0 {
            0..1000 => format!("{}ms", self.0),
            1000..60_000 => format!("{}.{}s", seconds, self.0 % 1000 / 100),
            60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
            _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        };
        f.pad(&text)
    }
}

/// The text is no span of time that a setting may have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseDuration {
    #[error("`{0}` is not a duration: write it like 500ms, 30s, 10m, 2h or 1h30m")]
    Syntax(String),
    #[error("`{0}` is too long: write at most 365d, such as 30m, 2h or 1d")]
    TooLong(String),
}

impl FromStr for Millis {
    type Err = ParseDuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseDuration::Syntax(text.to_owned());
        let too_long = || ParseDuration::TooLong(text.to_owned());
        let mut rest = text.trim();
        if rest == "0" {
            return Ok(Self(0));
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            if digits == 0 {
                return Err(wrong());
            }
            let number: u64 = rest[..digits].parse().map_err(|_| too_long())?;
            rest = &rest[digits..];
            let letters = rest.find(|c: char| c.is_ascii_digit() || c == ' ').unwrap_or(rest.len());
            let unit = match &rest[..letters] {
                "ms" => 1,
                "s" => 1000,
                "m" | "min" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(wrong()),
            };
            rest = rest[letters..].trim_start();
            total = total.saturating_add(number.saturating_mul(unit));
        }
        match total {
            _ if text.trim().is_empty() => Err(wrong()),
            _ if total > Self::MAX_SETTING.0 => Err(too_long()),
            _ => Ok(Self(total)),
        }
    }
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
