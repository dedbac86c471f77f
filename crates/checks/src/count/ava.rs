//! AVA.

use super::names::without_time;
use super::sums::{Counted, Gathered, Outcome, Recogniser, counted};

/// A line for each test, then `1 test failed`, `2 tests passed`: how many passed is not said where some failed.
#[derive(Debug, Default)]
pub(super) struct Ava {
    all: Gathered,
}

impl Recogniser for Ava {
    fn line(&mut self, line: &str) {
        let Some(text) = line.strip_prefix("  ").filter(|text| !text.starts_with(' ')) else { return };
        if let Some(name) = text.strip_prefix("✘ [fail]: ") {
            self.all.show(true, without_time(name));
        } else if let Some(name) = text.strip_prefix("✔ ") {
            self.all.show(false, without_time(name));
        } else if let Some((number, words)) = counted(text) {
            let outcome = match words {
                "test passed" | "tests passed" => Outcome::Passed,
                "test failed"
                | "tests failed"
                | "uncaught exception"
                | "uncaught exceptions"
                | "unhandled rejection"
                | "unhandled rejections" => Outcome::Failed,
                "test skipped" | "tests skipped" | "test todo" | "tests todo" => Outcome::Skipped,
                _ => return,
            };
            self.all.sums.count(outcome, number);
            self.all.seen = true;
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        let mut all = self.all;
        let passed = all.shown.taken().saturating_sub(all.failing.len());
        all.sums.passed = all.sums.passed.max(passed);
        all.ran.extend(std::mem::take(&mut all.shown));
        all.counted()
    }
}
