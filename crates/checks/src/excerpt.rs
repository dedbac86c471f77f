//! Chooses what a prompt shows of a failing output: the names of all failing tests, the first failure whole, other failures and
//! the end. Lines of passing tests are left out. Judges nothing.

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::failure::{Classifier, Weight};
use crate::text::{Lines, readable};
use ralph_text::strip_escapes;

/// Bytes of an excerpt at most: with its indentation it has room in a prompt, which has the same limit for all checks together.
pub const LIMIT: usize = 12 * 1024;
/// Bytes of the first failure at most, so that others and the end have some room. Of a longer one the end is shown, where the
/// assertion is, and its first lines.
const FIRST_LIMIT: usize = 6 * 1024;
/// Bytes of each other failure at most.
const OTHER_LIMIT: usize = 1536;
/// Bytes of the names of failing tests at most.
const NAMES_LIMIT: usize = 1536;
/// Bytes of the end of the output that are always shown.
const END: usize = 1024;
/// Room for the lines that say what was left out.
const NOTES: usize = 1024;
/// Bytes of lines that report a failure and stand in the middle of one that is too long.
const MARKED: usize = 1024;
/// Lines that stand before the end of a long failure.
const HEAD_LINES: usize = 6;
/// A failure whose end is only told by an empty line ends after so many lines.
const MAX_PLAIN: usize = 60;
/// Lines of tests that may still pass are held back, up to so many bytes.
const MAX_HELD: usize = 64 * 1024;
/// Tests that may still pass, of which lines are held back.
const MAX_OPEN: usize = 1000;
/// Bytes of the last lines, for an output that has nothing but passing tests.
const LAST: usize = 2 * 1024;

/// The excerpt of a whole output without the names of failing tests, at most [`LIMIT`] bytes. Colours are taken out.
pub fn excerpt(text: &str) -> String {
    let (mut lines, mut excerpter, mut classifier) = (Lines::default(), Excerpter::default(), Classifier::default());
    let mut each = |line: &str| {
        if let Some(line) = readable(&strip_escapes(line)) {
            let weight = classifier.weigh(&line);
            excerpter.line(&line, weight);
        }
    };
    lines.feed(text, &mut each);
    lines.finish(&mut each);
    excerpter.finish(&[])
}

/// Keeps failures and the end of a stream.
#[derive(Debug, Default)]
pub(crate) struct Excerpter {
    /// Bytes so far, without lines of passing tests.
    total: u64,
    end: String,
    /// Failures of the best known form, in order.
    failures: Vec<Failure>,
    /// Whether lines still belong to the last of them.
    collecting: bool,
    /// Bytes of failures that are kept.
    kept: usize,
    /// Where the stream is, for failures that are told by what stands before them.
    place: Place,
    passing: Passing,
    /// The last lines, whatever they say.
    last: String,
}

#[derive(Debug)]
struct Failure {
    style: Style,
    begins: u64,
    ends: u64,
    /// Its first lines.
    head: String,
    /// What follows them: all of it, or its end.
    rest: VecDeque<(Weight, String)>,
    rest_bytes: usize,
    /// Lines between the two that report a failure.
    marked: Vec<Piece>,
    lines: usize,
    limit: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Elsewhere,
    /// Under a line of `=`.
    UnderFrame,
    /// After `N failing`.
    MochaFailures,
}

/// Where the stream is among lines of passing tests.
#[derive(Debug, Default)]
struct Passing {
    /// After a passing test of TAP, whose details follow.
    details: Details,
    /// Go tests that have not ended yet, with their lines. The last one is the one that prints.
    open: Vec<(String, Vec<(String, Weight)>)>,
    held: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Details {
    #[default]
    None,
    /// They may begin with the next line.
    MayFollow,
    Inside,
}

/// How a failure is printed, and so where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// A line with a suspicious word, up to an empty line.
    Word,
    /// A line of a known form, up to an empty line.
    Line,
    Cargo,
    Pytest,
    Unittest,
    Jest,
    Vitest,
    Mocha,
    Node,
    Tap,
    Go,
    Nextest,
    Traceback,
}

