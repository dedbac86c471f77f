//! AVA.

use super::names::without_time;
use super::sums::{Counted, Gathered, Outcome, Recogniser, counted};

/// A line for each test, then `1 test failed`, `2 tests passed`: how many passed is not said where some failed.
#[derive(Debug, Default)]
pub(super) struct Ava {
    all: Gathered,
    /// Failing tests of versions before 5, each with a message after its name.
    failing: Vec<String>,
}

impl Recogniser for Ava {
    fn line(&mut self, line: &str) {
        let Some(text) = line.strip_prefix("  ").filter(|text| !text.starts_with(' ')) else { return };
        if let Some(name) = text.strip_prefix("✘ [fail]: ") {
            self.all.show(true, without_time(name));
        } else if let Some(name) = text.strip_prefix("✖ ") {
            self.failing.push(name.to_owned());
        } else if let Some(name) = text.strip_prefix("✔ ") {
            self.all.show(false, without_time(name));
        } else if let Some(at) = self.failing.iter().position(|failing| is_titled(failing, text)) {
            // The name by itself stands above what went wrong.
            self.failing.swap_remove(at);
            self.all.show(true, text);
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

fn is_titled(failing: &str, name: &str) -> bool {
    failing.strip_prefix(name).is_some_and(|message| message.is_empty() || message.starts_with(' '))
}
