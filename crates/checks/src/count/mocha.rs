//! mocha.

use super::names::without_time;
use super::sums::{Counted, Gathered, Outcome, Recogniser, counted, indentation, numbered};

/// `  1 passing (4ms)`, then `  1 pending` and `  2 failing`, then the failures by number.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    /// The tests in it are shown by their own titles. Tests print between them, and a suite cannot be told from what a test prints.
    all: Gathered,
    section: Section,
    /// The titles of a numbered failure, which go on until one ends with a colon.
    titles: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Tests,
    Summary,
    Failures,
}

/// Suites that are nested deeper have a name long enough without the rest.
pub(super) const MAX_TITLES: usize = 20;

impl Recogniser for Mocha {
    fn line(&mut self, line: &str) {
        if !line.starts_with("  ") {
            self.titles.clear();
            return;
        }
        let text = line.trim();
        match counted(text) {
            Some((number, words)) if words.starts_with("passing (") && words.ends_with(')') => {
                self.all.sums.count(Outcome::Passed, number);
                (self.all.seen, self.section) = (true, Section::Summary);
            }
            Some((number, "pending")) if self.section == Section::Summary => {
                self.all.sums.count(Outcome::Skipped, number);
            }
            Some((number, "failing")) if self.section == Section::Summary => {
                self.all.sums.count(Outcome::Failed, number);
                self.section = Section::Failures;
            }
            Some(_) | None if self.section == Section::Failures => self.failure(line, text),
            Some(_) | None if self.section == Section::Tests => self.test(text),
            Some(_) | None => {}
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}

impl Mocha {
    /// `✔ total (80ms)`, `1) discount`
    fn test(&mut self, text: &str) {
        let passed = ["✔ ", "✓ ", "√ "].iter().find_map(|mark| text.strip_prefix(mark));
        if let Some(title) = passed.or_else(|| numbered(text)) {
            self.all.show(false, without_time(title));
        }
    }

    fn failure(&mut self, line: &str, text: &str) {
        let title = match numbered(text) {
            Some(title) if indentation(line) == 2 => {
                self.titles.clear();
                title
            }
            _ if self.titles.is_empty() || self.titles.len() > MAX_TITLES => return,
            _ => text,
        };
        self.titles.push(title.trim_end_matches(':').to_owned());
        if title.ends_with(':') {
            self.all.failing.insert(&self.titles.join(" › "));
            self.titles.clear();
        }
    }
}
