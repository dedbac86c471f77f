//! What every loop needs from outside. Values, so that this crate reads no environment, home directory or terminal.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_agents::{Agent, AgentServices, McpServer};
use ralph_gateway::Egress;
use ralph_model::{AgentRun, AgentSpec, Caps, LoopId, PriceList, Timestamp};
use ralph_notify::Notifier;
use ralph_process::{Level, Supervisor};
use ralph_store::{LeaseHolder, Machine, RunEntry, StoreHandle};
use ralph_text::Redactor;
use ralph_view::{Progress, Update};
use ralph_workspace::repository::Author;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::error::Error;
use crate::home::Home;

/// How long other machines take the holder of a lease for alive that does not renew it.
const LEASE_MILLIS: i64 = 30_000;

/// Who watches. Called from the loop's own task: quick, and its panics are caught.
pub type Watcher = Arc<dyn Fn(Update) + Send + Sync>;

pub type BuildAgent =
    Arc<dyn Fn(&AgentSpec, AgentServices) -> Result<Box<dyn Agent>, ralph_agents::Error> + Send + Sync>;

pub type AgentVariables = Arc<dyn Fn(&AgentSpec) -> Vec<(OsString, OsString)> + Send + Sync>;

pub type AgentSettings = Arc<dyn Fn(&AgentSpec) -> Vec<PathBuf> + Send + Sync>;

/// What an agent, or a check, may not read: usual places of keys and logins, by who runs with which variables.
pub type HiddenPaths = Arc<dyn Fn(Option<&AgentSpec>, &[(OsString, OsString)]) -> Vec<PathBuf> + Send + Sync>;

/// Whether an agent claims to be done.
pub type Claimed = Arc<dyn Fn(&AgentRun) -> bool + Send + Sync>;

/// What a program around the loop learns of its agent in other ways than from the agent's output.
#[derive(Clone, Default)]
pub struct AgentSignals {
    /// Whether the agent claimed that it is done elsewhere than in its final message. Asked once after each of its runs.
    pub claimed: Option<Claimed>,
    /// Changes when the agent's context is full: its run ends, and so does the iteration, with its checks.
    pub context_full: Option<watch::Receiver<u64>>,
}

impl fmt::Debug for AgentSignals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSignals").finish_non_exhaustive()
    }
}

impl AgentSignals {
    /// Waits until the context of an agent that starts now is full; never returns where nothing can say so.
    pub(crate) async fn until_full(full: &mut Option<watch::Receiver<u64>>) {
        let Some(receiver) = full else { return std::future::pending().await };
        if receiver.changed().await.is_err() {
            *full = None;
            std::future::pending().await
        }
    }
}

/// Whether a loop writes `.ralph/LEDGER.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ledger {
    #[default]
    Written,
    /// It leaves that of the loop before alone.
    LeftAlone,
}

/// What git knows of the user. Kept for the hooks of a session, which are too short to ask git again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserGit {
    /// The user's own file of ignored paths.
    pub excludes: Option<PathBuf>,
    /// Who commits are by; none leaves it to the repository's own configuration.
    pub author: Option<Author>,
}

/// What every loop needs from outside.
#[derive(Clone)]
pub struct Services {
    pub home: Home,
    pub store: StoreHandle,
    pub machine: Machine,
    pub supervisor: Arc<Supervisor>,
    pub build_agent: BuildAgent,
    /// What must not be written down.
    pub redactor: Arc<Redactor>,
    pub git: PathBuf,
    pub user_git: UserGit,
    pub environment: Vec<(OsString, OsString)>,
    /// What an agent finds there besides: its own key, and its own documented variables.
    pub agent_variables: AgentVariables,
    pub prices: Arc<PriceList>,
    /// How requests to model services leave this machine.
    pub egress: Egress,
    /// Answers `PreToolUse` events of Claude Code, called with the file of prohibited paths as its last argument.
    pub hook: Option<Vec<OsString>>,
    /// Tools that agents are given, where their kind takes any.
    pub mcp_server: Option<McpServer>,
    /// What an agent may write besides: its own settings.
    pub settings: AgentSettings,
    /// What of that says how the agent works, and is put back after it ran.
    pub kept: AgentSettings,
    /// What agents and checks may not read besides Ralph's state.
    pub hidden: HiddenPaths,
    /// What agents and checks may write besides the workspace: temporary folders and caches of toolchains.
    pub writable: Vec<PathBuf>,
    pub level: Level,
    /// Upper bounds over every loop.
    pub caps: Caps,
    pub ledger: Ledger,
    /// Where finished loops are counted; none means in the workspace.
    pub metrics: Option<PathBuf>,
    /// A command that is told about alerts and ends.
    pub notify: Option<String>,
    pub notifier: Option<Arc<Notifier>>,
    pub version: String,
    pub watcher: Watcher,
    pub signals: AgentSignals,
    pub now: fn() -> Timestamp,
    pub crash: Option<CrashPoint>,
}

/// A place at which a test makes Ralph die as by SIGKILL: around the n-th append of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// The event is not yet written.
    Before(u32),
    /// The event is written, and nothing was done about it.
    After(u32),
}

impl Services {
    /// Tells the watcher. A watcher that panics does no harm.
    pub(crate) fn tell(&self, update: impl Into<Update>) {
        let (watcher, update) = (Arc::clone(&self.watcher), update.into());
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || watcher(update))).is_err() {
            tracing::warn!("the watcher panicked");
        }
    }

    /// The same services, with updates that are completed first: they say which run or candidate they are about.
    pub(crate) fn tagged(self, tag: impl Fn(&mut Update) + Send + Sync + 'static) -> Self {
        let watcher = self.watcher;
        let watcher = move |mut update: Update| {
            tag(&mut update);
            watcher(update);
        };
        Self { watcher: Arc::new(watcher), ..self }
    }

    pub(crate) fn of_run(self, loop_id: LoopId) -> Self {
        self.tagged(move |update| update.run = Some(loop_id))
    }

    /// This process, as the holder of a lease from now on.
    pub(crate) fn lease_holder(&self) -> LeaseHolder {
        LeaseHolder { machine: self.machine.clone(), pid: std::process::id(), until: self.lease_end() }
    }

    /// When a lease expires that is renewed now.
    pub(crate) fn lease_end(&self) -> Timestamp {
        Timestamp((self.now)().0.saturating_add(LEASE_MILLIS))
    }

    /// Refuses a run that a process on another machine works on.
    pub(crate) fn ensure_not_elsewhere(&self, entry: &RunEntry) -> Result<(), Error> {
        ensure_not_elsewhere(entry, &self.machine, (self.now)())
    }

    pub(crate) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        tracing::warn!("{text}");
        self.tell(Progress::Warning { text });
    }
}

pub(crate) fn ensure_not_elsewhere(entry: &RunEntry, machine: &Machine, now: Timestamp) -> Result<(), Error> {
    match entry.held_elsewhere(machine, now) {
        Some(machine) => Err(Error::Elsewhere { loop_id: entry.id, host: machine.host.clone() }),
        None => Ok(()),
    }
}
