//! Where the agent of a task was when its context ran full or it stopped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Timestamp;

/// Where the agent of a task was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    /// The task, or the loop of a session.
    pub task_id: Uuid,
    /// The iteration that was under way; 0 where nobody said.
    pub iteration: u32,
    /// The agent's context is full: its next turn begins with less.
    pub context_full: bool,
    /// When it was written.
    #[serde(with = "rfc3339")]
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// Why it was written.
    pub checkpoint_reason: CheckpointReason,
}

/// Why a checkpoint was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointReason {
    /// The agent is about to summarise its context.
    PreCompact,
    /// The agent stopped.
    Stop,
    /// Somebody asked for it.
    Manual,
}

/// A point in time as RFC 3339 text.
mod rfc3339 {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&at.rfc3339())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Timestamp(parsed.as_millisecond()))
    }
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
