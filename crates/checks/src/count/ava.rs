//! AVA.

use super::names::{Ran, without_time};
use super::sums::{Counted, Gathered, Sums, counted};

/// A line for each test, then `1 test failed`, `2 tests passed`: how many passed is not said where some failed.
#[derive(Debug, Default)]
pub(super) struct Ava {
    all: Gathered,
    seen: bool,
    shown: Ran,
}

impl Ava {
    pub(super) fn line(&mut self, line: &str) {
        let Some(text) = line.strip_prefix("  ").filter(|text| !text.starts_with(' ')) else { return };
        if let Some(name) = text.strip_prefix("✘ [fail]: ") {
            let name = without_time(name);
            self.all.failing.insert(name);
            self.shown.again(name);
        } else if let Some(name) = text.strip_prefix("✔ ") {
            self.shown.again(without_time(name));
        } else if let Some((number, words)) = counted(text) {
            let sums = match words {
                "test passed" | "tests passed" => Sums { passed: number, ..Sums::default() },
                "test failed"
                | "tests failed"
                | "uncaught exception"
                | "uncaught exceptions"
                | "unhandled rejection"
                | "unhandled rejections" => Sums { failed: number, ..Sums::default() },
                "test skipped" | "tests skipped" | "test todo" | "tests todo" => {
                    Sums { skipped: number, ..Sums::default() }
                }
                _ => return,
            };
            self.all.sums.add(sums);
            self.seen = true;
        }
    }

    pub(super) fn finish(mut self) -> Counted {
        let passed = self.shown.taken().saturating_sub(self.all.failing.len());
        self.all.sums.passed = self.all.sums.passed.max(passed);
        self.all.ran.extend(self.shown);
        self.seen.then_some(self.all)
    }
}
