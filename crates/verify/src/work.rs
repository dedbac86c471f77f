//! What counts as a change of the work while checks run.

use ralph_model::{Change, ChangeKind, CheckOutcome, Pin, PinKind, Tamper};

use crate::confirm::is_code;

/// Files that package managers rewrite when a check asks them to build: no sign of anything.
pub const LOCK_FILES: [&str; 12] = [
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
    "composer.lock",
];

/// What tools write for themselves beside the work, where git does not ignore it.
const OWN_CACHES: [&str; 7] = [
    ".phpunit.result.cache",
    ".php-cs-fixer.cache",
    ".eslintcache",
    ".stylelintcache",
    ".prettiercache",
    ".coverage",
    ".rspec_status",
];

/// Files of the work among changes: what is new is a by-product of the checks, and lock files and caches belong to tools.
pub fn moved_work(changes: Vec<Change>) -> Vec<String> {
    let of_tools = |path: &str| is_lock(path) || OWN_CACHES.contains(&path.rsplit('/').next().unwrap_or(path));
    let moved = changes.into_iter().filter(|change| change.kind != ChangeKind::Added && !of_tools(&change.path));
    moved.map(|change| change.path).collect()
}

fn is_lock(path: &str) -> bool {
    LOCK_FILES.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Whether checks read a pinned file and do not write it, not even with the content that it has: tests and their helpers, and
/// what steers a runner. Fixtures, snapshots and other data are often written again by the tests themselves.
pub fn is_left_alone(path: &str, pin: Option<&Pin>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_script = !name.contains('.') || SCRIPTS.iter().any(|extension| name.ends_with(extension));
    match pin.map(|pin| pin.kind) {
        Some(PinKind::Steering) => !is_lock(path),
        Some(PinKind::Frozen) => is_code(path) || is_script,
        Some(
            PinKind::Absent
            | PinKind::Modules
            | PinKind::Built
            | PinKind::Parts
            | PinKind::Packages
            | PinKind::Installed,
        )
        | None => false,
    }
}

/// How scripts and sources end that [`is_code`] does not know.
const SCRIPTS: [&str; 14] =
    [".sh", ".bash", ".zsh", ".bats", ".pl", ".lua", ".kt", ".scala", ".cs", ".cpp", ".cc", ".swift", ".exs", ".mk"];

/// Whether passing checks have to run once more because they changed the work themselves, a formatter among them perhaps: what
/// counts is a run that leaves the work alone.
pub fn needs_another_run(moved: &[String], checks: &[CheckOutcome], tampered: &[Tamper]) -> bool {
    !moved.is_empty() && checks.iter().all(|check| check.passed) && tampered.iter().all(Tamper::was_undone)
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
