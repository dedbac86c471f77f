//! What a run with changed tests says about the checks: whether they can still fail.

use ralph_model::{CheckOutcome, Ended, Pin, PinKind, Tripwire, Verdict};

use crate::tripwire::{Judgement, Plant, Seen, Why, judge};

/// A run of the checks with failing tests planted, and what is known of the runs before.
#[derive(Debug, Clone, Copy)]
pub struct Confirmation<'a> {
    /// What was planted.
    pub plants: &'a [Plant],
    /// How the checks ended.
    pub outcomes: &'a [CheckOutcome],
    /// The verdict that has to be confirmed.
    pub verdict: &'a Verdict,
    /// What the checks said before the first iteration.
    pub baseline: Option<&'a Verdict>,
    /// The lines of the outputs that name anything planted.
    pub output: &'a str,
    /// Planted files that the outputs of the verdict show to have run.
    pub shown: &'a [String],
}

/// What to try where planted tests show nothing, or none could be planted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fallback {
    /// The checks failed on the original code and have to fail there again.
    OriginalCode,
    /// Nothing: the checks cannot be asked to fail.
    None(Tripwire),
}

/// Chooses what to try instead of planted tests.
#[must_use]
pub fn fallback(baseline: Option<&Verdict>) -> Fallback {
    let failed = |check: &CheckOutcome| !check.passed && !check.flaky;
    if baseline.is_some_and(|baseline| baseline.checks.iter().any(failed)) {
        return Fallback::OriginalCode;
    }
    let why = "the test runner is unknown, and the checks passed before the first iteration".to_owned();
    Fallback::None(Tripwire::NotPossible { why })
}

/// What a run on the original code says.
#[must_use]
pub fn judge_original(outcomes: &[CheckOutcome]) -> Tripwire {
    match stopped(outcomes) {
        Some(stopped) => stopped,
        None if outcomes.iter().all(|outcome| outcome.passed) => {
            Tripwire::Passed { planted: Vec::new(), detail: String::new() }
        }
        None => Tripwire::BaselineFails,
    }
}

/// The same command without the habit of `cargo test` to stop at the first test program that fails: every one has to show
/// what was planted in it.
#[must_use]
pub fn to_the_end(command: &str) -> String {
    match command.strip_prefix("cargo test") {
        Some(rest) if (rest.is_empty() || rest.starts_with(' ')) && !rest.contains("--no-fail-fast") => {
            format!("cargo test --no-fail-fast{rest}")
        }
        _ => command.to_owned(),
    }
}

/// Checks that were cut short failed for no reason of their own.
#[must_use]
pub fn stopped(outcomes: &[CheckOutcome]) -> Option<Tripwire> {
    let cut = outcomes.iter().any(|outcome| outcome.ended == Ended::Stopped);
    cut.then(|| Tripwire::NotPossible { why: "the loop was asked to stop".to_owned() })
}

/// What the outcomes mean; nothing where they mean neither one nor the other.
#[must_use]
pub fn judge_run(confirmed: &Confirmation<'_>) -> Option<Tripwire> {
    let Confirmation { plants, outcomes, verdict, baseline, output, shown } = *confirmed;
    let planted: Vec<String> = plants.iter().map(|plant| plant.path.clone()).collect();
    let failing: Vec<String> =
        outcomes.iter().filter_map(|outcome| outcome.tests.as_ref()).flat_map(|tests| tests.failing.clone()).collect();
    let due = |path: &str| shown.iter().any(|shown| shown == path);
    let seen = Seen { exit_ok: outcomes.iter().all(|outcome| outcome.passed), failing: &failing, output };
    match judge(plants, &due, &seen) {
        Judgement::Reported => Some(match others(&failing, plants, baseline) {
            others if others.is_empty() => Tripwire::Reported { planted },
            failing => Tripwire::OthersFail { failing },
        }),
        // Checks that counted tests a moment ago do not come as far now: whatever broke them, they confirm nothing.
        Judgement::NotReported { why: Why::FailedOtherwise, paths } => {
            let counted = |check: &CheckOutcome| check.tests.as_ref().is_some_and(|tests| tests.passed > 0);
            verdict.checks.iter().any(counted).then_some(Tripwire::Broken { planted: paths })
        }
        Judgement::NotReported { paths, why } => Some(Tripwire::Passed { planted: paths, detail: why.to_string() }),
    }
}

/// Tests that failed besides those that were planted, of those that are known by name.
fn others(failing: &[String], plants: &[Plant], baseline: Option<&Verdict>) -> Vec<String> {
    let known: Vec<&String> = baseline
        .into_iter()
        .flat_map(|verdict| &verdict.checks)
        .filter_map(|check| check.tests.as_ref())
        .flat_map(|tests| tests.names.iter().chain(&tests.failing))
        .collect();
    let is_planted = |name: &str| {
        plants.iter().any(|plant| name.ends_with(&plant.path) || plant.marks.iter().any(|mark| name.contains(mark)))
    };
    failing.iter().filter(|name| known.contains(name) && !is_planted(name)).take(20).cloned().collect()
}

/// What a file is for the tripwire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It holds tests.
    Test,
    /// Tests are compiled with it, or it steers them.
    Source,
}

/// What a file with this pin is for the tripwire, if anything.
#[must_use]
pub fn role(path: &str, pin: Option<&Pin>) -> Option<Role> {
    let is_code = is_code(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_manifest =
        matches!(name, "Cargo.toml" | "package.json" | "pyproject.toml" | "pytest.ini" | "setup.cfg" | "tox.ini");
    match pin.map(|pin| pin.kind) {
        _ if is_manifest => Some(Role::Source),
        Some(PinKind::Frozen) if is_code => Some(Role::Test),
        // The tests of a Rust package, of which only what was there counts.
        Some(PinKind::Parts) if is_code && is_rust_test(path) => Some(Role::Test),
        Some(PinKind::Parts) if is_code => Some(Role::Source),
        _ if path.ends_with(".go") => Some(Role::Source),
        _ => None,
    }
}

/// Whether a file holds source code in a language that has tests.
#[must_use]
pub fn is_code(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "rs" | "py" | "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "go")
}

/// Whether a file holds tests of a Rust package.
#[must_use]
pub fn is_rust_test(path: &str) -> bool {
    path.ends_with(".rs") && (path.starts_with("tests/") || path.contains("/tests/"))
}

#[cfg(test)]
#[path = "confirm_tests.rs"]
mod tests;
