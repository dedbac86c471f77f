//! Attempts of agents, as a resume sees them: values only.

use ralph_model::{Attempt, Money, Timestamp};
use serde::{Deserialize, Serialize};

use crate::run::Machine;

/// An attempt whose agent will start once the transaction that records it is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewAttempt {
    pub attempt: Attempt,
    pub at: Timestamp,
    pub machine: Machine,
    pub metering: Metering,
}

/// Who reports what an attempt costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Metering {
    /// Ralph watches the agent and records the cost so far.
    Watched,
    /// The agent writes a report at its end.
    Reported,
}

ralph_model::named!(Metering { Watched => "watched", Reported => "reported" });

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptEntry {
    pub attempt: Attempt,
    pub at: Timestamp,
    pub machine: Machine,
    pub metering: Metering,
    /// When its agent was about to start. Without it the agent never ran, unless that machine lost its power since:
    /// see [`crate::Store::note_began`].
    pub began_at: Option<Timestamp>,
    /// What it cost so far, where that is known.
    pub cost: Option<Money>,
}
