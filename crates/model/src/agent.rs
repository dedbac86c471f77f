//! Which agent works, and what was observed of one run of it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::is_default;
use crate::{Millis, Money, Timestamp, ToolEvidence, TreeHash, Trouble};

/// An agent of a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// What people call it.
    pub name: String,
    /// The name of its kind, by which the registry of agents knows it.
    pub kind: String,
    /// What is started for it; nothing for an agent that is no process.
    #[serde(flatten)]
    pub launch: Option<Launch>,
    /// The model that it is asked to use; its own choice without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Arguments that it gets besides those that Ralph gives it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// It keeps the user's and the repository's own settings for it (hooks, servers, plugins) instead of going without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_settings: bool,
    /// It costs nothing that Ralph has to count.
    #[serde(default)]
    pub unmetered: bool,
    /// A command that writes to its report what it costs so far, while it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reports_cost: bool,
}

/// What is started for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Launch {
    /// A program: a name that is looked up in `PATH`, or a path.
    Program(String),
    /// A line for `sh -c`.
    Command(String),
}

impl AgentSpec {
    /// The kind of an agent that is any command of the user's own.
    pub const COMMAND: &'static str = "command";

    /// The kind of an agent that is Ralph's own: a model with tools, and no process.
    pub const NATIVE: &'static str = "native";

    /// The kind of an agent that works in a session of the user's own: Ralph starts nothing, and hooks report when it stops.
    pub const SESSION: &'static str = "session";

    /// What people call such an agent.
    pub const IN_SESSION: &'static str = "claude (in session)";

    /// An agent with the usual settings.
    pub fn new(name: impl Into<String>, kind: impl Into<String>, launch: impl Into<Option<Launch>>) -> Self {
        Self { name: name.into(), kind: kind.into(), launch: launch.into(), ..Self::default() }
    }

    /// A well-known program, called by the name of its kind.
    pub fn program(kind: impl Into<String>, program: impl Into<String>) -> Self {
        let kind = kind.into();
        Self::new(kind.clone(), kind, Launch::Program(program.into()))
    }

    pub fn command(name: impl Into<String>, command: impl Into<String>) -> Self {
        Self::new(name, Self::COMMAND, Launch::Command(command.into()))
    }

    /// Claude Code in a session of the user's own.
    pub fn in_session() -> Self {
        Self::new(Self::IN_SESSION, Self::SESSION, None)
    }

    /// Whether it works in a session of the user's own.
    pub fn is_in_session(&self) -> bool {
        self.kind == Self::SESSION
    }

    pub fn shell_line(&self) -> Option<&str> {
        match &self.launch {
            Some(Launch::Command(line)) => Some(line),
            Some(Launch::Program(_)) | None => None,
        }
    }

    /// The program, where it is one and no line of shell.
    pub fn program_name(&self) -> Option<&str> {
        match &self.launch {
            Some(Launch::Program(program)) => Some(program),
            Some(Launch::Command(_)) | None => None,
        }
    }

    /// What people call it, with the model where one is asked for.
    pub fn title(&self) -> String {
        match &self.model {
            Some(model) => format!("{}:{model}", self.name),
            None => self.name.clone(),
        }
    }
}

/// How a process ended, and who ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Nothing could come of it: it only tried the same thing again, or its cost could not be watched.
    Hopeless,
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
            Self::Hopeless => f.write_str("stopped because it could not succeed"),
            Self::Stopped => f.write_str("stopped on request"),
            Self::NotStarted { why } => write!(f, "could not be started: {why}"),
        }
    }
}

/// An output on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Cost {
    /// The agent said so, or tokens and prices did.
    Known {
        /// The amount.
        amount: Money,
    },
    /// Not reported. Never the same as zero.
    Unknown,
    /// Declared to cost nothing that Ralph has to count.
    Unmetered,
}

impl Cost {
    /// What is charged: an unknown cost takes all that was reserved for the run.
    pub const fn charge(self, reserved: Money) -> Money {
        match self {
            Self::Known { amount } => amount,
            Self::Unknown => reserved,
            Self::Unmetered => Money::ZERO,
        }
    }
}

/// Tokens and model of a run, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens read, from and into caches included.
    #[serde(default)]
    pub input_tokens: u64,
    /// Those of them that came from a cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_read_tokens: u64,
    /// Those of them that went into a cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// How much of a plan's allowance is used, where the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

impl Usage {
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// How much of a plan's allowance is used, for a span of hours or days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// In percent, rounded down.
    pub percent: u32,
    /// When the next span begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

/// A file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Relative to the workspace, `/` between its parts.
    pub path: String,
    /// In what way it differs.
    pub kind: ChangeKind,
}

/// In what way a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Relative to the workspace; for a file behind a symbolic link, the path through the link.
    pub path: String,
    /// The glob that prohibits it.
    pub glob: String,
    /// In what way it differs.
    pub kind: ChangeKind,
    /// The newest commit that has it, where the agent committed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Something that was wrong with a run, as it was observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// One line about it.
    pub detail: String,
}

/// What can be wrong with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FaultKind {
    /// The agent wanted to do something and was not permitted to.
    Denied,
    /// A sandbox, the agent's own or Ralph's, kept it from doing something.
    SandboxRefused,
    /// It ended in good order and said and did nothing.
    EmptyAnswer,
    /// Its stream ended in the middle.
    CutStream,
    /// It only tried the same thing again.
    EndlessRetry,
    /// It neither said nor did anything for too long.
    Hang,
    /// Its turns were used up.
    TurnLimit,
    /// It stopped at a budget of its own.
    BudgetLimit,
    /// The budget did not cover its next request, which was therefore not sent.
    Uncovered,
    /// The service behind it refused.
    Service,
    /// It said itself that it failed.
    Failed,
}

impl FaultKind {
    /// What stands in front of it where people read it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Denied => "permission denied",
            Self::SandboxRefused => "refused by a sandbox",
            Self::EmptyAnswer => "empty answer",
            Self::CutStream => "stream cut off",
            Self::EndlessRetry => "endless retry",
            Self::Hang => "hang",
            Self::TurnLimit => "turn limit",
            Self::BudgetLimit => "budget limit of its own",
            Self::Uncovered => "budget",
            Self::Service => "service",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail.as_str() {
            "" => f.write_str(self.kind.words()),
            detail => write!(f, "{}: {detail}", self.kind.words()),
        }
    }
}

/// What was observed of one run of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// What was wrong with the run itself, besides its tool calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// What the service behind it refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
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

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
