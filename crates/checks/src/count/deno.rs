//! Deno.

use super::sums::{Counted, Gathered, Recogniser, Sums, number};
use ralph_verify::Pattern;

/// `running 4 tests from ./cart_test.ts`, a line for each test and its steps, and
/// `FAILED | 1 passed (1 step) | 2 failed (1 step) | 1 ignored (151ms)`, of which the first word looks like one of a process manager.
/// Steps are not counted.
#[derive(Debug, Default)]
pub(super) struct Deno {
    all: Gathered,
    file: Option<String>,
}

impl Recogniser for Deno {
    fn line(&mut self, line: &str) {
        static RESULT: Pattern = Pattern::new(
            r"^(?:(?:ok|FAILED) \| )?([0-9]+) passed(?: \(.*?\))? \| ([0-9]+) failed(?: \([0-9]+ steps?\))?(?: \| ([0-9]+) ignored)?",
        );
        static TEST: Pattern = Pattern::new(r"^(\S.*) \.\.\. (ok|FAILED)(?: \(.*\))?$");
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
            self.all.result(Sums { passed: number(&found, 1), failed: number(&found, 2), skipped: number(&found, 3) });
            self.file = None;
        } else if line == " ERRORS " {
            self.file = None;
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}
