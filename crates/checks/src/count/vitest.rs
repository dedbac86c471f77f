//! vitest.

use super::names::without_time;
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, counted};

/// `      Tests  2 failed | 2 passed | 1 skipped | 1 todo (6)`
#[derive(Debug, Default)]
pub(super) struct Vitest {
    /// The tests in it are shown by the verbose reporter. The default one shows some tests of some files, without their suites.
    all: Gathered,
}

impl Recogniser for Vitest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(counts) = text.strip_prefix("Tests  ") {
            self.summary(counts.trim());
        } else if let Some(rest) = line.strip_prefix(" FAIL  ") {
            // A file that could not be loaded is named a second time, in brackets.
            self.all.failing.insert(rest.split(" [ ").next().unwrap_or(rest));
        } else if let Some(shown) = [" ✓ ", " × ", " ❯ "].iter().find_map(|mark| line.strip_prefix(mark)) {
            self.shown(shown);
        } else if text.starts_with('⎯')
            && let Some(number) = text.split("Failed Suites ").nth(1).and_then(|rest| rest.split(' ').next())
        {
            self.all.sums.count(Outcome::Failed, number.parse().unwrap_or(0));
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}

impl Vitest {
    /// `cart.test.mjs (6 tests | 2 failed) 5ms`, `cart.test.mjs > cart > total 1ms`
    fn shown(&mut self, shown: &str) {
        if let Some((file, details)) = shown.rsplit_once(" (")
            && let Some((number, _)) = details.split_once(" test")
            && number.parse::<u32>().is_ok_and(|tests| tests > 0)
        {
            self.all.ran.once(file);
        } else if shown.contains(" > ") {
            self.all.show(false, without_time(shown));
        }
    }

    fn summary(&mut self, counts: &str) {
        let counts = match counts.rsplit_once(" (") {
            Some((counts, total)) if total.ends_with(')') => counts,
            _ if counts == "no tests" => counts,
            _ => return,
        };
        let mut sums = Sums::default();
        for part in counts.split(" | ") {
            match counted(part) {
                Some((number, "passed")) => sums.passed = number,
                Some((number, "failed")) => sums.failed = number,
                Some((number, "skipped" | "todo" | "expected fail")) => sums.count(Outcome::Skipped, number),
                Some(_) | None => {}
            }
        }
        self.all.result(sums);
    }
}
