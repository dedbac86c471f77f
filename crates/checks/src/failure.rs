//! Tells lines that report a failure from all others. Knows the habits of runners and compilers, and no history.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// How much a line says about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    None,
    /// That something failed, with counts or in passing on what another program said.
    Summary,
    Blunt,
    /// What failed or why, in the form that a runner or compiler prints it.
    Sharp,
}

/// Weighs lines one after the other; some are told by the line before them.
#[derive(Debug, Default)]
pub(crate) struct Classifier {
    next: Next,
}

/// What the line before says about this one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Next {
    #[default]
    Unknown,
    /// The first line with text is the message of a failure.
    Message,
    /// The first line that is not indented names the exception.
    Exception,
    /// Lines with a sign are the difference between two values; this many more may be.
    Difference(u8),
}

/// A difference of more lines is told apart by its first ones.
const MAX_DIFFERENCE: u8 = 30;

impl Classifier {
    /// Weighs the next line, which has no colours.
    pub(crate) fn weigh(&mut self, line: &str) -> Weight {
        let text = line.trim();
        if text.is_empty() {
            return Weight::None;
        }
        let told = self.told(line, text);
        let own = weigh(text);
        if text.contains("panicked at ") || text.starts_with("● ") {
            self.next = Next::Message;
        } else if text.starts_with("Traceback (most recent call last)") {
            self.next = Next::Exception;
        } else if matches!(text, "+ expected - actual" | "+ actual - expected" | "- Expected" | "+ Received") {
            self.next = Next::Difference(MAX_DIFFERENCE);
        }
        told.max(own)
    }

    fn told(&mut self, line: &str, text: &str) -> Weight {
        match self.next {
            Next::Unknown => Weight::None,
            Next::Message => {
                self.next = Next::Unknown;
                Weight::Blunt
            }
            Next::Exception => {
                if line.starts_with([' ', '\t']) {
                    return Weight::None;
                }
                self.next = Next::Unknown;
                Weight::Sharp
            }
            Next::Difference(left) => {
                let signed = text.starts_with(['+', '-']);
                self.next =
                    if left == 0 || text.starts_with("at ") { Next::Unknown } else { Next::Difference(left - 1) };
                if signed { Weight::Blunt } else { Weight::None }
            }
        }
    }
}

/// Words without which no line speaks of a failure, whatever their case.
const WORDS: [&str; 39] = [
    "error",
    "fail",
    "panic",
    "exception",
    "assert",
    "expected",
    "received",
    "actual",
    "undefined",
    "unresolved",
    "cannot",
    "can't",
    "could not",
    "not found",
    "no such file",
    "denied",
    "fatal",
    "timed out",
    "timeout",
    "killed",
    "aborted",
    "core dumped",
    "segmentation fault",
    "mismatch",
    "unexpected",
    "refused",
    "left:",
    "right:",
    " != ",
    " !== ",
    "got ",
    "want ",
    // Each of these makes a line a sharp one.
    "not ok ",
    "✕",
    "✖",
    "×",
    "✗",
    "●",
    "_test.go:",
];

/// Finds any of the words in one pass: this runs for every line of a flood. In a tenth of the memory that a table needs.
static SUSPICIOUS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA)).build(WORDS).ok()
});

fn weigh(text: &str) -> Weight {
    let marked = text.starts_with("E  ") || text.starts_with("--> ") || text.starts_with('|');
    // Without the searcher every line would be suspicious, which is slow and not wrong.
    let suspicious = marked || SUSPICIOUS.as_ref().is_none_or(|words| words.is_match(text));
    if !suspicious || is_context(text) || is_pass(text) {
        Weight::None
    } else if is_summary(text) {
        Weight::Summary
    } else if is_sharp(text) {
        Weight::Sharp
    } else {
        Weight::Blunt
    }
}

