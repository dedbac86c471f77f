//! How a loop ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbortCause, ErrorCause, Iteration, TreeHash};

/// Why a loop was ended without success. The order is that of the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AbortReason {
    /// All allowed agent runs are used.
    MaxIterations,
    /// The loop's money is spent.
    CostLimit,
    /// The day's money is spent.
    DailyBudget,
    /// The loop's time is up.
    MaxDuration,
    /// Nothing changed for too long.
    Stall,
    /// The same failure came too often in a row.
    #[serde(rename = "SAME_ERROR_5X")]
    SameError,
    /// A prohibited file was changed.
    ProhibitedPath,
    /// The checks were tampered with too often.
    Tampered,
    /// The agent needs a person to continue.
    Blocked,
    /// Somebody ended it.
    Cancelled,
    /// The loop's tokens are used, or as much of a plan's allowance as the user permits.
    UsageLimit,
}

crate::named!(AbortReason {
    MaxIterations => "MAX_ITERATIONS", CostLimit => "COST_LIMIT", DailyBudget => "DAILY_BUDGET",
    MaxDuration => "MAX_DURATION", Stall => "STALL", SameError => "SAME_ERROR_5X", ProhibitedPath => "PROHIBITED_PATH",
    Tampered => "TAMPERED", Blocked => "BLOCKED", Cancelled => "CANCELLED", UsageLimit => "USAGE_LIMIT"
});

impl AbortReason {
    /// 10 for the first reason, 20 for the last.
    pub const fn exit_code(self) -> u8 {
        10 + self as u8
    }
}

/// Exit codes of the program that no abort reason has.
pub mod exit_code {
    pub const COMPLETED: u8 = 0;
    /// Ralph's own machinery failed.
    pub const ERROR: u8 = 1;
    /// The words or the configuration are wrong; nothing was started.
    pub const USAGE: u8 = 2;
    pub const KEYBOARD: u8 = 130;
}

/// The iteration with the fewest failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Best {
    /// Zero is the state before the first iteration.
    pub iteration: Iteration,
    /// Its failing tests and checks.
    pub failing: u32,
    /// Its tree.
    pub tree: TreeHash,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Wire", into = "Wire")]
pub enum Outcome {
    /// The work is done; verified when checks said so.
    Completed {
        /// Whether checks passed. A claim alone is never verification.
        verified: bool,
    },
    /// A limit was hit or the loop could not go on.
    Aborted { cause: AbortCause },
    /// Ralph or a service failed; the loop can be resumed.
    Error { cause: ErrorCause },
}

/// The stored form: the cause, and beside it the reason for readers that know no causes. Journals up to event version 3 have a
/// sentence instead of the cause.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
enum Wire {
    Completed {
        verified: bool,
    },
    Aborted {
        reason: AbortReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<AbortCause>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    Error {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<ErrorCause>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl From<Wire> for Outcome {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Completed { verified } => Self::Completed { verified },
            Wire::Aborted { cause: Some(cause), .. } => Self::Aborted { cause },
            Wire::Aborted { cause: None, reason, details } => {
                Self::Aborted { cause: AbortCause::Recorded { reason, text: details.unwrap_or_default() } }
            }
            Wire::Error { cause: Some(cause), .. } => Self::Error { cause },
            Wire::Error { cause: None, error } => {
                Self::Error { cause: ErrorCause::Recorded { text: error.unwrap_or_default() } }
            }
        }
    }
}

impl From<Outcome> for Wire {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed { verified } => Self::Completed { verified },
            Outcome::Aborted { cause: AbortCause::Recorded { reason, text } } => {
                Self::Aborted { reason, cause: None, details: Some(text) }
            }
            Outcome::Aborted { cause } => Self::Aborted { reason: cause.reason(), cause: Some(cause), details: None },
            Outcome::Error { cause: ErrorCause::Recorded { text } } => Self::Error { cause: None, error: Some(text) },
            Outcome::Error { cause } => Self::Error { cause: Some(cause), error: None },
        }
    }
}

impl Outcome {
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "COMPLETED",
            Self::Aborted { .. } => "ABORTED",
            Self::Error { .. } => "ERROR",
        }
    }

    pub const fn reason(&self) -> Option<AbortReason> {
        match self {
            Self::Aborted { cause } => Some(cause.reason()),
            Self::Completed { .. } | Self::Error { .. } => None,
        }
    }

    /// The exit code of the program, keyboard aside.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Completed { .. } => exit_code::COMPLETED,
            Self::Aborted { cause } => cause.reason().exit_code(),
            Self::Error { .. } => exit_code::ERROR,
        }
    }

    /// Whether a record of the end says the same as this outcome. A record from before causes has a sentence, which is not
    /// compared: it may be worded differently now.
    pub fn agrees_with(&self, record: &Self) -> bool {
        match record {
            Self::Aborted { cause: AbortCause::Recorded { reason, .. } } => self.reason() == Some(*reason),
            Self::Error { cause: ErrorCause::Recorded { .. } } => matches!(self, Self::Error { .. }),
            Self::Completed { .. } | Self::Aborted { .. } | Self::Error { .. } => self == record,
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
