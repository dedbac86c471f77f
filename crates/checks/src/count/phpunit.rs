//! PHPUnit, also as Pest prints it.

use super::sums::{Counted, Gathered, Sums};

/// `OK (1 test, 1 assertion)` or `Tests: 4, Assertions: 2, Errors: 1, Failures: 1, Skipped: 1.`, with failing tests in numbered
/// lists before: `1) CartTest::testRate`.
#[derive(Debug, Default)]
pub(super) struct Phpunit {
    all: Gathered,
    seen: bool,
    lists_failures: bool,
}

impl Phpunit {
    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("There was ") || line.starts_with("There were ") {
            self.lists_failures =
                [" failure:", " failures:", " error:", " errors:"].iter().any(|end| line.ends_with(end));
        } else if let Some((number, name)) = line.split_once(") ")
            && self.lists_failures
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && name.contains("::")
        {
            self.all.failing.insert(name);
        } else if let Some(rest) = line.strip_prefix("Tests: ").filter(|rest| rest.contains(", Assertions: ")) {
            let number = |word: &str| -> u32 {
                let part = rest.trim_end_matches('.').split(", ").find_map(|part| part.strip_prefix(word));
                part.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
            };
            let total = rest.split(',').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
            let failed = number("Errors:").saturating_add(number("Failures:"));
            let skipped = number("Skipped:").saturating_add(number("Incomplete:"));
            let passed = total.saturating_sub(failed).saturating_sub(skipped);
            self.add(Sums { passed, failed, skipped });
        } else if let Some(rest) = line.strip_prefix("OK (").filter(|rest| rest.contains(" assertion"))
            && let Some(passed) = rest.split(' ').next().and_then(|number| number.parse().ok())
        {
            self.add(Sums { passed, ..Sums::default() });
        }
    }

    fn add(&mut self, sums: Sums) {
        self.all.sums.add(sums);
        (self.seen, self.lists_failures) = (true, false);
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some(self.all)
    }
}