/// Source code, stack frames, warnings, headings and progress: they hold words such as `error` without meaning it.
fn is_context(text: &str) -> bool {
    const STARTS: [&str; 25] = [
        "at ",
        "note:",
        "help:",
        "warning",
        "Warning",
        "npm warn",
        "stack backtrace",
        "= note",
        "File \"",
        "❯",
        "⎯",
        "====",
        "____",
        "────",
        "Compiling ",
        "Running ",
        "Finished ",
        "Download",
        "Checking ",
        "Fresh ",
        "Building ",
        "Updating ",
        "Locking ",
        "Documenting ",
        "Blocking ",
    ];
    let code = text.trim_start_matches(['>', ' ']);
    let after_number = code.trim_start_matches(|c: char| c.is_ascii_digit());
    // `12 |   let x = 1;` in a code frame, `12: core::panicking::panic` in a backtrace.
    let numbered = after_number.len() < code.len()
        && (after_number.trim_start().starts_with('|') || after_number.starts_with(": "));
    numbered
        || (text.starts_with('|') && !is_annotation(text))
        || STARTS.iter().any(|start| text.starts_with(start))
        || text.contains(": warning:")
        || text.bytes().all(|b| matches!(b, b'^' | b'~' | b'-' | b' ' | b'|'))
}

/// `|       ^^^^^ expected `u32`, found `&str``: the only place where the compiler of Rust says what is wrong with what.
fn is_annotation(text: &str) -> bool {
    text.rsplit_once('^').is_some_and(|(_, said)| said.contains(char::is_alphabetic))
}

fn is_pass(text: &str) -> bool {
    const STARTS: [&str; 9] = ["ok ", "PASS", "✓", "✔", "√", "--- PASS", "=== ", "(pass)", "running "];
    STARTS.iter().any(|start| text.starts_with(start))
        || text.ends_with("... ok")
        || text.ends_with("... ignored")
        || text.contains(" PASSED")
        || text.contains("] PASS")
}

/// What changes when another test is added or taken away, and what wrappers add.
fn is_summary(text: &str) -> bool {
    const STARTS: [&str; 30] = [
        "test result:",
        "Tests:",
        "Test Suites:",
        "Test Files ",
        "Tests ",
        "Snapshots:",
        "FAILED (",
        "Summary [",
        "Tests run:",
        "[ERROR] Tests run:",
        "ℹ ",
        "# pass ",
        "# fail ",
        "# tests ",
        "Found ",
        "error: test failed, to rerun",
        "error: doctest failed, to rerun",
        "error: test run failed",
        "npm ERR!",
        "npm error",
        "error Command failed",
        "ELIFECYCLE",
        "make: ***",
        "make[",
        "gmake: ***",
        "ninja: build stopped",
        "error: aborting due to",
        "error: could not compile",
        "✖ failing tests:",
        "failures:",
    ];
    if STARTS.iter().any(|start| text.starts_with(start)) || text == "FAIL" {
        return true;
    }
    let Some((number, words)) = text.strip_prefix("error: ").unwrap_or(text).split_once(' ') else { return false };
    !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
        && ["failed", "passed", "failing", "passing", "errors", "error in", "tests completed", "targets failed"]
            .iter()
            .any(|start| words.starts_with(start))
}

fn is_sharp(text: &str) -> bool {
    const STARTS: [&str; 20] = [
        "error:",
        "error[",
        "Error:",
        "FAIL",
        "FAIL:",
        "FAILED ",
        "ERROR",
        "not ok ",
        "✕ ",
        "✖ ",
        "× ",
        "✗ ",
        "● ",
        "--- FAIL",
        "E  ",
        "panic:",
        "fatal:",
        "fatal error:",
        "(fail)",
        "Segmentation fault",
    ];
    const INSIDE: [&str; 11] = [
        " panicked at ",
        ": error:",
        "): error ",
        ": fatal error:",
        " ... FAILED",
        " --- FAILED",
        " FAILED",
        " FAIL [",
        "undefined reference",
        "_test.go:",
        ": command not found",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
        || INSIDE.iter().any(|inside| text.contains(inside))
        || text.split([' ', ':', '(']).next().is_some_and(|word| word.ends_with("Error") || word.ends_with("Exception"))
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