impl Style {
    /// How well the form is known; a failure of a better known form takes the place of those before it.
    const fn rank(self) -> u8 {
        match self {
            Self::Word => 0,
            Self::Line => 1,
            Self::Cargo
            | Self::Pytest
            | Self::Unittest
            | Self::Jest
            | Self::Vitest
            | Self::Mocha
            | Self::Node
            | Self::Tap
            | Self::Go
            | Self::Nextest
            | Self::Traceback => 2,
        }
    }

    /// The style of a failure that starts with this line.
    fn of(line: &str, weight: Weight, place: Place) -> Option<Self> {
        let text = line.trim();
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            Some(Self::Cargo)
        } else if line.starts_with("____") && line.ends_with("__") && text.contains(' ') {
            Some(Self::Pytest)
        } else if place == Place::UnderFrame && (line.starts_with("FAIL: ") || line.starts_with("ERROR: ")) {
            Some(Self::Unittest)
        } else if line.starts_with("  ● ") {
            Some(Self::Jest)
        } else if line.starts_with(" FAIL  ") && (line.contains(" > ") || line.contains(" [ ")) {
            Some(Self::Vitest)
        } else if place == Place::MochaFailures && is_numbered(line) {
            Some(Self::Mocha)
        } else if text.starts_with("✖ ") && text.ends_with("ms)") {
            Some(Self::Node)
        } else if text.starts_with("not ok ") {
            Some(Self::Tap)
        } else if line.starts_with("--- FAIL: ") || text.contains("_test.go:") {
            Some(Self::Go)
        } else if is_nextest(text) && weight == Weight::Sharp {
            Some(Self::Nextest)
        } else if text.starts_with("Traceback (most recent call last)") {
            Some(Self::Traceback)
        } else {
            match weight {
                Weight::Sharp => Some(Self::Line),
                Weight::Blunt => Some(Self::Word),
                Weight::Summary | Weight::None => None,
            }
        }
    }

    /// Whether a line no longer belongs to a failure of this style.
    fn ends_before(self, line: &str, failure: &Failure) -> bool {
        let text = line.trim();
        let starts = |all: &[&str]| all.iter().any(|start| text.starts_with(start));
        match self {
            Self::Word | Self::Line => text.is_empty() || failure.lines >= MAX_PLAIN,
            Self::Cargo => line.starts_with("---- ") || line == "failures:",
            Self::Pytest => line.starts_with("====") || (line.starts_with("____") && line.ends_with("__")),
            Self::Unittest => line.starts_with("=====") || line.starts_with("Ran "),
            Self::Jest => ["  ● ", "FAIL ", "PASS ", "Test Suites:"].iter().any(|start| line.starts_with(start)),
            Self::Vitest => line.starts_with('⎯'),
            Self::Mocha => is_numbered(line),
            Self::Node => starts(&["✖ ", "✔ ", "▶ ", "ℹ ", "﹣ "]),
            Self::Tap => starts(&["ok ", "not ok ", "# Subtest", "1.."]),
            Self::Go => ["--- ", "=== RUN", "FAIL", "PASS", "ok  \t"].iter().any(|start| line.starts_with(start)),
            Self::Nextest => is_nextest(text) || text.starts_with("────"),
            // One unindented line names the exception; the failure ends after it.
            Self::Traceback => {
                let last = failure.rest.back().map(|(_, line)| line.as_str()).or_else(|| failure.head.lines().last());
                text.is_empty() || (failure.lines > 1 && last.is_some_and(|last| !last.starts_with(' ')))
            }
        }
    }
}

