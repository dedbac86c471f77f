//! Reads the output of a check while it comes: counts, recognises and keeps what a prompt shows. Keeps bounded memory.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_model::{Ended, Runner, Signature, TestTally};
use ralph_process::Stream;
use ralph_text::{Redactor, strip_escapes};

use crate::count::{Reports, Runners};
use crate::excerpt::Excerpter;
use crate::failure::{Classifier, Weight};
use crate::signature::{Recogniser, signature_of_line};
use crate::text::{Lines, readable};

/// How often a person is shown another line.
const SHOW_EVERY: Duration = Duration::from_millis(100);
/// Characters of a line that a person is shown.
const MAX_SHOWN: usize = 200;

/// What is known of an output so far.
#[derive(Debug)]
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

#[derive(Debug)]
struct Judge {
    runners: Runners,
    recogniser: Recogniser,
    excerpter: Excerpter,
    last: String,
    redactor: Arc<Redactor>,
}

#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) tests: Option<TestTally>,
    pub(crate) excerpt: String,
    pub(crate) signature: Option<Signature>,
}

impl Judge {
    fn line(&mut self, line: &str, classifier: &mut Classifier) {
        let line = strip_escapes(line);
        self.runners.line(&line);
        let line = match readable(&line) {
            None => return,
            // What was decoded has not been searched for secrets yet.
            Some(Cow::Owned(decoded)) => Cow::Owned(self.redactor.clean(&decoded).into_owned()),
            Some(line) => line,
        };
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
    /// Reads what is freed of secrets already, and frees of them what it decodes.
    pub(crate) fn new(redactor: Arc<Redactor>, only: Option<Runner>) -> Self {
        let judge = Judge {
            runners: Runners::only(only),
            recogniser: Recogniser::default(),
            excerpter: Excerpter::default(),
            last: String::new(),
            redactor,
        };
        Self { stdout: Side::default(), stderr: Side::default(), judge, shown: None }
    }

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
        let tests = runners.finish();
        let mut excerpt = excerpter.finish(tests.as_ref().map_or(&[], |tests| &tests.failing));
        if excerpt.trim().is_empty() {
            excerpt = format!("(no output, {ended})\n");
        }
        let signature =
            recogniser.finish(tests.as_ref()).or_else(|| signature_of_line(&format!("{ended}, without output")));
        Read { tests, excerpt, signature }
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
