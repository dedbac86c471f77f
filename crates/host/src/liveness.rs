//! Whether a process works on a run, and what a listing shows of it.

use std::path::Path;

use ralph_model::RunKind;
use ralph_store::{RunEntry, RunStatus as Stored};
use ralph_view::{ListEntry, RunStatus};
use ralph_workspace::holder;

use crate::Host;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    Ended,
    Here,
    Elsewhere {
        host: String,
    },
    Interrupted,
    /// No process: it continues once a person decided.
    Waiting,
}

impl Host {
    /// Who works on a run. On this machine the lock of its workspace tells, on others its lease.
    pub fn liveness(&self, entry: &RunEntry) -> Liveness {
        if entry.status != Stored::Running {
            return Liveness::Ended;
        }
        if let Some(machine) = entry.held_elsewhere(self.machine(), self.now()) {
            return Liveness::Elsewhere { host: machine.host.clone() };
        }
        let has_process = || {
            entry.machine.as_ref() == Some(self.machine())
                && entry.lease_until.is_some_and(|until| until > self.now())
                && entry.pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists())
        };
        // Where the lock cannot be looked at, nothing is claimed about the run.
        let holds_workspace = || {
            holder(&self.home().workspace(Path::new(&entry.workspace)))
                .map_or(true, |holder| holder.is_some_and(|holder| holder.loop_id == entry.id))
        };
        let lives = match entry.kind {
            // It holds no workspace itself, and its candidates hold theirs only while they run.
            RunKind::Race => has_process(),
            // A loop of its own holds the workspace while it runs. One that waits for a person left its lease behind.
            RunKind::Crew => holds_workspace() || (!ralph_runtime::is_waiting(entry) && has_process()),
            // It has no process between two hooks.
            RunKind::Loop => holds_workspace() || ralph_runtime::in_session(entry, &self.home()).is_some(),
        };
        match lives {
            true => Liveness::Here,
            false if ralph_runtime::is_waiting(entry) => Liveness::Waiting,
            false => Liveness::Interrupted,
        }
    }

    /// Whether a run has not ended and no process works on it.
    pub fn is_interrupted(&self, entry: &RunEntry) -> bool {
        matches!(self.liveness(entry), Liveness::Interrupted | Liveness::Waiting)
    }

    pub fn listed(&self, entry: &RunEntry) -> ListEntry {
        let listed = ralph_runtime::listed(entry, &self.home());
        let (status, host) = match self.liveness(entry) {
            Liveness::Ended => (listed.status, None),
            Liveness::Here => (RunStatus::Running, None),
            Liveness::Elsewhere { host } => (RunStatus::Running, Some(host)),
            Liveness::Interrupted => (RunStatus::Interrupted, None),
            Liveness::Waiting => (RunStatus::Waiting, None),
        };
        ListEntry { status, host, ..listed }
    }
}
