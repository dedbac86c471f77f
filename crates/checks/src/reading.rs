//! Reads the output of a check while it comes: counts, recognises and keeps what a prompt shows. Keeps bounded memory.

use std::time::{Duration, Instant};

use ralph_model::{Ended, Signature, TestTally};
use ralph_process::Stream;

use crate::count::{Reports, Runners};
use crate::excerpt::Excerpter;
use crate::failure::{Classifier, Weight};
use crate::signature::{Recogniser, signature};
use crate::text::{Lines, plain, readable};

/// How often a person is shown another line.
const SHOW_EVERY: Duration = Duration::from_millis(100);
/// Characters of a line that a person is shown.
const MAX_SHOWN: usize = 200;

/// What is known of an output so far.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    stdout: Side,
    stderr: Side,
    judge: Judge,
    shown: Option<Instant>,
}

/// Each output has lines of its own: a piece of one may come in the middle of a line of the other.
#[derive(Debug, Default)]
struct Side {
    lines: Lines,
    reports: Reports,
    classifier: Classifier,
}

#[derive(Debug, Default)]
struct Judge {
    runners: Runners,
    recogniser: Recogniser,
    excerpter: Excerpter,
    last: String,
}

/// What an output says.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) tests: Option<TestTally>,
    pub(crate) excerpt: String,
    pub(crate) signature: Option<Signature>,
}

impl Judge {
    fn line(&mut self, line: &str, classifier: &mut Classifier) {
        let line = plain(line);
        self.runners.line(&line);
        let Some(line) = readable(&line) else { return };
        let weight = classifier.weigh(&line);
        self.recogniser.line(&line, weight);
        self.excerpter.line(&line, weight);
        if !line.trim().is_empty() {
            self.last.clear();
            self.last.extend(line.trim().chars().take(MAX_SHOWN));
        }
    }
}

impl Side {
    fn feed(&mut self, piece: &str, judge: &mut Judge) {
        let Self { lines, reports, classifier } = self;
        lines.feed(piece, &mut |line| judge.line(line, classifier));
        reports.feed(piece);
    }

    fn finish(&mut self, judge: &mut Judge) {
        let Self { lines, reports, classifier } = self;
        lines.finish(&mut |line| judge.line(line, classifier));
        judge.runners.reports(std::mem::take(reports).finish());
    }
}

impl Reading {
    /// Takes a piece. Gives the last line to show, when it is time to show one.
    pub(crate) fn feed(&mut self, stream: Stream, piece: &str) -> Option<String> {
        match stream {
            Stream::Stdout => self.stdout.feed(piece, &mut self.judge),
            Stream::Stderr => self.stderr.feed(piece, &mut self.judge),
        }
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY);
        if !due || self.judge.last.is_empty() {
            return None;
        }
        self.shown = Some(Instant::now());
        Some(std::mem::take(&mut self.judge.last))
    }

    /// What the whole output says, given how the process ended.
    pub(crate) fn finish(mut self, ended: &Ended) -> Read {
        self.stdout.finish(&mut self.judge);
        self.stderr.finish(&mut self.judge);
        let Judge { runners, mut recogniser, excerpter, .. } = self.judge;
        if !matches!(ended, Ended::Exited { .. }) {
            // Nothing that it printed says that it was stopped, so this is a line of the failure, too.
            recogniser.line(&ended.to_string(), Weight::Sharp);
        }
        let mut excerpt = excerpter.finish();
        if excerpt.trim().is_empty() {
            excerpt = format!("(no output, {ended})\n");
        }
        let tests = runners.finish();
        let signature = recogniser.finish(tests.as_ref()).or_else(|| signature(&format!("{ended}, without output")));
        Read { tests, excerpt, signature }
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
