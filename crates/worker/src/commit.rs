//! What a commit on the branch of a task records: the task, and the lease of the worker that made it. By that a worker tells what an
//! earlier worker pushed late from what a person pushed.

use ralph_model::{LoopId, TaskId};
use ralph_text::sanitize;

use crate::error::Error;

pub(crate) const NAME: &str = "Ralph";
pub(crate) const EMAIL: &str = "ralph@localhost";

/// The records of commits that [`refuse_foreign`] reads, as `git rev-list --format` writes them after a line with the hash.
pub(crate) const FORMAT: &str = "--format=%an <%ae>%n%cn <%ce>%n%B%x00";

pub(crate) fn message(subject: &str, task: TaskId, run: Option<LoopId>, epoch: u64) -> String {
    let run = run.map(|run| format!(", loop {run}")).unwrap_or_default();
    format!("{subject}\n\nRalph task {task}{run}, lease {epoch}\n")
}

/// Refuses commits that the worker with this lease must not follow with its own: of a person, and of a worker with a newer lease.
pub(crate) fn refuse_foreign(records: &str, task: TaskId, epoch: u64) -> Result<(), Error> {
    for record in records.split('\0').map(str::trim_start).filter(|record| !record.is_empty()) {
        let mut lines = record.lines();
        let mut next = || lines.next().unwrap_or_default();
        let (hash, author, committer, subject) = (next(), next(), next(), next());
        let hash = hash.trim_start_matches("commit ").get(..12).unwrap_or_default();
        let ralph = format!("{NAME} <{EMAIL}>");
        let made = lines.rev().find_map(|line| line.strip_prefix(&format!("Ralph task {task}")));
        match made.filter(|_| author == ralph && committer == ralph) {
            None => {
                let who = sanitize(if author == ralph { committer } else { author });
                let subject = sanitize(subject);
                return Err(Error::Refused(format!(
                    "commit {hash} of {who} is on it ({subject}), and is not overwritten"
                )));
            }
            // Earlier versions recorded no lease, and a fleet is updated forwards.
            Some(made) => {
                let lease = made.rsplit_once(", lease ").and_then(|(_, lease)| lease.parse().ok()).unwrap_or(0);
                if lease > epoch {
                    return Err(Error::Refused(format!("commit {hash} is of a worker that took the task over")));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;
