//! What checks found, bound to the tree that they ran on.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::is_default;
use crate::{Ended, Expectation, Millis, OutputRef, Tamper, ToolEvidence, TreeHash, Tripwire};

/// A failing output reduced to what does not change between two runs of the same failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Signature {
    /// Equal for equal failures.
    pub hash: String,
    /// The first line of the failure, for people.
    pub headline: String,
}

/// Tests as a runner reported them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestTally {
    /// Tests that passed.
    pub passed: u32,
    /// Tests that failed or broke.
    pub failed: u32,
    /// Tests that did not run.
    #[serde(default)]
    pub skipped: u32,
    /// Names of failing tests where the runner prints them, sorted, without repeats, at most [`TestTally::MAX_NAMES`].
    #[serde(default)]
    pub failing: Vec<String>,
    /// Names of all tests that ran and were not skipped, sorted, without repeats, at most [`TestTally::MAX_TESTS`]. Kept
    /// of the run before the first iteration only: later runs are compared with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl TestTally {
    /// How many names of failing tests are kept.
    pub const MAX_NAMES: usize = 200;
    /// How many names of all tests are kept.
    pub const MAX_TESTS: usize = 10_000;
}

/// Fewer tests than before the first iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shrunk {
    /// How many tests ran then.
    pub before: u32,
    /// How many ran now.
    pub now: u32,
    /// Tests that were named then and are not now, at most [`Shrunk::MAX_NAMES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Shrunk {
    /// How many names of missing tests are kept.
    pub const MAX_NAMES: usize = 50;
    /// How many of them a line of evidence shows.
    const SHOWN: usize = 5;

    /// How many tests are gone, as far as anybody knows.
    pub fn count(&self) -> u32 {
        let named = u32::try_from(self.missing.len()).unwrap_or(u32::MAX);
        self.before.saturating_sub(self.now).max(named).max(1)
    }
}

/// `3 of 12 tests did not run: adds, subtracts, …`
impl fmt::Display for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.now {
            0 if self.before == 0 => f.write_str("no test ran")?,
            0 => write!(f, "no test ran, {} did before the first iteration", self.before)?,
            _ => write!(f, "{} of {} tests did not run", self.count(), self.before)?,
        }
        if !self.missing.is_empty() {
            let shown: Vec<&str> = self.missing.iter().take(Self::SHOWN).map(String::as_str).collect();
            let rest = if self.missing.len() > Self::SHOWN { ", …" } else { "" };
            write!(f, ": {}{rest}", shown.join(", "))?;
        }
        Ok(())
    }
}

/// One verification command and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckOutcome {
    /// The command as configured.
    pub command: String,
    /// Whether it counts as passed.
    pub passed: bool,
    /// How its process ended.
    pub ended: Ended,
    /// Tests, when its output or its report files name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestTally>,
    /// Tests that ran before the first iteration and did not run now; then it has not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<Shrunk>,
    /// It failed and then passed on the same tree; then it counts neither as passed nor as failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// How often it ran besides the first time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retries: u32,
    /// How long it ran.
    pub duration: Millis,
    /// What a prompt shows of a failure: the first failure whole, then the tail. Inert text, at most 12 KiB.
    #[serde(default)]
    pub excerpt: String,
    /// What a failure is recognised by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
    /// Where the whole output is.
    pub output: OutputRef,
}

impl CheckOutcome {
    /// Failing tests where they are counted, else one for a failing command.
    pub fn failing(&self) -> u32 {
        let counted = self.tests.as_ref().map_or(0, |tests| tests.failed);
        let shrunk = self.shrunk.as_ref().map_or(0, Shrunk::count);
        match counted.saturating_add(shrunk) {
            // A flake is neither: the next run may end either way.
            _ if self.flaky => 0,
            0 => u32::from(!self.passed),
            failing => failing,
        }
    }
}

/// Characters of a command that a line of evidence shows.
const MAX_COMMAND: usize = 200;

/// `verify: npm test (exit code 1, 2 failing)`, `verify: cargo test (12 passing)`, `verify: make check (exit code 0)`.
impl From<&CheckOutcome> for ToolEvidence {
    fn from(check: &CheckOutcome) -> Self {
        let mut command = check.command.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = command.char_indices().nth(MAX_COMMAND) {
            command.truncate(at);
            command.push('…');
        }
        let details = match &check.tests {
            _ if check.flaky => "flaky: it failed, then passed on the same files".to_owned(),
            Some(tests) if check.passed => format!("{} passing", tests.passed),
            Some(tests) if tests.failed > 0 => format!("{}, {} failing", check.ended, tests.failed),
            _ => check.ended.to_string(),
        };
        let shrunk = check.shrunk.as_ref().map_or_else(String::new, |shrunk| format!("; {shrunk}"));
        let summary = format!("{command} ({details}{shrunk})");
        if check.passed { Self::ok("verify", summary) } else { Self::error("verify", summary) }
    }
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// What was expected.
    pub expectation: Expectation,
    /// What was seen instead.
    pub why: String,
}

