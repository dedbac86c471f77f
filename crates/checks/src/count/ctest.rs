//! `CTest`.

use super::sums::{Counted, Gathered, Outcome, Recogniser};
use ralph_verify::Pattern;

/// `2/4 Test #2: discount .........................***Failed    0.01 sec` for each test, then `50% tests passed, 2 tests failed
/// out of 4`.
#[derive(Debug, Default)]
pub(super) struct Ctest {
    all: Gathered,
}

impl Recogniser for Ctest {
    fn line(&mut self, line: &str) {
        static TEST: Pattern = Pattern::new(r"^ *[0-9]+/[0-9]+ Test +#[0-9]+: (.+?) \.*(?: +(Passed) |.*\*\*\*(.*))");
        static RESULT: Pattern = Pattern::new(r"^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+");
        if line.contains(" Test ")
            && let Some(found) = TEST.captures(line)
        {
            let outcome = match (found.get(2), found.get(3)) {
                (Some(_), _) => Outcome::Passed,
                (None, Some(result)) if result.as_str().starts_with("Skipped") => Outcome::Skipped,
                (None, _) => Outcome::Failed,
            };
            self.all.test(outcome, &found[1]);
        } else if line == "No tests were found!!!" || (line.contains("% tests passed, ") && RESULT.is_match(line)) {
            self.all.seen = true;
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}
