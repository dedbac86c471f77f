//! Surefire, the test runner of Maven.

use super::sums::{Counted, Gathered, Recogniser, Sums};

/// Sums the result line of every module: `Tests run: 3, Failures: 1, Errors: 0, Skipped: 0`.
#[derive(Debug, Default)]
pub(super) struct Maven {
    all: Gathered,
}

impl Recogniser for Maven {
    fn line(&mut self, line: &str) {
        let text = ["[INFO] ", "[ERROR] ", "[WARNING] "].iter().find_map(|level| line.strip_prefix(level));
        let text = text.unwrap_or(line);
        if text.starts_with("Tests run: ") {
            // The same counts stand after every class, with the time that it took.
            if !text.contains("Time elapsed") {
                self.result(text);
            }
        } else if text.contains("<<< FAILURE!") || text.contains("<<< ERROR!") {
            self.all.failing.insert(&name(text));
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}

impl Maven {
    fn result(&mut self, text: &str) {
        let number = |field: &str| -> Option<u32> {
            let (_, rest) = text.split_once(field)?;
            rest.trim_start().split(',').next()?.trim().parse().ok()
        };
        let counts = (number("Tests run:"), number("Failures:"), number("Errors:"), number("Skipped:"));
        let (Some(run), Some(failures), Some(errors), Some(skipped)) = counts else { return };
        self.all.result(Sums::of_total(run, failures.saturating_add(errors), skipped));
    }
}

/// The name in `com.example.CartTest.discount  Time elapsed: …`, which older versions write `discount(com.example.CartTest)`.
fn name(text: &str) -> String {
    let (first, _) = text.split_once(' ').unwrap_or((text, ""));
    match first.split_once('(') {
        Some((test, class)) if class.len() > 1 => format!("{}.{test}", class.trim_end_matches(')')),
        Some((test, _)) => test.to_owned(),
        None => first.to_owned(),
    }
}
