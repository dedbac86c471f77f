//! Gradle and `dotnet test`, which name a result at the end of a line for each test, if they do at all.

use std::sync::LazyLock;

use regex::Regex;

use super::names::Ran;
use super::sums::{Counted, Gathered, Sums};
use ralph_verify::pattern;

/// `CartTest > discount() FAILED`, then `4 tests completed, 2 failed, 1 skipped`, which is missing where no test failed.
#[derive(Debug, Default)]
pub(super) struct Gradle {
    shown: Gathered,
    counted: Option<Sums>,
}

impl Gradle {
    pub(super) fn line(&mut self, line: &str) {
        static RESULT: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^([0-9]+) tests? completed(?:, ([0-9]+) failed)?(?:, ([0-9]+) skipped)?$"));
        static TEST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\w[\w.$]* > .+) (PASSED|FAILED|SKIPPED)$"));
        if line.contains(" > ")
            && let Some(found) = TEST.captures(line)
        {
            let (name, shown) = (&found[1], &mut self.shown);
            let sums = &mut shown.sums;
            match &found[2] {
                "SKIPPED" => sums.skipped = sums.skipped.saturating_add(1),
                "FAILED" => {
                    sums.failed = sums.failed.saturating_add(1);
                    shown.failing.insert(name);
                    shown.ran.again(name);
                }
                _ => {
                    sums.passed = sums.passed.saturating_add(1);
                    shown.ran.again(name);
                }
            }
        } else if line.contains(" completed")
            && let Some(found) = RESULT.captures(line)
        {
            let number = |at: usize| found.get(at).and_then(|text| text.as_str().parse::<u32>().ok()).unwrap_or(0);
            let (failed, skipped) = (number(2), number(3));
            let passed = number(1).saturating_sub(failed).saturating_sub(skipped);
            self.counted.get_or_insert_default().add(Sums { passed, failed, skipped });
        }
    }

    pub(super) fn finish(self) -> Counted {
        let Self { mut shown, counted } = self;
        if let Some(counted) = counted {
            if shown.ran.taken() != counted.ran() {
                // Only failing tests are named, as it is usual.
                shown.ran = Ran::default();
            }
            shown.sums = counted;
        }
        (counted.is_some() || shown.sums != Sums::default()).then_some(shown)
    }
}

/// `Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 12 ms - Shop.Tests.dll (net8.0)` for each
/// project, after `  Failed Shop.Tests.CartTests.Discount [3 ms]`.
#[derive(Debug, Default)]
pub(super) struct Dotnet {
    all: Gathered,
    shown: Ran,
    seen: bool,
}

impl Dotnet {
    pub(super) fn line(&mut self, line: &str) {
        static RESULT: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"^(?:Passed|Failed|Skipped)! +- Failed: +([0-9]+), Passed: +([0-9]+), Skipped: +([0-9]+), Total: +[0-9]+",
            )
        });
        static TEST: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^  (Passed|Failed) (\S.*) \[(?:< )?[0-9][0-9a-z. ]*\]$"));
        if line.starts_with("  ")
            && let Some(found) = TEST.captures(line)
        {
            self.shown.again(&found[2]);
            if &found[1] == "Failed" {
                self.all.failing.insert(&found[2]);
            }
        } else if line.contains("! ")
            && let Some(found) = RESULT.captures(line)
        {
            let number = |at: usize| found.get(at).and_then(|text| text.as_str().parse::<u32>().ok()).unwrap_or(0);
            self.all.sums.add(Sums { passed: number(2), failed: number(1), skipped: number(3) });
            self.seen = true;
        }
    }

    pub(super) fn finish(mut self) -> Counted {
        if self.shown.taken() == self.all.sums.ran() {
            self.all.ran.extend(self.shown);
        }
        self.seen.then_some(self.all)
    }
}