/// `  2) cart`
fn is_numbered(line: &str) -> bool {
    let number = line.strip_prefix("  ").and_then(|rest| rest.split_once(") ")).map(|(number, _)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// `PASS [   0.006s] shop tests::adds`, `TRY 1 FAIL [   0.006s] …`, `Summary [   0.166s] …`
fn is_nextest(text: &str) -> bool {
    text.split_once(" [").is_some_and(|(word, rest)| {
        (["PASS", "FAIL", "SLOW", "Summary", "TIMEOUT", "LEAK"].contains(&word)
            || word.starts_with("SIG")
            || word.starts_with("TRY "))
            && rest.contains("s] ")
    })
}

/// Whether a line only says that a test passes, or that one begins.
fn is_passing(line: &str) -> bool {
    const STARTS: [&str; 11] = [
        "✓ ",
        "✔ ",
        "√ ",
        "--- PASS: ",
        "=== RUN ",
        "=== PAUSE ",
        "=== CONT ",
        "=== NAME ",
        "PASS [",
        "(pass) ",
        "# Subtest: ",
    ];
    let text = line.trim_start();
    let numbered = || {
        let rest = text.strip_prefix("ok ").unwrap_or_default();
        rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains("# TODO")
    };
    STARTS.iter().any(|start| text.starts_with(start))
        || numbered()
        || (text.starts_with("test ") && (text.ends_with("... ok") || text.ends_with("... ignored")))
        || (text.starts_with("test") && text.ends_with(" ... ok"))
        || (line.starts_with("PASS ") && text.contains('.'))
        || (text.contains("::") && text.split_whitespace().any(|word| word == "PASSED"))
        || is_of_maven(line)
}

/// Whether Maven says what it does, or how to ask it for more.
fn is_of_maven(line: &str) -> bool {
    const HELP: [&str; 6] = [
        "-> [Help",
        "[Help ",
        "To see the full stack trace",
        "Re-run Maven",
        "For more information",
        "Please refer to ",
    ];
    let said = line.strip_prefix("[INFO]").map(|text| !text.contains("Tests run:"));
    let warned = line.strip_prefix("[WARNING] The artifact ").map(|text| text.contains(" has been relocated to "));
    let helped = line.strip_prefix("[ERROR]").map(str::trim);
    let helped = helped.map(|text| text.is_empty() || HELP.iter().any(|start| text.starts_with(start)));
    said.or(warned).or(helped).unwrap_or(false)
}

impl Passing {
    /// Hands on the lines that are shown, given the next one: it, none, or also those that were held back before it.
    fn sift(&mut self, line: &str, weight: Weight, each: &mut dyn FnMut(&str, Weight)) {
        let text = line.trim();
        match self.details {
            Details::Inside => {
                self.details = if text == "..." { Details::None } else { Details::Inside };
                return;
            }
            Details::MayFollow if text == "---" && line.starts_with(' ') => return self.details = Details::Inside,
            Details::MayFollow | Details::None => self.details = Details::None,
        }
        if self.held > MAX_HELD || self.open.len() > MAX_OPEN {
            self.release(each);
        }
        if let Some(name) = ["=== RUN ", "=== CONT ", "=== NAME "].iter().find_map(|start| line.strip_prefix(start)) {
            let name = name.trim();
            let again = !line.starts_with("=== RUN ");
            let known = self.open.iter().position(|(open, _)| again && open == name).map(|at| self.open.remove(at));
            return self.open.push(known.unwrap_or_else(|| (name.to_owned(), Vec::new())));
        }
        let ended = ["--- PASS: ", "--- SKIP: ", "--- FAIL: "].iter().find_map(|start| text.strip_prefix(start));
        if let Some(name) = ended.and_then(|rest| rest.split_whitespace().next())
            && let Some(at) = self.open.iter().position(|(open, _)| open == name)
        {
            let (_, lines) = self.open.remove(at);
            self.held = self.held.saturating_sub(lines.iter().map(|(line, _)| line.len()).sum());
            if text.starts_with("--- FAIL") {
                lines.iter().for_each(|(line, weight)| each(line, *weight));
            }
        }
        let is_over = matches!(line, "PASS" | "FAIL") || line.starts_with("FAIL\t") || line.starts_with("panic: ");
        if is_over {
            self.release(each);
        }
        if is_passing(line) {
            self.details = if text.starts_with("ok ") { Details::MayFollow } else { Details::None };
        } else if let Some((_, lines)) = self.open.last_mut().filter(|_| ended.is_none()) {
            self.held += line.len();
            lines.push((line.to_owned(), weight));
        } else {
            each(line, weight);
        }
    }

    /// Hands on all that is held back.
    fn release(&mut self, each: &mut dyn FnMut(&str, Weight)) {
        self.held = 0;
        self.open.drain(..).flat_map(|(_, lines)| lines).for_each(|(line, weight)| each(&line, weight));
    }
}

impl Failure {
    fn push(&mut self, line: &str, weight: Weight) {
        self.lines += 1;
        self.ends += line.len() as u64 + 1;
        if self.lines <= HEAD_LINES && self.rest.is_empty() && self.head.len() + line.len() < self.limit / 4 {
            self.head.push_str(line);
            self.head.push('\n');
            return;
        }
        self.rest_bytes += line.len() + 1;
        self.rest.push_back((weight, line.to_owned()));
        while self.rest_bytes + self.head.len() > self.limit
            && let Some((weight, first)) = self.rest.pop_front()
        {
            let begins = self.ends - self.rest_bytes as u64;
            self.rest_bytes -= first.len() + 1;
            let marked: usize = self.marked.iter().map(|piece| piece.text.len()).sum();
            let room = if compares(&first) { MARKED } else { MARKED / 4 };
            if weight >= Weight::Blunt && marked + first.len() < room {
                self.marked.push(Piece { begins, text: first + "\n" });
            }
        }
    }

    /// What is shown of it, as pieces of the stream.
    fn pieces(self) -> impl Iterator<Item = Piece> {
        let rest: String = self.rest.iter().flat_map(|(_, line)| [line.as_str(), "\n"]).collect();
        let head = Piece { begins: self.begins, text: self.head };
        let rest = Piece { begins: self.ends - rest.len() as u64, text: rest };
        std::iter::once(head).chain(self.marked).chain(std::iter::once(rest))
    }

    fn bytes(&self) -> usize {
        self.head.len() + self.rest_bytes + self.marked.iter().map(|piece| piece.text.len()).sum::<usize>()
    }
}

/// Whether a line says what was expected, or what went wrong.
fn compares(line: &str) -> bool {
    const WORDS: [&str; 8] = [" != ", " !== ", "Error", "assert", "xpected", "Received", "got ", "want "];
    WORDS.iter().any(|word| line.contains(word))
}

/// A piece of the stream, of whole lines.
#[derive(Debug)]
struct Piece {
    begins: u64,
    text: String,
}

impl Piece {
    const fn ends(&self) -> u64 {
        self.begins + self.text.len() as u64
    }
}

impl Excerpter {
    /// Takes the next line, which has no colours.
    pub(crate) fn line(&mut self, line: &str, weight: Weight) {
        self.last.push_str(line);
        self.last.push('\n');
        if self.last.len() > 8 * LAST {
            self.last = end(&self.last, LAST).to_owned();
        }
        let mut passing = std::mem::take(&mut self.passing);
        passing.sift(line, weight, &mut |line, weight| self.telling(line, weight));
        self.passing = passing;
    }

    /// Takes a line that is not of a passing test.
    fn telling(&mut self, line: &str, weight: Weight) {
        let begins = self.total;
        self.total += line.len() as u64 + 1;
        self.end.push_str(line);
        self.end.push('\n');
        if self.end.len() > 4 * LIMIT {
            let from = self.end.len() - LIMIT;
            let from = self.end.as_bytes()[from..].iter().position(|byte| *byte == b'\n').map_or(0, |at| from + at + 1);
            self.end.drain(..from);
        }
        if self.collecting
            && let Some(last) = self.failures.last()
            && last.style.ends_before(line, last)
        {
            self.collecting = false;
            self.kept += last.bytes();
        }
        if let Some(style) = Style::of(line, weight, self.place) {
            let known = self.failures.first().map(|first| first.style.rank());
            if known.is_none_or(|known| style.rank() > known) {
                self.failures.clear();
                (self.kept, self.collecting) = (0, false);
            }
            let fits = self.kept < LIMIT && !self.collecting;
            if fits && known.is_none_or(|known| style.rank() >= known) {
                let limit = if self.failures.is_empty() { FIRST_LIMIT } else { OTHER_LIMIT };
                let (head, rest, marked) = (String::new(), VecDeque::new(), Vec::new());
                let ends = begins;
                self.failures.push(Failure { style, begins, ends, head, rest, rest_bytes: 0, marked, lines: 0, limit });
                self.collecting = true;
            }
        }
        if self.collecting
            && let Some(failure) = self.failures.last_mut()
        {
            failure.push(line, weight);
        }
        if line.starts_with("=====") && line.trim_start_matches('=').is_empty() {
            self.place = Place::UnderFrame;
        } else if line.starts_with("  ") && line.ends_with(" failing") {
            self.place = Place::MochaFailures;
        } else if self.place == Place::UnderFrame {
            self.place = Place::Elsewhere;
        }
    }

    /// What is shown, given the names of the failing tests.
    pub(crate) fn finish(mut self, names: &[String]) -> String {
        let mut passing = std::mem::take(&mut self.passing);
        passing.release(&mut |line, weight| self.telling(line, weight));
        if self.end.trim().is_empty() {
            return end(&self.last, LAST).to_owned();
        }
        if self.total <= LIMIT as u64 {
            return self.end;
        }
        let mut text = names_of(names);
        let mut room = LIMIT - NOTES - END - text.len();
        let mut pieces: Vec<Piece> = Vec::new();
        for failure in self.failures {
            if failure.bytes() > room {
                break;
            }
            room -= failure.bytes();
            pieces.extend(failure.pieces());
        }
        let covered = pieces.last().map_or(0, Piece::ends);
        let end = end(&self.end, room + END);
        let begins = self.total - end.len() as u64;
        // What the last failure shows is not shown again.
        let again = usize::try_from(covered.saturating_sub(begins)).unwrap_or(usize::MAX).min(end.len());
        pieces.push(Piece { begins: begins + again as u64, text: end.get(again..).unwrap_or_default().to_owned() });
        let mut at = 0;
        for piece in pieces.iter().filter(|piece| !piece.text.is_empty()) {
            note(&mut text, piece.begins - at);
            text.push_str(&piece.text);
            at = piece.ends();
        }
        text
    }
}

/// The names of failing tests, as many as have room.
fn names_of(names: &[String]) -> String {
    let mut text = String::new();
    if names.is_empty() {
        return text;
    }
    let _ = writeln!(text, "failing tests ({}):", names.len());
    for (at, name) in names.iter().enumerate() {
        if text.len() + name.len() > NAMES_LIMIT {
            let _ = writeln!(text, "  and {} more", names.len() - at);
            break;
        }
        let _ = writeln!(text, "  {name}");
    }
    text.push('\n');
    text
}

fn note(text: &mut String, bytes: u64) {
    if bytes > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[… {bytes} bytes left out …]");
    }
}

/// The end of a text of whole lines, at most `limit` bytes, from the start of a line.
fn end(text: &str, limit: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(limit));
    if from == 0 || text[..from].ends_with('\n') {
        return &text[from..];
    }
    text[from..].find('\n').map_or("", |at| &text[from + at + 1..])
}

#[cfg(test)]
#[path = "excerpt_tests.rs"]
mod tests;
