//! What a configuration chooses between, and the small values in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Money;

/// Whose turn it is among several agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "rule", rename_all = "camelCase")]
pub enum Turns {
    /// The first until it has failed so often, then the next as often, and so on; the last goes on to the end.
    Escalate {
        /// Failed iterations of one agent.
        after: u32,
    },
    /// One after the other, iteration by iteration.
    Rotate,
}

impl Default for Turns {
    fn default() -> Self {
        Self::Escalate { after: 2 }
    }
}

/// Several loops with one objective and one budget; the first that is verified wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Race {
    /// What the loops of one race have in common.
    pub id: String,
    /// How many they are.
    pub candidates: u32,
    /// What they may spend together.
    pub cap: Money,
}

impl Race {
    /// What one of them may hold at a time, so that all of them can begin. Rounded up: a rest of a micro-dollar that nobody
    /// holds would be enough to start an agent once more.
    #[must_use]
    pub const fn share(&self) -> Money {
        let candidates = if self.candidates == 0 { 1 } else { self.candidates as i64 };
        Money::from_micros(self.cap.micros().saturating_add(candidates - 1) / candidates)
    }
}

/// Instructions that go with an objective.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Its text, without front matter.
    pub text: String,
    /// The promise that its text asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
}

/// Where in the user's repository the work happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// In the folder itself.
    #[default]
    InPlace,
    /// In a git worktree on a branch of its own.
    Worktree,
}

/// Where the checks run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// In the workspace, with pinned files put back for as long as they run.
    #[default]
    Guarded,
    /// In a folder of the loop's own that the agent cannot write, with an environment made anew.
    Isolated,
}

/// Whether agent and checks are kept inside a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sandboxing {
    /// No. Also what a journal from before there was one means.
    #[default]
    Off,
    /// As far as this machine can.
    On,
    /// Or the loop does not start.
    Require,
}

/// Where the cost of agents is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeterMode {
    /// On the wire, for every agent whose address and key can be set; else as with [`MeterMode::Stream`].
    Auto,
    /// In what the program itself reports. Loops of versions without a gateway did this.
    #[default]
    Stream,
}

impl MeterMode {
    pub(super) const fn is_stream(&self) -> bool {
        matches!(self, Self::Stream)
    }
}

/// What an agent's `<blocked>` does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnBlocked {
    /// It ends the loop.
    #[default]
    Stop,
    /// It is noted and the loop goes on.
    Continue,
}

/// Which state the workspace keeps when a loop ends without success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// As the last iteration left it.
    #[default]
    Last,
    /// As the iteration with the fewest failures left it.
    Best,
}
