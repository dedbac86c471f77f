//! Loops as a listing shows them.

use std::path::Path;

use ralph_store::{RunEntry, RunStatus as StoredStatus};
use ralph_view::{ListEntry, RunStatus};
use ralph_workspace::holder;

use crate::{Home, SessionRecord};

/// Marked as running, and nobody works on it: the process that did is gone.
#[must_use]
pub fn is_interrupted(entry: &RunEntry, home: &Home) -> bool {
    let works = || {
        // Where the lock cannot be looked at, nothing is claimed about the loop.
        holder(&home.workspace(Path::new(&entry.workspace)))
            .map_or(true, |holder| holder.is_some_and(|h| h.loop_id == entry.id))
    };
    entry.status == StoredStatus::Running && !works() && in_session(entry, home).is_none()
}

/// The session that a loop lives in, which has no process between two hooks.
#[must_use]
pub fn in_session(entry: &RunEntry, home: &Home) -> Option<SessionRecord> {
    let record = SessionRecord::read(home, Path::new(&entry.workspace)).ok().flatten();
    record.filter(|record| record.loop_id == entry.id && entry.status == StoredStatus::Running)
}

/// A loop as a listing shows it.
#[must_use]
pub fn listed(entry: &RunEntry, home: &Home) -> ListEntry {
    ListEntry {
        loop_id: entry.id,
        short: entry.id.short(),
        status: match entry.status {
            StoredStatus::Running if is_interrupted(entry, home) => RunStatus::Interrupted,
            StoredStatus::Running => RunStatus::Running,
            StoredStatus::Completed => RunStatus::Completed,
            StoredStatus::Aborted => RunStatus::Aborted,
            StoredStatus::Error => RunStatus::Error,
        },
        reason: entry.reason.clone(),
        objective: entry.objective.clone(),
        workspace: entry.workspace.clone(),
        agent: entry.agent.clone(),
        skill: entry.skill.clone(),
        iterations: entry.iterations,
        cost: entry.cost,
        verified: entry.verified,
        started_at: entry.started_at,
        updated_at: entry.updated_at,
        finished_at: entry.finished_at,
    }
}
