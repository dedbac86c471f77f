//! pytest.

use super::names::Ran;
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, counted, is_seconds};

use ralph_verify::Pattern;

/// The last line of a session, with or without its frame of `=`.
#[derive(Debug, Default)]
pub(super) struct Pytest {
    all: Gathered,
    section: Section,
    shown: Shown,
    /// Failures of parts of tests, and failures after a test: the session counts them beside their test.
    parts: u32,
    torn_down: u32,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Elsewhere,
    /// Between the number of tests and the next headline: their results as they come.
    Results,
    /// Under `short test summary info`.
    Summary,
}

/// Names of tests that ran, from the places that show all of them.
#[derive(Debug, Default)]
struct Shown {
    /// Files, of which the results are dots.
    files: Ran,
    /// Tests as `-v` shows them.
    verbose: Ran,
    /// A test whose result is further down, after what it prints.
    open: Option<String>,
    /// With xdist a test is shown when it starts and when it ends, in any order.
    distributed: bool,
    /// Tests as `-rA` shows them.
    listed: Ran,
    lists_passes: bool,
}

impl Recogniser for Pytest {
    fn line(&mut self, line: &str) {
        if line.contains(" in ")
            && let Some(sums) = summary(line)
        {
            self.session(sums);
            return;
        }
        if line.contains("FAILED") || line.contains("ERROR") {
            self.failing(line);
        }
        if line.starts_with("===") {
            self.shown.close();
            let in_summary = line.contains(" short test summary info ");
            self.section = if in_summary { Section::Summary } else { Section::Elsewhere };
        } else if self.section == Section::Results {
            self.shown.result(line);
        } else if self.section == Section::Summary {
            self.listed(line);
        } else if line.starts_with("collect") && line.contains("collected ") {
            self.section = Section::Results;
        } else if line.ends_with(" items]") && line.contains(" workers [") {
            self.section = Section::Results;
            self.shown.distributed = true;
        } else if line.starts_with("____") && line.contains("_ ERROR at teardown of ") {
            self.torn_down = self.torn_down.saturating_add(1);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}

impl Pytest {
    /// `FAILED tests/test_cart.py::test_discount - assert 1 == 2`
    fn listed(&mut self, line: &str) {
        if line.starts_with("SUBFAIL") {
            self.parts = self.parts.saturating_add(1);
        }
        let Some((word, rest)) = line.split_once(' ') else { return };
        let rest = rest.split(" - ").next().unwrap_or(rest).trim();
        match word {
            "PASSED" | "FAILED" | "ERROR" if rest.contains("::") => {
                self.shown.lists_passes |= word == "PASSED";
                self.shown.listed.once(rest);
            }
            _ => {}
        }
    }

    fn failing(&mut self, line: &str) {
        let line = without_worker(line);
        if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            let node = rest.split(" - ").next().unwrap_or(rest).trim();
            if node.contains("::") || (node.ends_with(".py") && !node.contains(' ')) {
                self.all.failing.insert(node);
            }
        } else if let Some((node, rest)) = line.split_once(" FAILED").or_else(|| line.split_once(" ERROR"))
            && node.contains(".py::")
            && (rest.is_empty() || (rest.trim_start().starts_with('[') && rest.ends_with("%]")))
        {
            self.all.failing.insert(node);
        }
    }

    fn session(&mut self, mut sums: Sums) {
        // A part that fails makes its test fail, and a test that fails after it passed did not pass: each is one test,
        // and will count as one when it passes.
        let parts = std::mem::take(&mut self.parts).min(sums.failed.saturating_sub(1));
        let torn_down = std::mem::take(&mut self.torn_down).min(sums.passed);
        sums.failed -= parts;
        sums.passed -= torn_down;
        self.all.result(sums);
        self.section = Section::Elsewhere;
        let shown = std::mem::take(&mut self.shown);
        self.all.ran.extend(shown.files);
        if shown.verbose.taken() == sums.ran() {
            self.all.ran.extend(shown.verbose);
        } else if shown.lists_passes {
            // By default only failures are listed, which would be missed as soon as they pass.
            self.all.ran.extend(shown.listed);
        }
    }
}

impl Shown {
    /// `tests/test_cart.py ..F. [ 50%]`, `tests/test_cart.py::test_total PASSED [ 50%]`,
    /// `[gw0] [ 50%] PASSED tests/test_cart.py::test_total`
    fn result(&mut self, line: &str) {
        static RESULT: Pattern =
            Pattern::new(r"^([^ \t]+\.py::.*?) +(PASSED|FAILED|ERROR|XPASS|SKIPPED|XFAIL|RERUN|SUB[A-Z]+)(?-u:\b)");
        if line.starts_with('[') {
            let Some((word, node)) = without_worker(line).split_once(' ') else { return };
            self.ended(word, node);
        } else if line.contains(".py::")
            // Asked last: the pattern is built only where there are such lines.
            && let Some(found) = RESULT.captures(line)
        {
            self.close();
            let (Some(node), Some(word)) = (found.get(1), found.get(2)) else { return };
            self.ended(word.as_str(), node.as_str());
        } else if let Some((_, after)) = line.split_once(".py::") {
            // It prints something before its result is known.
            if !self.distributed && !after.is_empty() {
                self.close();
                self.open = Some(node(line).to_owned());
            }
        } else if ["SKIPPED", "XFAIL", "XPASS"].iter().any(|word| line.starts_with(word)) {
            self.open = None;
        } else if let Some((path, results)) = line.split_once(' ')
            && path.ends_with(".py")
        {
            let results = results.split(" [").next().unwrap_or(results).trim();
            let only_skipped = results.bytes().all(|result| matches!(result, b's' | b'x' | b'X'));
            if !only_skipped {
                self.files.once(path);
            }
        }
    }

