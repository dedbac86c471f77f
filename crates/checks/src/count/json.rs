//! The JSON reports of jest, vitest and mocha, in an output or in a file.
//!
//! A report may be one line of many megabytes, most of it stack traces, so it is read as it comes and only what is needed is
//! kept. What breaks off, or is mixed up with something else, counts nothing.

mod scanner;

use ralph_model::TestTally;

use super::sums::Gathered;
use scanner::{Broken, Scanner, Step, Token};

/// What a report counts; nothing when it is none.
pub(super) fn report(text: &str) -> Option<TestTally> {
    let mut reports = Reports::default();
    reports.feed(text.trim_start_matches('\u{feff}').trim_start());
    let Found { jest, mocha } = reports.finish();
    jest.or(mocha).map(Gathered::tally)
}

/// Whether a file holds JSON and not XML.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Finds reports in a stream. A report starts at the start of a line.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    place: Place,
    found: Found,
}

/// What the reports of a stream count.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Those of jest, and of vitest, which has the same form.
    pub(super) jest: Option<Gathered>,
    pub(super) mocha: Option<Gathered>,
}

impl Found {
    pub(super) fn add(&mut self, other: Self) {
        let Self { jest, mocha } = other;
        for (all, one) in [(&mut self.jest, jest), (&mut self.mocha, mocha)] {
            if let Some(one) = one {
                all.get_or_insert_default().add(one);
            }
        }
    }
}

#[derive(Debug, Default)]
enum Place {
    #[default]
    LineStart,
    /// In a line that does not matter.
    Line,
    Report(Box<Report>),
}

