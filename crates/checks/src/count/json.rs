//! The JSON reports of jest, vitest and mocha, in an output or in a file.
//!
//! A report may be one line of many megabytes, most of it stack traces, so its texts are cut on the way in. What breaks off, or is
//! mixed up with something else, counts nothing.

use ralph_model::TestTally;
use serde::Deserialize;

use super::mocha::MAX_TITLES;
use super::sums::{Gathered, Outcome};

/// Bytes kept of one text, more than of any name.
const MAX_TEXT: usize = 1000;
/// Bytes kept of a report with its texts cut.
const MAX_REPORT: usize = 64 << 20;

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
    /// The report that is open.
    open: String,
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

#[derive(Debug, Default, Clone, Copy)]
enum Place {
    #[default]
    LineStart,
    /// In a line that does not matter.
    Line,
    /// In a report, inside so many objects and lists.
    Report { depth: usize },
    /// In a text of a report, after so many bytes of it.
    Text { depth: usize, length: usize, is_escaped: bool },
}

impl Reports {
    pub(crate) fn feed(&mut self, piece: &str) {
        let mut rest = piece;
        while let Some(first) = rest.chars().next() {
            match self.place {
                Place::LineStart if first == '{' => self.place = Place::Report { depth: 0 },
                Place::LineStart | Place::Line => match rest.split_once('\n') {
                    Some((_, after)) => (self.place, rest) = (Place::LineStart, after),
                    None => {
                        self.place = Place::Line;
                        return;
                    }
                },
                Place::Report { .. } if self.open == "{" && first != '"' => {
                    if first.is_ascii_whitespace() {
                        rest = &rest[1..];
                    } else {
                        self.open.clear();
                        self.place = Place::Line;
                    }
                }
                Place::Report { depth } => {
                    let end = rest.find(['"', '{', '}', '[', ']']).map_or(rest.len(), |at| at + 1);
                    self.open.push_str(&rest[..end]);
                    self.place = match rest.as_bytes()[end - 1] {
                        b'"' => Place::Text { depth, length: 0, is_escaped: false },
                        b'{' | b'[' => Place::Report { depth: depth + 1 },
                        b'}' | b']' if depth <= 1 => self.close(Place::Line),
                        b'}' | b']' => Place::Report { depth: depth - 1 },
                        _ => self.place,
                    };
                    rest = &rest[end..];
                }
                Place::Text { depth, length, is_escaped } => {
                    let end =
                        if is_escaped { first.len_utf8() } else { rest.find(['"', '\\', '\n']).unwrap_or(rest.len()) };
                    let fits = rest.floor_char_boundary(end.min(MAX_TEXT.saturating_sub(length)));
                    self.open.push_str(&rest[..fits]);
                    let length = length + end;
                    rest = &rest[end..];
                    self.place = Place::Text { depth, length, is_escaped: false };
                    match rest.chars().next().filter(|_| !is_escaped) {
                        Some('"') => {
                            self.end_text(length);
                            // What its first name does not tell for a report is none.
                            self.place = match kind(&self.open) {
                                Some(_) => Place::Report { depth },
                                None => self.close(Place::Line),
                            };
                        }
                        Some('\\') => {
                            if length < MAX_TEXT {
                                self.open.push('\\');
                            }
                            self.place = Place::Text { depth, length: length + 1, is_escaped: true };
                        }
                        Some('\n') => self.place = self.close(Place::LineStart),
                        Some(_) | None => continue,
                    }
                    rest = &rest[1..];
                }
            }
            if self.open.len() > MAX_REPORT {
                (self.open, self.place) = (String::new(), Place::Line);
            }
        }
    }

    /// Ends a text, which may have been cut inside an escape.
    fn end_text(&mut self, length: usize) {
        if length > MAX_TEXT {
            let tail = self.open.floor_char_boundary(self.open.len().saturating_sub("\\u00e9".len()));
            if let Some(at) = self.open[tail..].rfind('\\') {
                self.open.truncate(tail + at);
                self.open.truncate(self.open.trim_end_matches('\\').len());
            }
        }
        self.open.push('"');
    }

    /// Counts what is open, and goes on in `place`.
    fn close(&mut self, place: Place) -> Place {
        count(&std::mem::take(&mut self.open), &mut self.found);
        place
    }

    pub(crate) fn finish(mut self) -> Found {
        self.close(Place::Line);
        self.found
    }
}

/// Counts the reports of a text: one alone where nothing is wrong with it, or those in the lines after what is wrong.
fn count(text: &str, found: &mut Found) {
    let mut rest = Some(text);
    while let Some(text) = rest {
        let mut read = serde_json::Deserializer::from_str(text).into_iter::<Report>();
        let (read_to, lines) = match kind(text).map(|kind| (kind, read.next())) {
            Some((kind, Some(Ok(report)))) => {
                found.add(match kind {
                    Kind::Jest => Found { jest: Some(report.of_jest()), mocha: None },
                    Kind::Mocha => Found { jest: None, mocha: Some(report.of_mocha()) },
                });
                (read.byte_offset(), 1)
            }
            Some((_, Some(Err(error)))) if !error.is_eof() => (0, error.line()),
            Some(_) => return,
            None => (0, 1),
        };
        rest = text[read_to..].splitn(lines + 1, '\n').nth(lines);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Jest,
    Mocha,
}

/// What kind of report a text begins with, by the first name in it.
fn kind(text: &str) -> Option<Kind> {
    let (name, _) = text.strip_prefix('{')?.trim_start().strip_prefix('"')?.split_once('"')?;
    match name {
        "numFailedTestSuites" | "numTotalTestSuites" => Some(Kind::Jest),
        "stats" => Some(Kind::Mocha),
        _ => None,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Report {
    test_results: Vec<JestFile>,
    passes: Vec<MochaTest>,
    failures: Vec<MochaTest>,
    pending: Vec<MochaTest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct JestFile {
    name: String,
    status: String,
    assertion_results: Vec<JestTest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct JestTest {
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MochaTest {
    full_title: String,
    file: Option<String>,
}

impl Report {
    fn of_jest(self) -> Gathered {
        let mut all = Gathered::default();
        for file in self.test_results {
            if file.assertion_results.is_empty() && file.status == "failed" {
                all.sums.count(Outcome::Failed, 1);
                all.failing.insert(&file.name);
            }
            for test in file.assertion_results {
                let outcome = match test.status.as_str() {
                    "passed" => Outcome::Passed,
                    "failed" => Outcome::Failed,
                    _ => Outcome::Skipped,
                };
                let titles: Vec<String> =
                    test.ancestor_titles.into_iter().take(MAX_TITLES).chain([test.title]).collect();
                all.test(outcome, &name(&format!("{} > {}", file.name, titles.join(" › "))));
            }
        }
        all
    }

    fn of_mocha(self) -> Gathered {
        let mut all = Gathered::default();
        let lists =
            [(Outcome::Passed, self.passes), (Outcome::Failed, self.failures), (Outcome::Skipped, self.pending)];
        for (outcome, tests) in lists {
            for MochaTest { full_title, file } in tests {
                let title = file.map_or(full_title.clone(), |file| format!("{file} > {full_title}"));
                all.test(outcome, &name(&title));
            }
        }
        all
    }
}

/// A name is one line, and nothing in it steers a terminal.
fn name(text: &str) -> String {
    ralph_text::sanitize(text).replace(char::is_control, " ")
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
