//! minitest, also as Rails runs it, and test-unit.

use super::sums::{Counted, Gathered, Recogniser, Sums, number};
use super::test_unit::TestUnit;
use ralph_verify::Pattern;

/// `4 runs, 2 assertions, 1 failures, 1 errors, 1 skips`, and with `-v` a line for each test.
#[derive(Debug, Default)]
pub(super) struct Minitest {
    all: Gathered,
    names_next: bool,
    test_unit: TestUnit,
}

impl Recogniser for Minitest {
    fn line(&mut self, line: &str) {
        static RESULT: Pattern = Pattern::new(
            r"^([0-9]+) (?:runs|tests), [0-9]+ assertions, ([0-9]+) failures, ([0-9]+) errors(?:, ([0-9]+) (?:skips|pendings))?(?:, ([0-9]+) omissions)?",
        );
        static TEST: Pattern = Pattern::new(r"^(\S+#.+) = [0-9.]+ s = ([.FES])$");
        static FAILED: Pattern = Pattern::new(r"^([\w:]+#[^\[]+?)(?: \[.*\])?:$");
        self.test_unit.line(line, &mut self.all);
        if std::mem::take(&mut self.names_next)
            && let Some(found) = FAILED.captures(line)
        {
            self.all.failing.insert(&found[1]);
        } else if line.ends_with(") Failure:") || line.ends_with(") Error:") || matches!(line, "Failure:" | "Error:") {
            self.names_next = true;
        } else if line.contains(" s = ") {
            if let Some(found) = TEST.captures(line).filter(|found| &found[2] != "S") {
                self.all.show(&found[2] != ".", &found[1]);
            }
        } else if line.contains(" assertions, ")
            && let Some(found) = RESULT.captures(line)
        {
            let failed = number(&found, 2).saturating_add(number(&found, 3));
            let skipped = number(&found, 4).saturating_add(number(&found, 5));
            let sums = Sums::of_total(number(&found, 1), failed, skipped);
            // Each run by itself: of one the tests may be shown and of the next one not.
            let shown = std::mem::take(&mut self.all.shown);
            if shown.taken() == sums.ran() {
                self.all.ran.extend(shown);
            }
            self.all.result(sums);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}
