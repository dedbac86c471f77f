//! What a run of an agent needs, and what was observed of it.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::{fmt, io};

use ralph_model::{Cost, Ended, Fault, Millis, Money, PriceList, Timestamp, ToolEvidence, Trouble, Usage};
use ralph_process::{Files, Pieces, Recorded, Sandbox, Spec, Stdin, Supervisor};
use ralph_text::Redactor;

use crate::agent::AgentTask;
use crate::mcp_server::McpServer;

#[derive(Debug, Clone)]
pub struct AgentServices {
    pub supervisor: Arc<Supervisor>,
    pub base: ProcessBase,
}

#[derive(Debug, Clone)]
pub struct ProcessBase {
    pub directory: PathBuf,
    /// Its complete environment, to which only Ralph's own variables are added.
    pub environment: Vec<(OsString, OsString)>,
    /// A folder of this run alone, which the agent may write: prompt file and report file.
    pub scratch: PathBuf,
    pub log: PathBuf,
    pub log_limit: u64,
    pub idle: Option<Millis>,
    pub sandbox: Option<Sandbox>,
    /// Descriptors that live as long as the agent's tree.
    pub hold: Vec<Arc<OwnedFd>>,
    /// What must not be written down.
    pub redactor: Arc<Redactor>,
    pub prices: Arc<PriceList>,
    /// What the agent may not write.
    pub prohibited: Prohibited,
    /// Tools that it is given, where its kind takes any.
    pub mcp_server: Option<McpServer>,
    /// Whether the run's requests are counted on their way to the service.
    pub counted: Arc<Counted>,
    pub now: fn() -> Timestamp,
}

#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    pub(crate) prompt: &'a str,
    /// The money that it may use; none when it costs nothing that is counted.
    pub(crate) budget: Option<Money>,
    pub(crate) timeout: Millis,
    pub(crate) base: ProcessBase,
}

/// Says which glob prohibits a path, if one does.
pub type Matcher = Arc<dyn Fn(&Path) -> Option<String> + Send + Sync>;

/// Paths that an agent may not write, for those that ask first. What the others write is found afterwards.
#[derive(Clone)]
pub struct Prohibited {
    /// The glob that prohibits a path, absolute or relative to the workspace.
    pub matches: Matcher,
    /// The globs themselves, as in a `.gitignore`, for programs that take such a list.
    pub globs: Vec<String>,
    /// A line of shell that answers a `PreToolUse` event of Claude Code on its standard input.
    pub hook: Option<String>,
}

impl fmt::Debug for Prohibited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prohibited").field("hook", &self.hook).finish_non_exhaustive()
    }
}

impl Default for Prohibited {
    fn default() -> Self {
        Self { matches: Arc::new(|_| None), globs: Vec::new(), hook: None }
    }
}

impl ProcessBase {
    /// Whether anything keeps the agent inside; some machines cannot.
    pub fn is_confined(&self) -> bool {
        self.sandbox.as_ref().is_some_and(|sandbox| !matches!(sandbox.level.files, Files::Open { .. }))
    }

    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        // The last one counts, as if they were set one after the other.
        self.environment.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }
}

/// Whether the requests of a run are counted on their way to the service. What the program says about money does not matter then.
#[derive(Debug, Default)]
pub struct Counted(AtomicU8);

impl Counted {
    const EXPECTED: u8 = 1;
    const COMPLETE: u8 = 2;
    const INCOMPLETE: u8 = 3;

    /// They will be, as soon as there is one.
    pub fn expect(&self) {
        self.0.store(Self::EXPECTED, Ordering::Relaxed);
    }

    /// Some came by, and everything of them has a cost, or not.
    pub fn count(&self, is_complete: bool) {
        self.0.store(if is_complete { Self::COMPLETE } else { Self::INCOMPLETE }, Ordering::Relaxed);
    }

    /// All requests so far were counted, and there was one.
    pub fn is_complete(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::COMPLETE
    }

    /// None came by yet, and they will be counted when they do.
    pub fn is_expected(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::EXPECTED
    }
}

/// How long a program has between being asked to end and being killed: a stop takes effect within two seconds.
const GRACE: Millis = Millis(1500);
/// Bytes of each output that are kept in memory.
pub(crate) const TAIL: usize = 16 * 1024;

impl<'a> Request<'a> {
    pub(crate) fn new(task: &'a AgentTask, base: ProcessBase) -> Self {
        Self { prompt: &task.prompt, budget: task.budget, timeout: task.timeout, base }
    }

    pub(crate) fn into_spec(
        self,
        program: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
        stdin: Stdin,
        pieces: Option<Pieces>,
    ) -> Spec {
        Spec {
            program,
            directory: self.base.directory,
            environment,
            stdin,
            log: self.base.log,
            pieces,
            log_limit: self.base.log_limit,
            tail: TAIL,
            timeout: Some(self.timeout),
            idle: self.base.idle,
            grace: GRACE,
            hold: self.base.hold,
            sandbox: self.base.sandbox,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    pub ended: Ended,
    /// What its own stream or report shows.
    pub evidence: Vec<ToolEvidence>,
    /// It has no event stream; only its end and the changed files can be judged.
    pub opaque: bool,
    pub final_message: String,
    pub escalation: Option<String>,
    pub faults: Vec<Fault>,
    pub trouble: Option<Trouble>,
    pub usage: Usage,
    pub cost: Cost,
    /// Models that it used and that have no price, where the cost is unknown because of that.
    pub unpriced: Vec<String>,
    pub duration: Millis,
    pub output: Recorded,
    pub swept: u32,
}

/// A run that Ralph itself could not carry out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Process(#[from] ralph_process::Error),
    #[error("could not write {path} for the agent: check the free space and the permissions there")]
    Scratch { path: PathBuf, source: io::Error },
    #[error("{path} is too long to see what it would change for the agent: remove it, or use another agent")]
    Unreadable { path: PathBuf },
    #[error(
        "{agent} would run the code in {place} without asking: remove it or use another agent; or, if you trust that code, set \
         `settings = \"user\"` in [agents.{agent}] of your configuration and start again"
    )]
    ForeignCode { agent: String, place: PathBuf },
    #[error("{agent} is of the kind `{kind}`, which this version of Ralph does not know: take another agent")]
    UnknownKind { agent: String, kind: String },
    #[error("{agent}: {why}")]
    NoModel { agent: String, why: String },
    #[error("{agent} names nothing that could be started: take another agent")]
    NothingToStart { agent: String },
}

impl Error {
    /// Whether the agent did not run at all.
    pub const fn is_before_start(&self) -> bool {
        match self {
            Self::Process(error) => error.is_before_start(),
            Self::Scratch { .. }
            | Self::Unreadable { .. }
            | Self::ForeignCode { .. }
            | Self::UnknownKind { .. }
            | Self::NoModel { .. }
            | Self::NothingToStart { .. } => true,
        }
    }
}
