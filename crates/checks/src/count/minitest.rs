//! minitest, also as Rails runs it, and test-unit.

use std::sync::LazyLock;

use regex::Regex;

use super::names::Ran;
use super::sums::{Counted, Gathered, Sums};
use ralph_verify::pattern;

/// `4 runs, 2 assertions, 1 failures, 1 errors, 1 skips`, and with `-v` a line for each test.
#[derive(Debug, Default)]
pub(super) struct Minitest {
    all: Gathered,
    seen: bool,
    shown: Ran,
    names_next: bool,
}

impl Minitest {
    pub(super) fn line(&mut self, line: &str) {
        static RESULT: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"^([0-9]+) (?:runs|tests), [0-9]+ assertions, ([0-9]+) failures, ([0-9]+) errors(?:, ([0-9]+) (?:skips|pendings))?",
            )
        });
        static TEST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\S+#.+) = [0-9.]+ s = ([.FES])$"));
        static FAILED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([\w:]+#[^\[]+?)(?: \[.*\])?:$"));
        if std::mem::take(&mut self.names_next)
            && let Some(found) = FAILED.captures(line)
        {
            self.all.failing.insert(&found[1]);
        } else if line.ends_with(") Failure:") || line.ends_with(") Error:") || matches!(line, "Failure:" | "Error:") {
            self.names_next = true;
        } else if line.contains(" s = ") {
            if let Some(found) = TEST.captures(line).filter(|found| &found[2] != "S") {
                self.shown.again(&found[1]);
                if &found[2] != "." {
                    self.all.failing.insert(&found[1]);
                }
            }
        } else if line.contains(" assertions, ")
            && let Some(found) = RESULT.captures(line)
        {
            let number = |at: usize| found.get(at).and_then(|text| text.as_str().parse::<u32>().ok()).unwrap_or(0);
            let (failed, skipped) = (number(2).saturating_add(number(3)), number(4));
            let passed = number(1).saturating_sub(failed).saturating_sub(skipped);
            let sums = Sums { passed, failed, skipped };
            let shown = std::mem::take(&mut self.shown);
            if shown.taken() == sums.ran() {
                self.all.ran.extend(shown);
            }
            self.all.sums.add(sums);
            self.seen = true;
        }
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some(self.all)
    }
}