impl Reports {
    pub(crate) fn feed(&mut self, piece: &str) {
        let mut rest = piece;
        while let Some(first) = rest.chars().next() {
            match &mut self.place {
                Place::LineStart if first == '{' => self.place = Place::Report(Box::default()),
                Place::LineStart if first == '\n' => rest = &rest[1..],
                Place::LineStart => self.place = Place::Line,
                Place::Line => match rest.find('\n') {
                    Some(end) => {
                        rest = &rest[end + 1..];
                        self.place = Place::LineStart;
                    }
                    None => return,
                },
                Place::Report(report) => {
                    let (after, progress) = report.feed(rest);
                    rest = after;
                    match progress {
                        Progress::More => {}
                        Progress::Broken => self.place = Place::Line,
                        Progress::Complete => {
                            let complete = std::mem::take(report);
                            self.place = Place::Line;
                            self.found.add(complete.finish());
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn finish(self) -> Found {
        self.found
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    More,
    Broken,
    Complete,
}

#[derive(Debug, Default)]
struct Report {
    scanner: Scanner,
    kind: Kind,
    all: Gathered,
    case: Case,
    /// Cases of a file of jest, whose name comes after them.
    cases: Vec<(Outcome, String)>,
    file: String,
    file_failed: bool,
    tests_in_file: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first name in it has yet to come.
    #[default]
    Unknown,
    Jest,
    Mocha,
}

#[derive(Debug, Default)]
struct Case {
    titles: Vec<String>,
    title: String,
    file: String,
    status: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

impl Report {
    /// Suites that are nested deeper have a name long enough without the rest.
    const MAX_TITLES: usize = 20;

    fn feed<'a>(&mut self, text: &'a str) -> (&'a str, Progress) {
        let mut rest = text;
        while !rest.is_empty() {
            let (after, token) = match self.scanner.next(rest) {
                Ok(read) => read,
                Err(Broken(rest)) => return (rest, Progress::Broken),
            };
            rest = after;
            match token {
                None => {}
                Some(Token::Key) if self.kind == Kind::Unknown => match kind(self.scanner.text()) {
                    Some(kind) => self.kind = kind,
                    None => return (rest, Progress::Broken),
                },
                Some(Token::Key) => {}
                Some(Token::Text) => self.text(),
                Some(Token::End) if self.scanner.path().is_empty() => return (rest, Progress::Complete),
                Some(Token::End) => self.end(),
            }
        }
        (rest, Progress::More)
    }

    fn text(&mut self) {
        let (path, text) = (self.scanner.path(), self.scanner.text());
        let into = match self.kind {
            Kind::Jest if is(path, &["testResults", "", "name"]) => &mut self.file,
            Kind::Jest if is(path, &["testResults", "", "status"]) => {
                self.file_failed = text == "failed";
                return;
            }
            Kind::Jest if is(path, &["testResults", "", "assertionResults", "", "title"]) => &mut self.case.title,
            Kind::Jest if is(path, &["testResults", "", "assertionResults", "", "status"]) => &mut self.case.status,
            Kind::Jest if is(path, &["testResults", "", "assertionResults", "", "ancestorTitles", ""]) => {
                if self.case.titles.len() < Self::MAX_TITLES {
                    self.case.titles.push(text.to_owned());
                }
                return;
            }
            Kind::Mocha if list(path).is_some() && path.len() == 3 => match &path[2] {
                Step::Key(key) if key == "fullTitle" => &mut self.case.title,
                Step::Key(key) if key == "file" => &mut self.case.file,
                Step::Key(_) | Step::Item => return,
            },
            Kind::Unknown | Kind::Jest | Kind::Mocha => return,
        };
        into.clear();
        into.push_str(text);
    }

    /// An object or a list ended; the path leads to it.
    fn end(&mut self) {
        let path = self.scanner.path();
        match self.kind {
            Kind::Jest if is(path, &["testResults", "", "assertionResults", ""]) => self.jest_case(),
            Kind::Jest if is(path, &["testResults", ""]) => self.jest_file(),
            Kind::Mocha if path.len() == 2 => {
                if let Some(outcome) = list(path) {
                    let case = std::mem::take(&mut self.case);
                    let name =
                        if case.file.is_empty() { case.title } else { format!("{} > {}", case.file, case.title) };
                    self.count(outcome, &name);
                }
            }
            Kind::Unknown | Kind::Jest | Kind::Mocha => {}
        }
    }

    fn jest_case(&mut self) {
        let case = std::mem::take(&mut self.case);
        let outcome = match case.status.as_str() {
            "passed" => Outcome::Passed,
            "failed" => Outcome::Failed,
            _ => Outcome::Skipped,
        };
        self.tests_in_file = self.tests_in_file.saturating_add(1);
        let titles: Vec<&str> = case.titles.iter().chain([&case.title]).map(String::as_str).collect();
        if self.cases.len() < TestTally::MAX_TESTS {
            self.cases.push((outcome, titles.join(" › ")));
        } else {
            self.count(outcome, "");
        }
    }

    fn jest_file(&mut self) {
        let file = std::mem::take(&mut self.file);
        let failed = std::mem::take(&mut self.file_failed);
        if std::mem::take(&mut self.tests_in_file) == 0 && failed {
            self.all.sums.failed = self.all.sums.failed.saturating_add(1);
            self.all.failing.insert(&file);
        }
        for (outcome, name) in std::mem::take(&mut self.cases) {
            self.count(outcome, &format!("{file} > {name}"));
        }
    }

    fn count(&mut self, outcome: Outcome, name: &str) {
        let name = ralph_text::sanitize(name).replace(char::is_control, " ");
        let sums = &mut self.all.sums;
        let sum = match outcome {
            Outcome::Passed => &mut sums.passed,
            Outcome::Failed => &mut sums.failed,
            Outcome::Skipped => &mut sums.skipped,
        };
        *sum = sum.saturating_add(1);
        if outcome == Outcome::Failed {
            self.all.failing.insert(&name);
        }
        if outcome != Outcome::Skipped {
            self.all.ran.again(&name);
        }
    }

    fn finish(self) -> Found {
        match self.kind {
            Kind::Jest => Found { jest: Some(self.all), mocha: None },
            Kind::Mocha => Found { jest: None, mocha: Some(self.all) },
            Kind::Unknown => Found::default(),
        }
    }
}

fn kind(key: &str) -> Option<Kind> {
    match key {
        "numFailedTestSuites" | "numTotalTestSuites" => Some(Kind::Jest),
        "stats" => Some(Kind::Mocha),
        _ => None,
    }
}

/// What became of the tests in the list of mocha that a path leads into.
fn list(path: &[Step]) -> Option<Outcome> {
    match path {
        [Step::Key(list), Step::Item, ..] => match list.as_str() {
            "passes" => Some(Outcome::Passed),
            "failures" => Some(Outcome::Failed),
            "pending" => Some(Outcome::Skipped),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a path is the wanted one, in which an empty name stands for an item of a list.
fn is(path: &[Step], wanted: &[&str]) -> bool {
    path.len() == wanted.len()
        && path.iter().zip(wanted).all(|(step, wanted)| match step {
            Step::Item => wanted.is_empty(),
            Step::Key(key) => key == wanted && !wanted.is_empty(),
        })
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
