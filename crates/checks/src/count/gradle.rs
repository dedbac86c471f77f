//! Gradle and `dotnet test`, which name a result at the end of a line for each test, if they do at all.

use super::names::Ran;
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, number};
use ralph_verify::Pattern;

/// `CartTest > discount() FAILED`, then `4 tests completed, 2 failed, 1 skipped`, which is missing where no test failed.
#[derive(Debug, Default)]
pub(super) struct Gradle {
    shown: Gathered,
    counted: Option<Sums>,
}

impl Recogniser for Gradle {
    fn line(&mut self, line: &str) {
        static RESULT: Pattern =
            Pattern::new(r"^([0-9]+) tests? completed(?:, ([0-9]+) failed)?(?:, ([0-9]+) skipped)?$");
        static TEST: Pattern = Pattern::new(r"^(\w[\w.$]* > .+) (PASSED|FAILED|SKIPPED)$");
        if line.contains(" > ")
            && let Some(found) = TEST.captures(line)
        {
            let outcome = match &found[2] {
                "SKIPPED" => Outcome::Skipped,
                "FAILED" => Outcome::Failed,
                _ => Outcome::Passed,
            };
            self.shown.test(outcome, &found[1]);
        } else if line.contains(" completed")
            && let Some(found) = RESULT.captures(line)
        {
            let sums = Sums::of_total(number(&found, 1), number(&found, 2), number(&found, 3));
            self.counted.get_or_insert_default().add(sums);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        let Self { mut shown, counted } = *self;
        if let Some(counted) = counted {
            if shown.ran.taken() != counted.ran() || shown.sums.passed == 0 {
                // Only failing tests are named, as it is usual: once they pass, they are not.
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
}

impl Recogniser for Dotnet {
    fn line(&mut self, line: &str) {
        static RESULT: Pattern = Pattern::new(
            r"^(?:Passed|Failed|Skipped)! +- Failed: +([0-9]+), Passed: +([0-9]+), Skipped: +([0-9]+), Total: +[0-9]+",
        );
        static TEST: Pattern = Pattern::new(r"^  (Passed|Failed) (\S.*) \[(?:< )?[0-9][0-9a-z. ]*\]$");
        if line.starts_with("  ")
            && let Some(found) = TEST.captures(line)
        {
            self.all.show(&found[1] == "Failed", &found[2]);
        } else if line.contains("! ")
            && let Some(found) = RESULT.captures(line)
        {
            self.all.result(Sums { passed: number(&found, 2), failed: number(&found, 1), skipped: number(&found, 3) });
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}