/// What lay in a workspace besides its tree, each as one hash: ignored files and installed packages. They are no part of what
/// is verified, and yet a reason why the same tree fails once and passes later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UntrackedDigest {
    /// When the checks began.
    pub before: String,
    /// When they had ended.
    pub after: String,
}

/// The outcome of all checks on one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The tree that the checks ran on.
    pub tree: TreeHash,
    /// Every check that ran, in order.
    pub checks: Vec<CheckOutcome>,
    /// Expectations that were not met.
    #[serde(default)]
    pub missing: Vec<Missing>,
    /// What the checks rest on and what is not as it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<Tamper>,
    /// Pinned files that are not as they were, with the user's permission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// Installed packages that are not as they were at the start, as far as that is no tampering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Places in the work that can behave differently where it is checked, or that lead out of the tree: `FILE: SIGN`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<String>,
    /// Files that changed while the checks ran, so that it is unknown what they ran on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
    /// Files of the work that the checks themselves write, seen before the first iteration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// What lay in the workspace besides its tree.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beside: UntrackedDigest,
    /// Whether the checks showed that they can still fail; only known of a verdict that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tripwire: Option<Tripwire>,
    /// What they printed when they were asked to fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tripwire_outputs: Vec<OutputRef>,
}

impl Verdict {
    /// What checks found where nothing else is to be said.
    pub fn new(tree: TreeHash, checks: Vec<CheckOutcome>) -> Self {
        Self { tree, checks, ..Self::default() }
    }

    /// Whether everything passed. A verdict over no checks at all passes nothing.
    pub fn passed(&self) -> bool {
        !self.checks.is_empty()
            && self.checks.iter().all(|check| check.passed)
            && self.missing.is_empty()
            && !self.is_void()
    }

    /// Whether what the checks said is worth nothing: they did not run on what they should have run on, or could not
    /// have failed.
    pub fn is_void(&self) -> bool {
        !self.moved.is_empty()
            || self.tampered.iter().any(|tamper| !tamper.was_undone())
            || self.tripwire.as_ref().is_some_and(|tripwire| !tripwire.holds())
    }

    /// Whether a check failed and then passed on the same tree, and nothing else is wrong.
    pub fn is_flaky(&self) -> bool {
        self.checks.iter().any(|check| check.flaky)
            && self.checks.iter().all(|check| check.passed || check.flaky)
            && self.missing.is_empty()
            && !self.is_void()
    }

    /// Whether checks that find this before the first iteration prove nothing by passing later, so that a claim is needed, too.
    pub fn is_green_start(&self) -> bool {
        self.passed() || self.is_flaky()
    }

    /// Why the checks count for nothing although their commands may have passed, in words.
    pub fn doubt(&self) -> Option<String> {
        if let Some(tamper) = self.tampered.iter().find(|tamper| !tamper.was_undone() && !tamper.is_tripwire()) {
            return Some(format!("tampered with: {tamper}"));
        }
        if let Some(tripwire) = self.tripwire.as_ref().filter(|tripwire| !tripwire.holds()) {
            return Some(tripwire.to_string());
        }
        if let Some(path) = self.moved.first() {
            return Some(format!("{path} changed while or after they ran"));
        }
        if let Some(shrunk) = self.checks.iter().find_map(|check| check.shrunk.as_ref()) {
            return Some(shrunk.to_string());
        }
        self.is_flaky().then(|| "flaky: they failed and passed on the same files".to_owned())
    }

    /// The score that iterations are compared by: failing tests and commands and unmet expectations.
    pub fn failing(&self) -> u32 {
        let checks = self.checks.iter().map(CheckOutcome::failing).fold(0, u32::saturating_add);
        let failing = checks.saturating_add(u32::try_from(self.missing.len()).unwrap_or(u32::MAX));
        if failing == 0 && self.is_void() { 1 } else { failing }
    }

    /// Passing and failing tests, counting a command as one test where its tests are not known.
    pub fn tally(&self) -> (u32, u32) {
        self.checks.iter().fold((0, 0), |(passing, failing), check| {
            let passed = check.tests.as_ref().map_or(u32::from(check.passed), |tests| tests.passed);
            // What a runner prints may be any number.
            (u32::saturating_add(passing, passed), u32::saturating_add(failing, check.failing()))
        })
    }

    /// What fails, by name: equal sets mean that nothing got better or worse.
    pub fn failing_set(&self) -> Vec<String> {
        let mut set: Vec<String> = Vec::new();
        for check in self.checks.iter().filter(|check| !check.passed && !check.flaky) {
            match &check.tests {
                Some(tests) if !tests.failing.is_empty() => {
                    set.extend(tests.failing.iter().map(|name| format!("{}: {name}", check.command)));
                }
                _ => set.push(format!("{}: {}", check.command, check.failing())),
            }
        }
        set.extend(self.checks.iter().filter_map(|check| check.shrunk.as_ref()).map(ToString::to_string));
        set.extend(self.missing.iter().map(|missing| missing.expectation.to_string()));
        set.extend(self.tampered.iter().map(ToString::to_string));
        set.extend(self.moved.iter().map(|path| format!("moved: {path}")));
        set.extend(self.tripwire.as_ref().filter(|tripwire| !tripwire.holds()).map(ToString::to_string));
        set.sort();
        set
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
