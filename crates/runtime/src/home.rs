//! Where Ralph keeps its state: outside every workspace, private to the user.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ralph_model::{Attempt, Iteration, LoopId};
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::perform::remove_tree;

/// What an agent tells of its run, which is read again after a crash.
const REPORT: &str = "result.json";
/// The loop that lives in a session in a workspace.
const SESSION_RECORD: &str = "session.json";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Names the folder; makes nothing.
    pub const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("ralph.db")
    }

    /// What belongs to one workspace: snapshots, stat cache, lock.
    pub fn workspace(&self, root: &Path) -> PathBuf {
        self.root.join("workspaces").join(key(&Sha256::digest(root.as_os_str().as_bytes())))
    }

    /// What builds of confirming runs begin with, for every workspace.
    pub(crate) fn all_builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// The same for one workspace.
    pub fn builds(&self, root: &Path) -> PathBuf {
        self.all_builds().join(key(&Sha256::digest(root.as_os_str().as_bytes())))
    }

    /// What was put in the place of a workspace's own files, while checks run. Belongs to the workspace and not to a loop:
    /// the next loop there has to find it.
    pub fn swap_record(&self, root: &Path) -> PathBuf {
        self.workspace(root).join("swap")
    }

    /// The loop that lives in a session there, between its hooks.
    pub(crate) fn session_record(&self, root: &Path) -> PathBuf {
        self.workspace(root).join(SESSION_RECORD)
    }

    /// The workspaces in which a loop of this session lives: an empty file for each, with the name of its folder of state. No
    /// promise: the records in those folders say what is so.
    pub(crate) fn session_index(&self, session: &str) -> PathBuf {
        self.root.join("sessions").join(key(&Sha256::digest(session.as_bytes())))
    }

    /// The record of the workspace whose folder of state has this name.
    pub(crate) fn session_record_in(&self, state: &OsStr) -> PathBuf {
        self.root.join("workspaces").join(state).join(SESSION_RECORD)
    }

    /// What belongs to one loop: prompts, logs, attempts.
    pub fn loop_folder(&self, loop_id: LoopId) -> LoopFolder {
        LoopFolder { root: self.root.join("loops").join(loop_id.to_string()) }
    }

    /// Settings of agents as they were before the agents that use them now: a folder for each set of paths.
    pub(crate) fn kept_settings(&self) -> PathBuf {
        self.root.join("settings")
    }

    /// The folder for one set of paths.
    pub(crate) fn kept_settings_of(&self, paths: &[PathBuf]) -> PathBuf {
        let mut digest = Sha256::new();
        for path in paths {
            digest.update(path.as_os_str().as_bytes());
            digest.update([0]);
        }
        self.kept_settings().join(key(&digest.finalize()))
    }

    pub fn worktree(&self, loop_id: LoopId) -> PathBuf {
        self.root.join("worktrees").join(loop_id.short())
    }

    /// Makes a folder that only the user can read.
    pub fn make_private(path: &Path) -> Result<(), Error> {
        make_private(path).map_err(Error::file(path))
    }

    /// Writes a file that only the user can read, with any umask.
    pub(crate) fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
        let opened = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
        opened.and_then(|mut file| file.write_all(content)).map_err(Error::file(path))
    }
}

