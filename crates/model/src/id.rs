//! Names for the things that a journal speaks of.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A loop, a race or a crew. A UUIDv7, so that ids sort by their start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RunId(Uuid);

/// The id of a run that is a loop: one objective pursued to a verdict.
pub type LoopId = RunId;

impl RunId {
    /// Wraps an id that was made elsewhere: this crate has no clock and no randomness.
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    pub const fn uuid(self) -> Uuid {
        self.0
    }

    /// The eight characters that people type. Taken from the end, because the start of a UUIDv7 is the time and two
    /// loops of one minute share it.
    pub fn short(self) -> String {
        let text = self.0.simple().to_string();
        text[text.len() - 8..].to_owned()
    }

    /// Whether a person who typed `text` can mean this loop: the start of its id or of its short id, or four or more
    /// characters of its end.
    pub fn answers_to(self, text: &str) -> bool {
        let wanted: String = text.chars().filter(|c| *c != '-').collect::<String>().to_ascii_lowercase();
        let simple = self.0.simple().to_string();
        !wanted.is_empty()
            && (self.short().starts_with(&wanted)
                || simple.starts_with(&wanted)
                || (wanted.len() >= 4 && simple.ends_with(&wanted)))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a loop id: expected a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057")]
pub struct ParseLoopId(String);

impl FromStr for RunId {
    type Err = ParseLoopId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self).map_err(|_| ParseLoopId(text.to_owned()))
    }
}

/// What a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// One objective pursued to a verdict.
    #[default]
    Loop,
    /// Several loops with one objective, of which the first verified one wins.
    Race,
    /// Several agents that delegate work to each other.
    Crew,
}

crate::named!(RunKind { Loop => "loop", Race => "race", Crew => "crew" });

/// One pass of a loop, counted from 1. Zero stands for the state before the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Iteration(pub u32);

impl Iteration {
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One start of an effect. Numbers are never used twice in a loop, so that a late answer is known for what it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Attempt(pub u32);

impl Attempt {
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The content hash of a whole workspace: the id of a git tree in Ralph's own git directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TreeHash(pub String);

impl TreeHash {
    /// Enough of the hash for a person to compare two.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

impl fmt::Display for TreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[path = "id_tests.rs"]
mod tests;
