//! The line that a finished loop leaves. Field names are a contract with scripts.

use ralph_model::{LoopId, Millis, Money, Timestamp};
use serde::{Deserialize, Serialize};

/// How a loop ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// With success.
    Completed,
    /// Without, for a reason.
    Aborted,
    /// Ralph's own machinery failed.
    Error,
}

/// One finished loop. What a line does not name is zero, false or nothing, so that lines of other versions are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Which loop. A loop that was resumed after its end leaves another line; its last one counts.
    pub loop_id: LoopId,
    /// The skill it followed.
    #[serde(default)]
    pub skill: Option<String>,
    /// Feature, bug, refactor and the like.
    #[serde(default)]
    pub task_type: Option<String>,
    /// When it started, as RFC 3339.
    #[serde(with = "moment")]
    pub start_time: Timestamp,
    /// When it ended, as RFC 3339.
    #[serde(with = "moment")]
    pub end_time: Timestamp,
    /// How it ended.
    pub status: Status,
    /// Why it was aborted, when it was.
    #[serde(default)]
    pub abort_reason: Option<String>,
    /// Agent runs.
    #[serde(default)]
    pub iterations: u32,
    /// What they cost, as a number of dollars.
    #[serde(rename = "costUSD", with = "dollars", default)]
    pub cost: Money,
    /// How long the loop ran, as a number of seconds.
    #[serde(rename = "durationSeconds", with = "seconds", default)]
    pub duration: Millis,
    /// How many files differ from the loop's start.
    #[serde(default)]
    pub files_modified: u64,
    /// Tests failing at the baseline minus tests failing at the end; negative when the loop broke more than it fixed.
    #[serde(default)]
    pub tests_fixed: i64,
    /// Whether the agent ever said that it is done.
    #[serde(default)]
    pub completion_promise_detected: bool,
    /// Whether the checks passed at the end.
    #[serde(default)]
    pub verification_passed: bool,
    /// How often the agent said that it is done and the checks failed.
    #[serde(default)]
    pub false_claims: u32,
    /// In how many iterations the checks were tampered with.
    #[serde(default)]
    pub tampered: u32,
    /// In how many iterations checks failed and passed on the same files.
    #[serde(default)]
    pub flakes: u32,
    /// The agents that ran, joined by commas in order of first use.
    #[serde(default)]
    pub agent: String,
    /// Their models in the same way, as far as they are known.
    #[serde(default)]
    pub model: Option<String>,
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
}

mod moment {
    use std::fmt;

    use ralph_model::Timestamp;
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&at.rfc3339())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        struct Moment;
        impl Visitor<'_> for Moment {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time like 2026-11-15T10:00:00Z")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                let parsed: jiff::Timestamp = text.parse().map_err(E::custom)?;
                Ok(Timestamp(parsed.as_millisecond()))
            }
        }
        deserializer.deserialize_str(Moment)
    }
}

mod dollars {
    use ralph_model::Money;
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(amount: &Money, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(amount.to_json_number())
    }

    /// The nearest micro-dollar: other writers may have summed floats.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
        let micros = (f64::deserialize(deserializer)? * 1e6).round();
        // Up to 2^53 a float holds every whole number.
        if !(0.0..=9e15).contains(&micros) {
            return Err(D::Error::custom("expected an amount in dollars"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "whole and in range by the lines above")]
        Ok(Money::from_micros(micros as i64))
    }
}

mod seconds {
    use ralph_model::Millis;
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(span: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(span.as_seconds())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        let millis = (f64::deserialize(deserializer)? * 1e3).round();
        if !(0.0..=9e15).contains(&millis) {
            return Err(D::Error::custom("expected a duration in seconds"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and in range by the lines above"
        )]
        Ok(Millis(millis as u64))
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
