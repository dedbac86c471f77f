//! Deno.

use std::sync::LazyLock;

use regex::Regex;

use super::sums::{Counted, Gathered, Sums};
use ralph_verify::pattern;

/// `running 4 tests from ./cart_test.ts`, a line for each test and its steps, and
/// `FAILED | 1 passed (1 step) | 2 failed (1 step) | 1 ignored (151ms)`, of which the first word looks like one of a process manager.
/// Steps are not counted.
#[derive(Debug, Default)]
pub(super) struct Deno {
    all: Gathered,
    seen: bool,
    file: Option<String>,
}

impl Deno {
    pub(super) fn line(&mut self, line: &str) {
        static RESULT: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"^(?:(?:ok|FAILED) \| )?([0-9]+) passed(?: \(.*?\))? \| ([0-9]+) failed(?: \([0-9]+ steps?\))?(?: \| ([0-9]+) ignored)?",
            )
        });
        static TEST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\S.*) \.\.\. (ok|FAILED)(?: \(.*\))?$"));
        if let Some((_, file)) = line.strip_prefix("running ").and_then(|rest| rest.split_once(" from ")) {
            self.file = Some(file.trim_start_matches("./").to_owned());
        } else if let Some(file) = &self.file
            && line.contains(" ... ")
            && let Some(found) = TEST.captures(line)
        {
            let name = format!("{file} > {}", &found[1]);
            self.all.ran.again(&name);
            if &found[2] == "FAILED" {
                self.all.failing.insert(&name);
            }
        } else if line.contains(" passed")
            && line.contains(" | ")
            && let Some(found) = RESULT.captures(line)
        {
            let number = |at: usize| found.get(at).and_then(|text| text.as_str().parse::<u32>().ok()).unwrap_or(0);
            self.all.sums.add(Sums { passed: number(1), failed: number(2), skipped: number(3) });
            (self.seen, self.file) = (true, None);
        } else if line == " ERRORS " {
            self.file = None;
        }
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some(self.all)
    }
}
