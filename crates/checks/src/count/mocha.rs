//! mocha.

use super::names::{Ran, without_time};
use super::sums::{Counted, Gathered, counted, indentation};

/// `  1 passing (4ms)`, then `  1 pending` and `  2 failing`, then the failures by number.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    all: Gathered,
    seen: bool,
    section: Section,
    /// The titles of a numbered failure, which go on until one ends with a colon.
    titles: Vec<String>,
    /// Tests by their own titles. Tests print between them, and a suite cannot be told from what a test prints.
    shown: Ran,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Tests,
    Summary,
    Failures,
}

impl Mocha {
    /// Suites that are nested deeper have a name long enough without the rest.
    const MAX_TITLES: usize = 20;

    pub(super) fn line(&mut self, line: &str) {
        if !line.starts_with("  ") {
            self.titles.clear();
            return;
        }
        let text = line.trim();
        match counted(text) {
            Some((number, words)) if words.starts_with("passing (") && words.ends_with(')') => {
                self.all.sums.passed = self.all.sums.passed.saturating_add(number);
                (self.seen, self.section) = (true, Section::Summary);
            }
            Some((number, "pending")) if self.section == Section::Summary => {
                self.all.sums.skipped = self.all.sums.skipped.saturating_add(number);
            }
            Some((number, "failing")) if self.section == Section::Summary => {
                self.all.sums.failed = self.all.sums.failed.saturating_add(number);
                self.section = Section::Failures;
            }
            Some(_) | None if self.section == Section::Failures => self.failure(line, text),
            Some(_) | None if self.section == Section::Tests => self.test(text),
            Some(_) | None => {}
        }
    }

    /// `✔ total (80ms)`, `1) discount`
    fn test(&mut self, text: &str) {
        if let Some(title) = ["✔ ", "✓ ", "√ "].iter().find_map(|mark| text.strip_prefix(mark)) {
            self.shown.again(without_time(title));
        } else if let Some(title) = numbered(text) {
            self.shown.again(without_time(title));
        }
    }

    fn failure(&mut self, line: &str, text: &str) {
        let title = match numbered(text) {
            Some(title) if indentation(line) == 2 => {
                self.titles.clear();
                title
            }
            _ if self.titles.is_empty() || self.titles.len() > Self::MAX_TITLES => return,
            _ => text,
        };
        self.titles.push(title.trim_end_matches(':').to_owned());
        if title.ends_with(':') {
            self.all.failing.insert(&self.titles.join(" › "));
            self.titles.clear();
        }
    }

    pub(super) fn finish(mut self) -> Counted {
        if self.shown.taken() == self.all.sums.ran() {
            self.all.ran.extend(self.shown);
        }
        self.seen.then_some(self.all)
    }
}

/// The title of `1) discount`.
fn numbered(text: &str) -> Option<&str> {
    let (number, title) = text.split_once(") ")?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(title)
}
