//! Runs as they are recorded and listed: values only.

use std::fmt;
use std::str::FromStr;

use ralph_model::{Attempt, Grade, Money, RunId, RunKind, Timestamp};
use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::attempt::NewAttempt;
use crate::chain::{Head, NewEvent};

/// How often a run was taken over. Every process that opens a run gets an epoch of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The one of the process that recorded the run.
    pub const FIRST: Self = Self(1);
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to write to a run, until another process acquires it. Every write names its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub run: RunId,
    pub epoch: Epoch,
}

/// A machine, from its start to its shutdown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Machine {
    pub host: String,
    /// The kernel's id of this start: another one after each reboot.
    pub boot: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    pub machine: Machine,
    pub pid: u32,
    /// When other machines take it for dead, unless it renews the lease before.
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRun {
    /// Its id, never used before.
    pub id: RunId,
    pub kind: RunKind,
    /// The run that it is part of. It may have no row of its own: races of earlier versions have none.
    pub parent: Option<RunId>,
    pub workspace: String,
    /// The folder it was started for, where it works in a worktree.
    pub origin: Option<String>,
    pub objective: String,
    pub agent: String,
    pub skill: Option<String>,
    pub holder: Option<LeaseHolder>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RunStatus {
    /// Not ended. Without a living process of that pid it was interrupted and can be resumed.
    Running,
    Completed,
    /// Ended without success, for a reason.
    Aborted,
    Error,
}

ralph_model::named!(RunStatus {
    Running => "RUNNING", Completed => "COMPLETED", Aborted => "ABORTED", Error => "ERROR"
});

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a status: expected running, completed, aborted or error")]
pub struct ParseRunStatus(String);

impl FromStr for RunStatus {
    type Err = ParseRunStatus;

    /// In any case, as people type it.
    fn from_str(text: &str) -> Result<Self, ParseRunStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| ParseRunStatus(text.to_owned()))
    }
}

/// What changes in a listing while a run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// How far it is. Any other than running also clears the pid.
    pub status: RunStatus,
    pub reason: Option<String>,
    /// Agent runs so far.
    pub iterations: u32,
    pub cost: Money,
    pub verified: bool,
    /// What that is worth. A worker of an earlier version does not say.
    #[serde(default)]
    pub grade: Option<Grade>,
    pub finished_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    pub attempt: Attempt,
    pub amount: Money,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Append {
    pub events: Vec<NewEvent>,
    /// What listings show from now on; `None` keeps what they show.
    pub summary: Option<RunSummary>,
    /// Turns the reservation of an attempt into what it cost.
    pub settle: Option<Settlement>,
    /// Records an attempt whose agent starts because of these events.
    pub start: Option<NewAttempt>,
    pub artifacts: Vec<Artifact>,
}

impl From<NewEvent> for Append {
    fn from(event: NewEvent) -> Self {
        Self { events: vec![event], ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    pub id: RunId,
    pub kind: RunKind,
    pub parent: Option<RunId>,
    pub workspace: String,
    /// The folder it was started for, where it works in a worktree.
    pub origin: Option<String>,
    pub objective: String,
    pub agent: String,
    pub skill: Option<String>,
    pub status: RunStatus,
    pub reason: Option<String>,
    /// Agent runs so far.
    pub iterations: u32,
    pub cost: Money,
    pub verified: bool,
    /// What that is worth; not known of runs that ended before there were grades.
    pub grade: Option<Grade>,
    pub started_at: Timestamp,
    /// When its last event happened.
    pub updated_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// The process that runs it, on whichever machine that is.
    pub pid: Option<u32>,
    /// The machine that ran it last. Runs of earlier versions have none.
    pub machine: Option<Machine>,
    /// Until when its lease counts on other machines.
    pub lease_until: Option<Timestamp>,
    pub epoch: Epoch,
    pub head: Head,
}

impl RunEntry {
    /// The other machine on which a process holds the run, where its lease is fresh. Clocks that differ by more than a lease lasts
    /// make this wrong, and nothing else: a process that lost its lease cannot write.
    pub fn held_elsewhere(&self, here: &Machine, now: Timestamp) -> Option<&Machine> {
        let is_fresh = self.lease_until.is_some_and(|until| until > now);
        self.machine.as_ref().filter(|machine| is_fresh && *machine != here)
    }
}

/// Which runs to list. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Only those that work in this folder, or in a worktree that was made for it.
    pub workspace: Option<String>,
    pub status: Option<RunStatus>,
    pub kind: Option<RunKind>,
    pub parent: Option<RunId>,
    /// Only those that are older than this one, which was the last of the page before.
    pub before: Option<RunId>,
    /// At most so many.
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// Which of the run's, counted from 1.
    pub number: u32,
    pub at: Timestamp,
    pub text: String,
}

/// Which runs match a text that a person typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lookup {
    One(Box<RunEntry>),
    None,
    /// More than one, newest first.
    Several(Vec<RunEntry>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StopMode {
    AfterIteration,
    Now,
}

ralph_model::named!(StopMode { AfterIteration => "after-iteration", Now => "now" });

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
