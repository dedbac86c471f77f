//! Chooses what a prompt shows of a failing output: the first failure whole, then the end. Judges nothing.

use std::fmt::Write as _;

use crate::failure::{Classifier, Weight};
use crate::text::{Lines, readable, start};
use ralph_text::strip_escapes;

/// Bytes of an excerpt at most.
pub const LIMIT: usize = 16 * 1024;
/// Bytes of the first failure at most, so that the end of the output always has some room.
const FIRST_LIMIT: usize = 12 * 1024;
/// Room for the lines that say what was left out.
const NOTES: usize = 256;
/// A failure whose end is only told by an empty line ends after so many lines.
const MAX_PLAIN: usize = 60;

/// The excerpt of a whole output: all of it where it is short, else the first failure and the end, at most [`LIMIT`]
/// bytes. Colours are taken out.
#[must_use]
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
    excerpter.finish()
}

/// Keeps the first failure and the end of a stream.
#[derive(Debug, Default)]
pub(crate) struct Excerpter {
    /// Bytes so far.
    total: u64,
    tail: String,
    first: Option<Block>,
    /// Whether lines still belong to the first failure.
    collecting: bool,
    /// Where the stream is, for failures that are told by what stands before them.
    place: Place,
}

/// A failure on its way.
#[derive(Debug)]
struct Block {
    style: Style,
    begins: u64,
    ends: u64,
    text: String,
    lines: usize,
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
    /// How well the form is known; a failure of a better known form takes the place of one before it.
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
    fn ends_before(self, line: &str, block: &Block) -> bool {
        let text = line.trim();
        let starts = |all: &[&str]| all.iter().any(|start| text.starts_with(start));
        match self {
            Self::Word | Self::Line => text.is_empty() || block.lines >= MAX_PLAIN,
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
            // One unindented line names the exception; the block ends after it.
            Self::Traceback => {
                text.is_empty()
                    || block.text.trim_end().lines().skip(1).last().is_some_and(|last| !last.starts_with(' '))
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

impl Excerpter {
    /// Takes the next line, which has no colours.
    pub(crate) fn line(&mut self, line: &str, weight: Weight) {
        let begins = self.total;
        self.total += line.len() as u64 + 1;
        self.tail.push_str(line);
        self.tail.push('\n');
        if self.tail.len() > 4 * LIMIT {
            let from = self.tail.ceil_char_boundary(self.tail.len() - LIMIT);
            self.tail.drain(..from);
        }
        if self.collecting
            && let Some(block) = &self.first
            && block.style.ends_before(line, block)
        {
            self.collecting = false;
        }
        let better = |style: &Style| self.first.as_ref().is_none_or(|first| style.rank() > first.style.rank());
        if let Some(style) = Style::of(line, weight, self.place).filter(better) {
            self.first = Some(Block { style, begins, ends: begins, text: String::new(), lines: 0 });
            self.collecting = true;
        }
        if self.collecting
            && let Some(block) = &mut self.first
        {
            block.lines += 1;
            block.ends = self.total;
            // Beyond the limit only the place of its end matters.
            if block.text.len() <= FIRST_LIMIT {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
        if line.starts_with("=====") && line.trim_start_matches('=').is_empty() {
            self.place = Place::UnderFrame;
        } else if line.starts_with("  ") && line.ends_with(" failing") {
            self.place = Place::MochaFailures;
        } else if self.place == Place::UnderFrame {
            self.place = Place::Elsewhere;
        }
    }

    pub(crate) fn finish(self) -> String {
        if self.total <= LIMIT as u64 {
            return self.tail;
        }
        let room = LIMIT - NOTES;
        match self.first {
            // A failure that the end shows whole needs no second place.
            Some(block) if block.begins + (room as u64) < self.total => {
                let shown = start(&block.text, FIRST_LIMIT);
                let cut = block.ends - block.begins - shown.len() as u64;
                let mut text = String::with_capacity(LIMIT);
                note(&mut text, block.begins, "before the first failure");
                text.push_str(shown);
                note(&mut text, cut, "of this failure");
                let following = self.total - block.ends;
                let tail = end(&self.tail, (room - shown.len()).min(usize::try_from(following).unwrap_or(usize::MAX)));
                note(&mut text, following - tail.len() as u64, "between the first failure and the end");
                text.push_str(tail);
                text
            }
            Some(_) | None => {
                let tail = end(&self.tail, room);
                let mut text = String::with_capacity(LIMIT);
                note(&mut text, self.total - tail.len() as u64, "before this");
                text.push_str(tail);
                text
            }
        }
    }
}

fn note(text: &mut String, bytes: u64, which: &str) {
    if bytes > 0 {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[… {bytes} bytes {which} left out …]");
    }
}

/// The end of a text, at most `limit` bytes, from the start of a line where there is one.
fn end(text: &str, limit: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(limit));
    let cut = &text[from..];
    if from == 0 || text[..from].ends_with('\n') {
        return cut;
    }
    cut.find('\n').map(|at| &cut[at + 1..]).filter(|rest| !rest.is_empty()).unwrap_or(cut)
}

#[cfg(test)]
#[path = "excerpt_tests.rs"]
mod tests;
