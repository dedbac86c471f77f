//! Reduces a failing output to what does not change between two runs of the same failure. Compares nothing.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::sync::OnceLock;

use ralph_model::{Signature, TestTally};
use ralph_text::strip_escapes;
use regex::{Captures, Regex};
use sha2::{Digest, Sha256};

use crate::count::{Reports, Runners};
use crate::failure::{Classifier, Weight};
use crate::text::{Lines, readable, start};
use ralph_verify::{Pattern, pattern};

/// Lines that make up a signature at most; a failure of more lines is told apart by its first ones.
const MAX_LINES: usize = 2000;
/// The last lines, for an output in which no line looks like a failure.
const LAST_LINES: usize = 200;
/// Bytes of a line that count.
const MAX_LINE: usize = 600;
/// Characters of a headline.
const MAX_HEADLINE: usize = 200;
/// Hexadecimal digits of the hash.
const HASH_DIGITS: usize = 16;

/// The signature of a failing output; nothing for an output without text.
pub fn signature(text: &str) -> Option<Signature> {
    let (mut lines, mut recogniser, mut classifier) = (Lines::default(), Recogniser::default(), Classifier::default());
    let mut runners = Runners::default();
    let mut each = |line: &str| {
        let line = strip_escapes(line);
        runners.line(&line);
        if let Some(line) = readable(&line) {
            let weight = classifier.weigh(&line);
            recogniser.line(&line, weight);
        }
    };
    lines.feed(text, &mut each);
    lines.finish(&mut each);
    let mut reports = Reports::default();
    reports.feed(text);
    runners.reports(reports.finish());
    recogniser.finish(runners.finish().as_ref())
}

/// The signature of a line that tells of no failure.
pub(crate) fn signature_of_line(line: &str) -> Option<Signature> {
    let mut recogniser = Recogniser::default();
    recogniser.line(line, Weight::None);
    recogniser.finish(None)
}

/// Gathers the lines of a signature from a stream, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct Recogniser {
    failures: Gathered,
    summaries: Gathered,
    last: VecDeque<String>,
    /// The first line with text, where no line looks like a failure.
    first: Option<String>,
    /// The first line of a known form says more than the first line with a suspicious word.
    sharp: Option<String>,
}

#[derive(Debug, Default)]
struct Gathered {
    first: Option<String>,
    lines: BTreeSet<String>,
    looked_at: usize,
}

impl Gathered {
    fn add(&mut self, line: &str) {
        self.first.get_or_insert_with(|| headline(line));
        if self.looked_at < MAX_LINES {
            self.looked_at += 1;
            self.lines.insert(normalised(line));
        }
    }
}

impl Recogniser {
    /// Takes the next line, which has no colours.
    pub(crate) fn line(&mut self, line: &str, weight: Weight) {
        match weight {
            Weight::Sharp => {
                self.sharp.get_or_insert_with(|| headline(line));
                self.failures.add(line);
            }
            Weight::Blunt => self.failures.add(line),
            Weight::Summary => self.summaries.add(line),
            Weight::None if self.failures.lines.is_empty() && !line.trim().is_empty() => {
                self.first.get_or_insert_with(|| headline(line));
                if self.last.len() == LAST_LINES {
                    self.last.pop_front();
                }
                self.last.push_back(start(line, MAX_LINE).to_owned());
            }
            Weight::None => {}
        }
    }

    /// The signature, with the names of failing tests where they were counted: two tests can fail with one message, and
    /// not every runner prints a name in a line of the failure.
    pub(crate) fn finish(self, tests: Option<&TestTally>) -> Option<Signature> {
        let failing = tests.map_or(&[][..], |tests| &tests.failing[..]);
        let names = failing.iter().map(|name| format!("failing: {}", normalised(name)));
        let mut lines = self.failures.lines;
        let mut headline = self.sharp.or(self.failures.first);
        if lines.is_empty() {
            // Nothing says what is wrong, so everything that was printed may matter.
            lines.extend(self.summaries.lines);
            lines.extend(self.last.iter().map(|line| normalised(line)));
            headline = failing.first().cloned().or(self.summaries.first).or(self.first);
        }
        lines.extend(names);
        Some(Signature { hash: hash(&lines), headline: headline? })
    }
}

fn hash(lines: &BTreeSet<String>) -> String {
    let mut hasher = Sha256::new();
    for line in lines {
        hasher.update(line);
        hasher.update("\n");
    }
    let mut hash = String::new();
    for byte in hasher.finalize().iter().take(HASH_DIGITS / 2) {
        hash.push_str(&format!("{byte:02x}"));
    }
    hash
}

/// A line for people: one line, bounded, otherwise as it was printed.
fn headline(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_HEADLINE).collect()
}

/// Whether a line has what a pattern needs.
type Needs = fn(&str) -> bool;

