//! Decides whether a request is work for a loop: from its words, from what is known of the project, and from the skills that
//! there are. Pure and deterministic: the same request in the same project always gives the same decision. Starts nothing.
//!
//! The words are data (`words.txt`), and so is what users expect of them (`requests.txt`).

mod anchor;
mod decision;
mod reading;
mod vocabulary;
mod words;

pub use decision::{Decision, Facts, Mode, SkillFacts, VerificationFacts, decide};
pub use reading::{Reading, RiskReason, read};

use serde::Serialize;

/// What kind of work a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskType {
    Feature,
    Bug,
    Refactor,
    /// Tests alone.
    Test,
    Docs,
    Chore,
    /// An answer, and no change.
    Question,
}

impl TaskType {
    pub const ALL: [Self; 7] =
        [Self::Feature, Self::Bug, Self::Refactor, Self::Test, Self::Docs, Self::Chore, Self::Question];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Feature => "feature",
            Self::Bug => "bug",
            Self::Refactor => "refactor",
            Self::Test => "test",
            Self::Docs => "docs",
            Self::Chore => "chore",
            Self::Question => "question",
        }
    }

    /// Whether a loop can work on it: its result can be checked, and an attempt that failed helps the next one.
    pub const fn can_loop(self) -> bool {
        matches!(self, Self::Feature | Self::Bug | Self::Refactor)
    }

    /// Whether it changes no program.
    pub const fn is_text_only(self) -> bool {
        matches!(self, Self::Docs | Self::Question)
    }
}

/// How much harm work can do that looks done and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    Medium,
    /// Authentication, payments, migrations, production data: a person should look at it first.
    High,
}

impl Risk {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Whether a request says what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Specific,
    Vague,
}

impl Scope {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Specific => "specific",
            Self::Vague => "vague",
        }
    }
}
