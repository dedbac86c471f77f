//! `CTest`.

use std::sync::LazyLock;

use regex::Regex;

use super::sums::{Counted, Gathered};
use ralph_verify::pattern;

/// `2/4 Test #2: discount .........................***Failed    0.01 sec` for each test, then `50% tests passed, 2 tests failed
/// out of 4`.
#[derive(Debug, Default)]
pub(super) struct Ctest {
    all: Gathered,
    seen: bool,
}

impl Ctest {
    pub(super) fn line(&mut self, line: &str) {
        static TEST: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^ *[0-9]+/[0-9]+ Test +#[0-9]+: (.+?) \.*(?: +(Passed) |.*\*\*\*(.*))"));
        static RESULT: LazyLock<Regex> =
            LazyLock::new(|| pattern(r"^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+"));
        if line.contains(" Test ")
            && let Some(found) = TEST.captures(line)
        {
            let (name, sums) = (&found[1], &mut self.all.sums);
            if found.get(2).is_some() {
                sums.passed = sums.passed.saturating_add(1);
                self.all.ran.again(name);
            } else if found.get(3).is_some_and(|result| result.as_str().starts_with("Skipped")) {
                sums.skipped = sums.skipped.saturating_add(1);
            } else {
                sums.failed = sums.failed.saturating_add(1);
                self.all.failing.insert(name);
                self.all.ran.again(name);
            }
        } else if line == "No tests were found!!!" || (line.contains("% tests passed, ") && RESULT.is_match(line)) {
            self.seen = true;
        }
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some(self.all)
    }
}