/// What differs between two runs of the same failure: what a line has without which its pattern matches nothing, its pattern, and what
/// takes its place, in the order in which it is done: a later pattern would otherwise take apart what an earlier one stands for.
pub(crate) const PATTERNS: [(Needs, &str, &str); 17] = [
    (|text| text.trim_start().starts_with('|'), r"^\s*\|[\s|~^-]*", ""),
    (|text| text.matches('-').count() >= 4, r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<uuid>"),
    (
        |text| has_digit_after(text, &['-', '/']),
        r"\b\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?",
        "<time>",
    ),
    (|text| has_digit_after(text, &[':']), r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "<time>"),
    (
        |text| text.split(|c: char| !c.is_ascii_digit()).any(|run| run.len() >= 10),
        r"\b1\d{9}(?:\d{3}){0,3}\b",
        "<time>",
    ),
    (|text| text.contains("0x"), r"\b0x[0-9a-fA-F]+\b", "<address>"),
    // The last part of an absolute path; a letter or colon before the slash makes it a relative path or a URL.
    (
        |text| text.contains(['/', '\\']),
        r#"(^|[^\w.:/~@-])(?:file://)?(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\"'`():,;<>\[\]|]+)+[/\\]([^\s/\\"'`():,;<>\[\]|]*)"#,
        "$1$2",
    ),
    (
        |text| text.contains("tmp") || text.contains("pytest-"),
        r"\.?\btmp[._-]?[A-Za-z0-9_]{6,}\b|\bpytest-\d+\b",
        "<temporary>",
    ),
    (
        |text| has_digit_after(text, &[':', '(']),
        r"(\.[A-Za-z][\w]{0,5}|\b[Mm]akefile)(?::\d+(?::\d+)?|\(\d+,\d+\))",
        "$1",
    ),
    (|text| has_digit_after(text, &[':']), r":\d+:\d+\b", ""),
    (|text| text.contains("ine ") || text.contains("col"), r"\b([Ll]ine|column|col) \d+", "$1"),
    (|text| has_digit_after(text, &[':']), r"\b(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d+", "$1"),
    (
        |text| has_digit_after(text, &[' ', '=', ':', '#', '(']) && names_process(text),
        r"(?i-u:\b(pid|port|process|thread|worker|child)([ =:#]+|\()\d+)",
        "$1",
    ),
    (|text| text.contains(") panicked"), r"' \(\d+\) panicked", "' panicked"),
    (|text| text.contains(['[', '(', '=']), r"\(node:\d+\)|==\d+==|\[gw\d+\]|\[\s*\d+%\]|\(\s*(?:\d+/\d+|─+)\)", ""),
    (|text| text.contains('…'), r"… \d+ bytes", "…"),
    (has_duration, r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?)\b", "<duration>"),
];

fn has_digit_after(text: &str, signs: &[char]) -> bool {
    text.split(signs).skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn names_process(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["pid", "port", "process", "thread", "worker", "child"].iter().any(|word| text.contains(word))
}

/// Whether a unit of time may follow a number.
fn has_duration(text: &str) -> bool {
    text.split(|c: char| c.is_ascii_digit()).skip(1).any(|rest| {
        let unit = rest.strip_prefix(char::is_whitespace).unwrap_or(rest);
        unit.starts_with(['n', 'µ', 'u', 'm', 's'])
    })
}

/// Built when a line needs them: all of them together take milliseconds.
static REPLACEMENTS: [OnceLock<Regex>; PATTERNS.len()] = [const { OnceLock::new() }; PATTERNS.len()];

/// The pattern with digits, spaces and the ends of words as machines print them: with those of all scripts of the world a handful of
/// patterns takes megabytes.
fn of_machines(pattern: &str) -> String {
    pattern.replace(r"\d", "[0-9]").replace(r"\s", r"[\t-\r ]").replace(r"\b", r"(?-u:\b)")
}

static HASHES: Pattern = Pattern::new(r"\b[0-9a-fA-F]{7,64}\b");

/// The line with everything replaced that differs between two runs of the same failure.
fn normalised(line: &str) -> String {
    let mut text = Cow::Borrowed(start(line, MAX_LINE));
    for ((needs, written, by), built) in PATTERNS.into_iter().zip(&REPLACEMENTS) {
        if !needs(&text) {
            continue;
        }
        let built = built.get_or_init(|| pattern(&of_machines(written)));
        if let Cow::Owned(replaced) = built.replace_all(&text, by) {
            text = Cow::Owned(replaced);
        }
    }
    if text.bytes().any(|byte| byte.is_ascii_digit())
        && text.split(|c: char| !c.is_ascii_hexdigit()).any(|run| run.len() >= 7)
    {
        text = Cow::Owned(without_hashes(&text));
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words such as `defaced` and plain numbers are no hashes: one has letters and digits.
fn without_hashes(text: &str) -> String {
    let replaced = HASHES.replace_all(text, |found: &Captures<'_>| {
        let hash = &found[0];
        let mixed = hash.bytes().any(|b| b.is_ascii_digit()) && hash.bytes().any(|b| b.is_ascii_alphabetic());
        if mixed { "<hash>".to_owned() } else { hash.to_owned() }
    });
    replaced.into_owned()
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