/// A name for a folder.
fn key(digest: &[u8]) -> String {
    digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Empties the folder of a run, except for its report.
fn clear(folder: &Path) -> Result<(), Error> {
    let is_report =
        |entry: &fs::DirEntry| entry.file_name() == REPORT && entry.file_type().is_ok_and(|kind| kind.is_file());
    let mut cleared = Ok(());
    for entry in fs::read_dir(folder).map_err(Error::file(folder))?.flatten().filter(|entry| !is_report(entry)) {
        cleared = cleared.and(remove_tree(&entry.path()));
    }
    cleared
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopFolder {
    root: PathBuf,
}

impl LoopFolder {
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Outputs of agents and checks.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub fn agent_log(&self, iteration: Iteration, attempt: Attempt) -> PathBuf {
        self.logs().join(format!("iteration-{iteration}-agent-{attempt}.log"))
    }

    pub fn prompt(&self, iteration: Iteration) -> PathBuf {
        self.root.join("prompts").join(format!("iteration-{iteration}.md"))
    }

    /// The requests of all agents of the loop to their model services, a line of JSON for each.
    pub fn requests(&self) -> PathBuf {
        self.root.join("requests.jsonl")
    }

    /// What these requests and the answers to them held, where that is recorded.
    pub fn requests_folder(&self) -> PathBuf {
        self.root.join("requests")
    }

    /// The folder that one run of an agent may write.
    pub fn attempt(&self, attempt: Attempt) -> PathBuf {
        self.root.join("attempts").join(attempt.to_string())
    }

    /// Removes what the runs of agents left in their folders, except for their reports: settings and records of the programs
    /// can hold keys, and everything that counts was read from them. What cannot be removed is named.
    pub(crate) fn clear_attempts(&self) -> Result<(), Error> {
        let entries = fs::read_dir(self.root.join("attempts")).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| clear(&entry.path())).fold(Ok(()), Result::and)
    }

    /// Does the same for one run.
    pub(crate) fn clear_attempt(&self, attempt: Attempt) -> Result<(), Error> {
        clear(&self.attempt(attempt))
    }

    /// Exists when the agent of an attempt may have run under an earlier version, which recorded that here.
    pub(crate) fn marker(&self, attempt: Attempt) -> PathBuf {
        self.root.join("attempts").join(format!("{attempt}.started"))
    }

    /// What the agent of an attempt has cost so far, in micro-dollars, where an earlier version recorded that.
    pub(crate) fn so_far(&self, attempt: Attempt) -> PathBuf {
        self.root.join("attempts").join(format!("{attempt}.cost"))
    }

    /// What an agent made of its own settings, before they were put back.
    pub(crate) fn settings(&self, attempt: Attempt) -> PathBuf {
        self.root.join("settings").join(attempt.to_string())
    }

    /// What agents of a Ralph that died made of their settings.
    pub(crate) fn settings_left_behind(&self) -> PathBuf {
        self.root.join("settings").join("left-behind")
    }

    /// The highest attempt of an agent that left a trace here.
    pub(crate) fn highest_attempt(&self) -> Attempt {
        let entries = fs::read_dir(self.root.join("attempts")).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.split('.').next()?.parse().ok());
        Attempt(numbers.max().unwrap_or(0))
    }

    /// Prohibited files as they were at the loop's start.
    pub fn guard(&self) -> PathBuf {
        self.root.join("guard")
    }

    /// What verdicts depend on, as it was at the loop's start.
    pub fn pins(&self) -> PathBuf {
        self.root.join("pins")
    }

    /// The agent's versions of pinned files, when those were put back for good.
    pub fn replaced(&self, attempt: Attempt) -> PathBuf {
        self.root.join(format!("replaced-{attempt}"))
    }

    /// What checks may write besides the workspace.
    pub fn checks(&self) -> PathBuf {
        self.root.join("checks")
    }

    /// Says which lock files the set-up commands ran for last.
    pub(crate) fn set_up(&self) -> PathBuf {
        self.root.join("set-up")
    }

    /// What is known about the folder of isolated checks.
    pub(crate) fn checkout_state(&self) -> PathBuf {
        self.root.join("checkout-state")
    }

    pub fn checkout(&self) -> PathBuf {
        self.root.join("checkout")
    }

    /// What an agent did to prohibited files.
    pub fn patch(&self) -> PathBuf {
        self.root.join("prohibited.patch")
    }

    /// What the loop's end depends on.
    pub fn certificate(&self) -> PathBuf {
        self.root.join("certificate.json")
    }

    pub(crate) fn make(&self) -> Result<(), Error> {
        for folder in [
            self.root.clone(),
            self.logs(),
            self.root.join("prompts"),
            self.root.join("attempts"),
            self.guard(),
            self.checks(),
        ] {
            Home::make_private(&folder)?;
        }
        Ok(())
    }
}
