//! jest, vitest, mocha and bun. What `node --test` prints is read with TAP.

use super::sums::{Counted, Names, Sums, counted, indentation};

/// jest: `Tests:       2 failed, 1 skipped, 1 todo, 2 passed, 6 total`
#[derive(Debug, Default)]
pub(super) struct Jest {
    sums: Sums,
    names: Names,
    seen: bool,
    /// The file whose failures are being shown.
    file: String,
    /// Files of which no test could run; their summary counts them among no tests.
    broken: Names,
}

impl Jest {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Tests:") {
            self.summary(rest);
        } else if let Some(file) = line.strip_prefix("FAIL ").or_else(|| line.strip_prefix(" FAIL  ")) {
            // With colours on, the word stands in a box of its own.
            self.file.clear();
            self.file.push_str(file.split(" (").next().unwrap_or(file));
        } else if let Some(name) = line.strip_prefix("  ● ")
            && !self.file.is_empty()
        {
            match name {
                "Test suite failed to run" => self.broken.insert(&self.file),
                "Console" => {}
                _ => self.names.insert(name),
            }
        }
    }

    fn summary(&mut self, rest: &str) {
        let Some(counts) = rest.trim_end().strip_suffix(" total") else { return };
        let mut sums = Sums::default();
        for part in counts.split(',') {
            match counted(part) {
                Some((number, "passed")) => sums.passed = number,
                Some((number, "failed")) => sums.failed = number,
                Some((number, "skipped" | "todo" | "pending")) => sums.skipped = sums.skipped.saturating_add(number),
                Some(_) | None => {}
            }
        }
        self.sums.add(sums);
        self.seen = true;
    }

    pub(super) fn finish(mut self) -> Counted {
        self.sums.failed = self.sums.failed.saturating_add(self.broken.len());
        self.names.extend(self.broken);
        self.seen.then_some((self.sums, self.names))
    }
}

/// vitest: `      Tests  2 failed | 2 passed | 1 skipped | 1 todo (6)`
#[derive(Debug, Default)]
pub(super) struct Vitest {
    sums: Sums,
    names: Names,
    seen: bool,
}

impl Vitest {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(counts) = text.strip_prefix("Tests  ") {
            self.summary(counts.trim());
        } else if let Some(rest) = line.strip_prefix(" FAIL  ") {
            // A file that could not be loaded is named a second time, in brackets.
            self.names.insert(rest.split(" [ ").next().unwrap_or(rest));
        } else if text.starts_with('⎯')
            && let Some(number) = text.split("Failed Suites ").nth(1).and_then(|rest| rest.split(' ').next())
        {
            self.sums.failed = self.sums.failed.saturating_add(number.parse().unwrap_or(0));
        }
    }

    fn summary(&mut self, counts: &str) {
        let counts = match counts.rsplit_once(" (") {
            Some((counts, total)) if total.ends_with(')') => counts,
            _ if counts == "no tests" => counts,
            _ => return,
        };
        let mut sums = Sums::default();
        for part in counts.split(" | ") {
            match counted(part) {
                Some((number, "passed")) => sums.passed = number,
                Some((number, "failed")) => sums.failed = number,
                Some((number, "skipped" | "todo" | "expected fail")) => {
                    sums.skipped = sums.skipped.saturating_add(number);
                }
                Some(_) | None => {}
            }
        }
        self.sums.add(sums);
        self.seen = true;
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some((self.sums, self.names))
    }
}

/// mocha: `  1 passing (4ms)`, then `  1 pending` and `  2 failing`, then the failures by number.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    sums: Sums,
    names: Names,
    seen: bool,
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

impl Mocha {
    /// Suites that are nested deeper have a name long enough without the rest.
    const MOST_TITLES: usize = 20;

    pub(super) fn line(&mut self, line: &str) {
        if !line.starts_with("  ") {
            self.titles.clear();
            return;
        }
        let text = line.trim();
        match counted(text) {
            Some((number, words)) if words.starts_with("passing (") && words.ends_with(')') => {
                self.sums.passed = self.sums.passed.saturating_add(number);
                (self.seen, self.section) = (true, Section::Summary);
            }
            Some((number, "pending")) if self.section == Section::Summary => {
                self.sums.skipped = self.sums.skipped.saturating_add(number);
            }
            Some((number, "failing")) if self.section == Section::Summary => {
                self.sums.failed = self.sums.failed.saturating_add(number);
                self.section = Section::Failures;
            }
            Some(_) | None if self.section == Section::Failures => self.failure(line, text),
            Some(_) | None => {}
        }
    }

    fn failure(&mut self, line: &str, text: &str) {
        let numbered = text.split_once(") ").filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
        let title = match numbered {
            Some((_, title)) if indentation(line) == 2 => {
                self.titles.clear();
                title
            }
            _ if self.titles.is_empty() || self.titles.len() > Self::MOST_TITLES => return,
            _ => text,
        };
        self.titles.push(title.trim_end_matches(':').to_owned());
        if title.ends_with(':') {
            self.names.insert(&self.titles.join(" › "));
            self.titles.clear();
        }
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some((self.sums, self.names))
    }
}

/// bun: ` 2 pass`, ` 1 fail`, then `Ran 3 tests across 1 file.`
#[derive(Debug, Default)]
pub(super) struct Bun {
    sums: Sums,
    names: Names,
    seen: bool,
    pending: Sums,
}

impl Bun {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("(fail) ") {
            self.names.insert(name.rsplit_once(" [").map_or(name, |(name, _)| name));
        } else if line.starts_with("Ran ") && line.contains(" across ") && line.contains(" file") {
            self.sums.add(std::mem::take(&mut self.pending));
            self.seen = true;
        } else if line.starts_with(' ') {
            match counted(line) {
                Some((number, "pass")) => self.pending.passed = number,
                Some((number, "fail")) => self.pending.failed = number,
                Some((number, "skip" | "todo")) => {
                    self.pending.skipped = self.pending.skipped.saturating_add(number);
                }
                Some(_) | None => {}
            }
        }
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some((self.sums, self.names))
    }
}