    fn ended(&mut self, word: &str, node: &str) {
        match word {
            "PASSED" | "FAILED" => self.verbose.again(node),
            // It comes after the result when a test failed to be taken down.
            "ERROR" if !self.verbose.contains(node) => self.verbose.again(node),
            _ => {}
        }
    }

    fn close(&mut self) {
        if let Some(node) = self.open.take() {
            self.verbose.again(&node);
        }
    }
}

/// xdist puts the worker and the share of tests done before the status.
fn without_worker(line: &str) -> &str {
    let line = line.strip_prefix("[gw").and_then(|rest| rest.split_once("] ")).map_or(line, |(_, rest)| rest);
    if line.starts_with('[') { line.split_once("] ").map_or(line, |(_, rest)| rest) } else { line }
}

/// The test at the start of a line: up to a space that is not inside the brackets of its parameters.
fn node(line: &str) -> &str {
    let mut depth = 0_i32;
    let end = line.find(|c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ' ' && depth <= 0
    });
    end.map_or(line, |end| &line[..end])
}

/// `=== 2 failed, 2 passed, 1 skipped, 1 xfailed, 1 error in 0.03s ===`
fn summary(line: &str) -> Option<Sums> {
    let (body, time) = line.trim_matches('=').trim().rsplit_once(" in ")?;
    if !is_seconds(time.split(" (").next()?) {
        return None;
    }
    if body == "no tests ran" {
        return Some(Sums::default());
    }
    let (mut sums, mut tests) = (Sums::default(), false);
    for part in body.split(", ") {
        let (number, word) = counted(part)?;
        let outcome = match word {
            "passed" => Outcome::Passed,
            "failed" | "error" | "errors" | "subtests failed" => Outcome::Failed,
            // A test that is marked to fail shows nothing, whatever comes of it.
            "skipped" | "xfailed" | "xpassed" => Outcome::Skipped,
            "deselected" | "warning" | "warnings" | "rerun" | "subtests passed" | "subtests skipped" => continue,
            _ => return None,
        };
        sums.count(outcome, number);
        tests = true;
    }
    // A session of which everything was deselected still counts, as one without tests.
    (tests || body.contains("deselected")).then_some(sums)
}
