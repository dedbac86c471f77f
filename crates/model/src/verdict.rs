//! What checks found, bound to the tree that they ran on.

use serde::{Deserialize, Serialize};

use crate::{Ended, Expectation, Millis, OutputRef, ToolEvidence, TreeHash};

/// A failing output reduced to what does not change between two runs of the same failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Signature {
    /// Equal for equal failures.
    pub hash: String,
    /// The first line of the failure, for people.
    pub headline: String,
}

/// Tests as a runner reported them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestTally {
    /// Tests that passed.
    pub passed: u32,
    /// Tests that failed or broke.
    pub failed: u32,
    /// Tests that did not run.
    #[serde(default)]
    pub skipped: u32,
    /// Names of failing tests where the runner prints them, sorted, without repeats, at most [`TestTally::MOST_NAMES`].
    #[serde(default)]
    pub failing: Vec<String>,
}

impl TestTally {
    /// How many names of failing tests are kept.
    pub const MOST_NAMES: usize = 200;
}

/// One verification command and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// How long it ran.
    pub duration: Millis,
    /// What a prompt shows of a failure: the first failure whole, then the tail. Inert text, at most 16 KiB.
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
    #[must_use]
    pub fn failing(&self) -> u32 {
        match &self.tests {
            Some(tests) if tests.failed > 0 => tests.failed,
            _ => u32::from(!self.passed),
        }
    }
}

/// Characters of a command that a line of evidence shows.
const LONGEST_COMMAND: usize = 200;

/// `verify: npm test (exit code 1, 2 failing)`, `verify: cargo test (12 passing)`, `verify: make check (exit code 0)`.
impl From<&CheckOutcome> for ToolEvidence {
    fn from(check: &CheckOutcome) -> Self {
        let mut command = check.command.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = command.char_indices().nth(LONGEST_COMMAND) {
            command.truncate(at);
            command.push('…');
        }
        let details = match &check.tests {
            Some(tests) if check.passed => format!("{} passing", tests.passed),
            Some(tests) if tests.failed > 0 => format!("{}, {} failing", check.ended, tests.failed),
            _ => check.ended.to_string(),
        };
        let summary = format!("{command} ({details})");
        if check.passed { Self::ok("verify", summary) } else { Self::error("verify", summary) }
    }
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// What was expected.
    pub expectation: Expectation,
    /// What was seen instead.
    pub why: String,
}

/// The outcome of all checks on one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The tree that the checks ran on.
    pub tree: TreeHash,
    /// Every check that ran, in order.
    pub checks: Vec<CheckOutcome>,
    /// Expectations that were not met.
    #[serde(default)]
    pub missing: Vec<Missing>,
}

impl Verdict {
    /// Whether everything passed. A verdict over no checks at all passes nothing.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.passed) && self.missing.is_empty()
    }

    /// The score that iterations are compared by: failing tests and commands and unmet expectations.
    #[must_use]
    pub fn failing(&self) -> u32 {
        let checks = self.checks.iter().map(CheckOutcome::failing).fold(0, u32::saturating_add);
        checks.saturating_add(u32::try_from(self.missing.len()).unwrap_or(u32::MAX))
    }

    /// Passing and failing tests, counting a command as one test where its tests are not known.
    #[must_use]
    pub fn tally(&self) -> (u32, u32) {
        self.checks.iter().fold((0, 0), |(passing, failing), check| {
            let passed = check.tests.as_ref().map_or(u32::from(check.passed), |tests| tests.passed);
            // What a runner prints may be any number.
            (u32::saturating_add(passing, passed), u32::saturating_add(failing, check.failing()))
        })
    }

    /// What fails, by name: equal sets mean that nothing got better or worse.
    #[must_use]
    pub fn failing_set(&self) -> Vec<String> {
        let mut set: Vec<String> = Vec::new();
        for check in self.checks.iter().filter(|check| !check.passed) {
            match &check.tests {
                Some(tests) if !tests.failing.is_empty() => {
                    set.extend(tests.failing.iter().map(|name| format!("{}: {name}", check.command)));
                }
                _ => set.push(format!("{}: {}", check.command, check.failing())),
            }
        }
        set.extend(self.missing.iter().map(|missing| missing.expectation.to_string()));
        set.sort();
        set
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
