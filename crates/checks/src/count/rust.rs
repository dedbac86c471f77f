//! `cargo test` and `cargo nextest`. The first appears inside the second, so one recogniser knows both.

use super::names::Ran;
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, counted};

/// Sums the result lines of all test binaries, and the summary of nextest.
#[derive(Debug, Default)]
pub(super) struct Rust {
    all: Gathered,
    /// Tests that had a line of their own: none has with `--quiet`, and what tests print can tear lines apart.
    shown: Ran,
    /// How many tests the results told of.
    told: u32,
    /// The same of nextest, which names some tests several times.
    ended: Ran,
    summarised: u32,
    /// How many tests each run announced that has no result yet; more than one when a failing test printed a run of
    /// its own.
    announced: Vec<u32>,
    section: Section,
    /// Between its first line and its summary nextest shows the libtest output of every failing test.
    nextest: Nextest,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Results,
    /// After `failures:`, where the output of failing tests is shown and then their names.
    Failures,
    /// After the last `failures:`, among the names.
    Names,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Nextest {
    #[default]
    Absent,
    Running,
    Summarised,
}

impl Recogniser for Rust {
    fn line(&mut self, line: &str) {
        if line.starts_with(' ') {
            self.indented(line);
        } else if self.nextest != Nextest::Running {
            self.libtest(line);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        let Self { mut all, shown, told, ended, summarised, .. } = *self;
        if shown.taken() == told {
            all.ran.extend(shown);
        }
        if ended.len() == summarised {
            all.ran.extend(ended);
        }
        all.counted()
    }
}

impl Rust {
    /// Output of failing tests can announce runs without end; a handful tells nested from outer.
    const MAX_DEPTH: usize = 16;

    fn indented(&mut self, line: &str) {
        let text = line.trim_start();
        if self.section == Section::Names && line.starts_with("    ") {
            if self.announced.len() <= 1 {
                self.all.failing.insert(text);
            }
        } else if let Some(rest) = text.strip_prefix("Summary [") {
            self.summary(rest);
        } else if text.starts_with("Starting ") && text.contains(" across ") {
            self.nextest = Nextest::Running;
        } else if self.nextest != Nextest::Absent {
            self.status(text);
        }
    }

    /// `   0.166s] 6 tests run: 3 passed (1 slow), 3 failed, 1 skipped`
    fn summary(&mut self, rest: &str) {
        let Some((run, counts)) = rest.split_once(" run: ") else { return };
        let mut sums = Sums::default();
        for part in without_parentheses(counts).split(',') {
            match counted(part) {
                Some((number, "passed")) => sums.count(Outcome::Passed, number),
                Some((number, "skipped")) => sums.count(Outcome::Skipped, number),
                Some((number, "failed" | "timed out" | "exec failed")) => sums.count(Outcome::Failed, number),
                Some(_) | None => {}
            }
        }
        // `4/6 tests`: the run was given up after a failure.
        let share = run.rsplit("] ").next().and_then(|tests| tests.split(' ').next()).and_then(|f| f.split_once('/'));
        if let Some((Ok(done), Ok(of))) = share.map(|(done, of)| (done.parse::<u32>(), of.parse::<u32>())) {
            sums.count(Outcome::Skipped, of.saturating_sub(done));
        }
        self.all.result(sums);
        self.summarised = self.summarised.saturating_add(sums.ran());
        self.nextest = Nextest::Summarised;
    }

    /// `FAIL [   0.086s] (3/6) shop tests::discount`, `TRY 2 SIGABRT [   0.010s] shop tests::discount`
    fn status(&mut self, text: &str) {
        let Some((word, rest)) = text.split_once(" [") else { return };
        let tried = word.strip_prefix("TRY ");
        let word = tried.map_or(word, |tried| tried.split_once(' ').map_or("", |(_, word)| word)).trim();
        let failed = matches!(word, "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL" | "XFAIL") || word.starts_with("SIG");
        if !failed && !matches!(word, "PASS" | "LEAK" | "TMPASS" | "TIMEOUT-PASS") {
            return;
        }
        let Some((_, name)) = rest.split_once("] ") else { return };
        let name = name.trim_start();
        let name = if name.starts_with('(') { name.split_once(") ").map_or(name, |(_, name)| name) } else { name };
        self.ended.once(name);
        // A try that is not the last one may still end well; the lines after the summary name the last ones.
        if failed && !(tried.is_some() && self.nextest == Nextest::Running) {
            self.all.failing.insert(name);
        }
    }

    fn libtest(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.result(rest);
        } else if let Some(tests) = line.strip_prefix("running ") {
            self.announce(tests);
        } else if line == "failures:" {
            if self.announced.len() > 1 {
                return;
            }
            self.section = if self.section == Section::Failures { Section::Names } else { Section::Failures };
        } else if line.is_empty() {
            // The first list starts with an empty line, the second one with a name and ends with an empty line.
            if self.section == Section::Names {
                self.section = Section::Failures;
            }
        } else if self.announced.len() <= 1 {
            let quiet = line.strip_suffix(" --- FAILED");
            let shown = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
            if let Some((name, end)) = shown
                && self.section == Section::Results
                && !end.starts_with("ignored")
            {
                self.shown.again(name.strip_suffix(" - should panic").unwrap_or(name));
            }
            let loud = shown.and_then(|(name, end)| end.starts_with("FAILED").then_some(name));
            let headed = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
            if let Some(name) = quiet.or(loud).or(headed) {
                self.all.failing.insert(name.strip_suffix(" - should panic").unwrap_or(name));
            }
        }
    }

    fn announce(&mut self, tests: &str) {
        let Some((number, "test" | "tests")) = counted(tests) else { return };
        // Only the output of a failing test can hold a run inside a run; elsewhere the run before was cut short.
        if self.section == Section::Results {
            self.announced.clear();
        }
        if self.announced.len() < Self::MAX_DEPTH {
            self.announced.push(number);
        }
    }

    /// `FAILED. 2 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.08s`
    fn result(&mut self, rest: &str) {
        let Some((_, counts)) = rest.split_once(". ") else { return };
        let (mut sums, mut measured, mut known) = (Sums::default(), 0, 0);
        for part in counts.split(';') {
            match counted(part) {
                Some((number, "passed")) => (sums.passed, known) = (number, known + 1),
                Some((number, "failed")) => (sums.failed, known) = (number, known + 1),
                Some((number, "ignored")) => (sums.skipped, known) = (number, known + 1),
                Some((number, "measured")) => measured = number,
                Some(_) | None => {}
            }
        }
        if known < 3 {
            return;
        }
        let total = [sums.passed, sums.failed, sums.skipped, measured].into_iter().fold(0, u32::saturating_add);
        match self.announced.iter().rposition(|announced| *announced == total) {
            Some(at) => self.announced.truncate(at),
            None => self.announced.clear(),
        }
        if self.announced.is_empty() {
            self.all.result(sums);
            self.told = self.told.saturating_add(sums.ran());
            self.section = Section::Results;
        }
    }
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}
