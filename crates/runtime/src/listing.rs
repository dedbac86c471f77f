//! Runs as listings show them, and what an iteration changed: what the store alone does not say.

use std::path::Path;

use ralph_engine::Loop;
use ralph_model::{Money, RunKind, TreeHash};
use ralph_store::{RunEntry, RunStatus as StoredStatus};
use ralph_view::{ListEntry, RunStatus};
use ralph_workspace::holder;

use crate::crew::is_waiting;
use crate::home::Home;
use crate::session::SessionRecord;

/// Whether a run is marked as running and no process works on it: the process that did is gone. A run of another machine has
/// no state here, so that nothing is known about its process.
fn is_interrupted(entry: &RunEntry, home: &Home) -> bool {
    let state = home.workspace(Path::new(&entry.workspace));
    // Where the lock cannot be looked at, nothing is claimed about the loop.
    let works = || holder(&state).map_or(true, |holder| holder.is_some_and(|h| h.loop_id == entry.id));
    entry.status == StoredStatus::Running && state.is_dir() && !works() && in_session(entry, home).is_none()
}

/// The session that a loop lives in, which has no process between two hooks.
pub fn in_session(entry: &RunEntry, home: &Home) -> Option<SessionRecord> {
    let record = SessionRecord::read(home, Path::new(&entry.workspace)).ok().flatten();
    record.filter(|record| record.loop_id == entry.id && entry.status == StoredStatus::Running)
}

/// A loop as a listing shows it to those who know no more than the state directory. `Host::listed` also knows the machine.
pub fn listed(entry: &RunEntry, home: &Home) -> ListEntry {
    ListEntry {
        loop_id: entry.id,
        short: entry.id.short(),
        status: match entry.status {
            StoredStatus::Running if is_interrupted(entry, home) && is_waiting(entry) => RunStatus::Waiting,
            StoredStatus::Running if is_interrupted(entry, home) => RunStatus::Interrupted,
            StoredStatus::Running => RunStatus::Running,
            StoredStatus::Completed => RunStatus::Completed,
            StoredStatus::Aborted => RunStatus::Aborted,
            StoredStatus::Error => RunStatus::Error,
        },
        host: None,
        kind: entry.kind,
        race: entry.parent,
        reason: entry.reason.clone().filter(|_| !is_waiting(entry)),
        objective: entry.objective.clone(),
        workspace: entry.workspace.clone(),
        agent: entry.agent.clone(),
        skill: entry.skill.clone(),
        iterations: entry.iterations,
        cost: entry.cost,
        own_cost: if entry.kind == RunKind::Race { Money::ZERO } else { entry.cost },
        verified: entry.verified,
        grade: entry.grade,
        started_at: entry.started_at,
        updated_at: entry.updated_at,
        finished_at: entry.finished_at,
    }
}

/// The workspace before and after an iteration, or before and after the whole loop.
pub fn changed_trees(run: &Loop, iteration: Option<u32>) -> Result<(TreeHash, TreeHash), String> {
    let facts = run.facts();
    let Some(wanted) = iteration else { return Ok((facts.start.tree.clone(), facts.tree.clone())) };
    let Some(record) = facts.iteration(wanted) else {
        return Err(format!("there is no iteration {wanted}: the loop has {}", facts.counted()));
    };
    // One that a service refused comes again under the same number; together they are what it changed.
    let first = facts.iterations.iter().find(|record| record.iteration.0 == wanted).unwrap_or(record);
    let run = record.run.as_ref().ok_or_else(|| format!("iteration {wanted} was interrupted or still runs"))?;
    Ok((first.before.clone(), run.tree.clone()))
}
