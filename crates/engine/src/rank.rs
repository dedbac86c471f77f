//! Which of two verdicts is better. A run that could not be counted, such as one that did not compile, reports few failures and
//! is worth less than any run that could.

use ralph_model::{CheckOutcome, TestTally, Verdict};

use crate::event::V4_COUNTED_RUNS;
use crate::facts::Facts;

/// How good a verdict is; the least is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// Tests that ran elsewhere did not run.
    uncounted: bool,
    /// Failing tests among those that ran before the first iteration.
    expected: u32,
    failing: u32,
}

impl Facts {
    pub(crate) fn rank(&self, verdict: &Verdict) -> Rank {
        let failing = verdict.failing();
        if self.start.behaviour < V4_COUNTED_RUNS {
            return Rank { uncounted: false, expected: 0, failing };
        }
        let checks = verdict.checks.iter().filter(|check| !check.passed && !check.flaky);
        let expected = checks.map(|check| self.failing_of_expected(check)).fold(0, u32::saturating_add);
        Rank { uncounted: !self.could_be_counted(verdict), expected, failing }
    }

    /// Whether every failing check ran as many tests as its command is known to have, so that its failures can be compared.
    pub fn could_be_counted(&self, verdict: &Verdict) -> bool {
        verdict.checks.iter().filter(|check| !check.passed && !check.flaky).all(|check| {
            let known = self.known_tests(&check.command);
            check.tests.as_ref().map_or(known == 0, |tests| ran(tests) >= known)
        })
    }

    /// How many tests a command has: those that ran before the first iteration, unless none passed then because nothing could
    /// run; then the most that ran since.
    fn known_tests(&self, command: &str) -> u32 {
        let tally = |verdict: &Verdict| {
            let check = verdict.checks.iter().find(|check| check.command == command)?;
            check.tests.clone()
        };
        let at_start = self.baseline.as_ref().and_then(tally);
        match at_start {
            Some(tests) if tests.passed > 0 => ran(&tests),
            start => {
                let later = self.iterations.iter().filter_map(|record| record.verdict.as_ref()).filter_map(tally);
                let most = later.filter(|tests| tests.passed > 0).map(|tests| ran(&tests)).max();
                most.or(start.as_ref().map(ran)).unwrap_or(0)
            }
        }
    }

    /// Failing tests that ran before the first iteration, where all are named; else all.
    fn failing_of_expected(&self, check: &CheckOutcome) -> u32 {
        let before = self.baseline.iter().flat_map(|verdict| &verdict.checks).find(|one| one.command == check.command);
        match (before.and_then(|before| before.tests.as_ref()), &check.tests) {
            (Some(before), Some(now)) if !before.names.is_empty() && now.failing.len() == now.failed as usize => {
                let expected = now.failing.iter().filter(|name| before.names.contains(name)).count();
                u32::try_from(expected).unwrap_or(u32::MAX)
            }
            _ => check.failing(),
        }
    }
}

const fn ran(tests: &TestTally) -> u32 {
    tests.passed.saturating_add(tests.failed)
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
