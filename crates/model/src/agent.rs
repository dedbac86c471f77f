//! Which agent works, and what was observed of one run of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Millis, Money, ToolEvidence, TreeHash};

/// The agent of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum AgentSpec {
    /// Any program: the prompt on its standard input, or in the file that `{prompt_file}` stands for.
    Command {
        /// What people call it.
        name: String,
        /// A line for `sh -c`.
        command: String,
        /// It costs nothing that Ralph has to count.
        unmetered: bool,
    },
}

impl AgentSpec {
    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Command { name, .. } => name,
        }
    }

    /// Whether its runs cost nothing that Ralph has to count.
    #[must_use]
    pub const fn is_unmetered(&self) -> bool {
        match self {
            Self::Command { unmetered, .. } => *unmetered,
        }
    }
}

/// How a process ended, and who ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "camelCase")]
pub enum Ended {
    /// By itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// By a signal that Ralph did not send.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// Its time was up.
    TimedOut {
        /// The limit that it passed.
        after: Millis,
    },
    /// It neither printed nor worked for this long: it may have waited for input that never comes.
    Idle {
        /// The limit that it passed.
        after: Millis,
    },
    /// The money was spent.
    BudgetSpent,
    /// Somebody asked for it.
    Stopped,
    /// It never ran.
    NotStarted {
        /// Why not.
        why: String,
    },
}

impl Ended {
    /// Whether it ended by itself with code 0.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0 })
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit code {code}"),
            Self::Signalled { signal } => write!(f, "ended by signal {signal}"),
            Self::TimedOut { after } => write!(f, "stopped after its time limit of {after}"),
            Self::Idle { after } => {
                write!(
                    f,
                    "stopped after {after} without output or work: it may have waited for input, and it has no terminal"
                )
            }
            Self::BudgetSpent => f.write_str("stopped because the budget was spent"),
            Self::Stopped => f.write_str("stopped on request"),
            Self::NotStarted { why } => write!(f, "could not be started: {why}"),
        }
    }
}

/// An output on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputRef {
    /// The file, relative to the loop's folder.
    pub file: String,
    /// How many bytes the process wrote.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Whether the file ends before the output did; it says so itself at the place.
    #[serde(default)]
    pub cut: bool,
}

/// What a run of an agent cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Cost {
    /// The agent said so, or tokens and prices did.
    Known {
        /// The amount.
        amount: Money,
    },
    /// Nobody said. Never the same as nothing.
    Unknown,
    /// Declared to cost nothing that Ralph has to count.
    Unmetered,
}

impl Cost {
    /// What is charged: an unknown cost takes all that was reserved for the run.
    #[must_use]
    pub const fn charge(self, reserved: Money) -> Money {
        match self {
            Self::Known { amount } => amount,
            Self::Unknown => reserved,
            Self::Unmetered => Money::ZERO,
        }
    }
}

/// Tokens and model of a run, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
}

/// A file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Relative to the workspace, `/` between its parts.
    pub path: String,
    /// In what way it differs.
    pub kind: ChangeKind,
}

/// In what way a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// Its content, or what kind of file it is, is another.
    Modified,
    /// It is gone.
    Deleted,
    /// Only its permissions are others.
    Mode,
}

impl ChangeKind {
    /// One letter, as git prints it.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::Mode => 'T',
        }
    }
}

/// A prohibited file that is not as it was at the loop's start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Relative to the workspace; for a file behind a symbolic link, the path through the link.
    pub path: String,
    /// The glob that prohibits it.
    pub glob: String,
    /// In what way it differs.
    pub kind: ChangeKind,
}

/// What was observed of one run of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRun {
    /// Which agent it was.
    pub agent: String,
    /// How it ended.
    pub ended: Ended,
    /// What its own event stream shows. Empty for an opaque command.
    #[serde(default)]
    pub evidence: Vec<ToolEvidence>,
    /// Whether the agent has an event stream at all; one that has and shows no tool call did nothing.
    #[serde(default)]
    pub opaque: bool,
    /// Its last message, bounded and inert.
    pub final_message: String,
    /// Why it handed the work back, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<String>,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// How long it ran.
    pub duration: Millis,
    /// Where its whole output is.
    pub output: OutputRef,
    /// The workspace when it had ended.
    pub tree: TreeHash,
    /// Files that differ from the start of the iteration.
    pub changed: Vec<Change>,
    /// Commits that the repository did not have at the start of the iteration.
    #[serde(default)]
    pub commits: u32,
    /// Prohibited files that differ from the loop's start.
    #[serde(default)]
    pub violations: Vec<Violation>,
}
