//! PHPUnit, also as Pest prints it.

use super::sums::{Counted, Gathered, Recogniser, Sums, numbered};

/// `OK (1 test, 1 assertion)` or `Tests: 4, Assertions: 2, Errors: 1, Failures: 1, Skipped: 1.`, with failing tests in numbered
/// lists before: `1) CartTest::testRate`.
#[derive(Debug, Default)]
pub(super) struct Phpunit {
    all: Gathered,
    lists_failures: bool,
}

impl Recogniser for Phpunit {
    fn line(&mut self, line: &str) {
        if line.starts_with("There was ") || line.starts_with("There were ") {
            self.lists_failures =
                [" failure:", " failures:", " error:", " errors:"].iter().any(|end| line.ends_with(end));
        } else if let Some(name) = numbered(line).filter(|name| self.lists_failures && name.contains("::")) {
            self.all.failing.insert(name);
        } else if let Some(rest) = line.strip_prefix("Tests: ").filter(|rest| rest.contains(", Assertions: ")) {
            let number = |word: &str| -> u32 {
                let part = rest.trim_end_matches('.').split(", ").find_map(|part| part.strip_prefix(word));
                part.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
            };
            let total = rest.split(',').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
            let failed = number("Errors:").saturating_add(number("Failures:"));
            let skipped = number("Skipped:").saturating_add(number("Incomplete:"));
            self.all.result(Sums::of_total(total, failed, skipped));
            self.lists_failures = false;
        } else if let Some(rest) = line.strip_prefix("OK (").filter(|rest| rest.contains(" assertion"))
            && let Some(passed) = rest.split(' ').next().and_then(|number| number.parse().ok())
        {
            self.all.result(Sums { passed, ..Sums::default() });
            self.lists_failures = false;
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}
