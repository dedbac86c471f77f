//! What counts as a change of the work while checks run.

use ralph_model::{Change, ChangeKind, CheckOutcome, Tamper};

/// Files that package managers rewrite when a check asks them to build: no sign of anything.
pub const LOCK_FILES: [&str; 11] = [
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "go.sum",
    "Gemfile.lock",
];

/// Files of the work among changes: what is new is a by-product of the checks, and lock files belong to tools.
#[must_use]
pub fn moved_work(changes: Vec<Change>) -> Vec<String> {
    let is_lock = |path: &str| LOCK_FILES.contains(&path.rsplit('/').next().unwrap_or(path));
    let moved = changes.into_iter().filter(|change| change.kind != ChangeKind::Added && !is_lock(&change.path));
    moved.map(|change| change.path).collect()
}

/// Whether passing checks have to run once more because they changed the work themselves, a formatter among them perhaps: what
/// counts is a run that leaves the work alone.
#[must_use]
pub fn needs_another_run(moved: &[String], checks: &[CheckOutcome], tampered: &[Tamper]) -> bool {
    !moved.is_empty() && checks.iter().all(|check| check.passed) && tampered.iter().all(Tamper::was_undone)
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
