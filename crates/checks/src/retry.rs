//! What becomes of several runs of one check on the same files. Runs nothing.

use ralph_model::{CheckOutcome, Ended};

use crate::excerpt::LIMIT;
use crate::text::start;

/// Names of failing tests that are shown of each run.
const SHOWN: usize = 5;
/// Runs that are told apart in an excerpt.
const MAX_RUNS: usize = 10;
/// Bytes of a line about one run.
const MAX_LINE: usize = 500;

#[derive(Debug)]
pub(crate) struct Runs {
    first: CheckOutcome,
    /// What failed in each run, the first included.
    failures: Vec<Vec<String>>,
    retries: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It passed at once, or somebody does not want it to go on.
    Settled,
    Failing,
    /// It passed after it had failed.
    Flaky,
}

impl Runs {
    pub(crate) fn new(first: CheckOutcome) -> Self {
        let state = if first.passed || was_ended(&first.ended) { State::Settled } else { State::Failing };
        Self { failures: vec![failures(&first)], first, retries: 0, state }
    }

    /// The number of the next run, from 1, when there should be one.
    pub(crate) fn next(&self, most: u32) -> Option<u32> {
        (self.state == State::Failing && self.retries < most).then_some(self.retries + 1)
    }

    pub(crate) fn add(&mut self, again: CheckOutcome) {
        self.first.duration = self.first.duration.plus(again.duration);
        if was_ended(&again.ended) {
            // It says nothing about the check, and the run before has already failed.
            self.state = State::Settled;
            return;
        }
        self.retries += 1;
        if again.passed {
            self.state = State::Flaky;
        } else if self.failures.len() < MAX_RUNS {
            self.failures.push(failures(&again));
        }
    }

    /// The outcome of the first run, with what the others showed.
    pub(crate) fn outcome(self) -> CheckOutcome {
        let Self { mut first, failures, retries, state } = self;
        first.retries = retries;
        first.flaky = state == State::Flaky;
        if failures.iter().any(|run| *run != failures[0]) {
            first.excerpt = with_note(&first.excerpt, &note(&failures));
        }
        first
    }
}

/// Whether a run ended for reasons that are not its own and that another run would meet again.
const fn was_ended(ended: &Ended) -> bool {
    matches!(ended, Ended::Stopped | Ended::BudgetSpent | Ended::Hopeless)
}

/// What a failing run is told by: its failing tests where they are named, else how it ended.
fn failures(outcome: &CheckOutcome) -> Vec<String> {
    match &outcome.tests {
        Some(tests) if !tests.failing.is_empty() => tests.failing.clone(),
        Some(tests) if tests.failed > 0 => vec![format!("{} failing", tests.failed)],
        Some(_) | None => vec![outcome.ended.to_string()],
    }
}

fn note(runs: &[Vec<String>]) -> String {
    let mut note = "Other tests failed when the check ran again on the same files:\n".to_owned();
    for (number, failures) in runs.iter().enumerate() {
        let rest = if failures.len() > SHOWN { ", …" } else { "" };
        let shown = failures.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        note.push_str(&format!("  run {}: {}{rest}\n", number + 1, start(&shown, MAX_LINE)));
    }
    note.push('\n');
    note
}

/// The note and, under it, as much of the excerpt as fits.
fn with_note(excerpt: &str, note: &str) -> String {
    let note = ralph_text::sanitize(start(note, LIMIT));
    format!("{note}{}", start(excerpt, LIMIT.saturating_sub(note.len())))
}

#[cfg(test)]
pub(crate) mod fixtures {
    use ralph_model::{CheckOutcome, Ended, Millis, OutputRef, Signature, TestTally};

    pub(crate) fn outcome(tests: Option<TestTally>) -> CheckOutcome {
        CheckOutcome {
            command: "make check".to_owned(),
            passed: false,
            ended: Ended::Exited { code: 1 },
            tests,
            shrunk: None,
            flaky: false,
            retries: 0,
            duration: Millis(100),
            excerpt: "boom\n".to_owned(),
            signature: Some(Signature { hash: "00".to_owned(), headline: "boom".to_owned() }),
            output: OutputRef { file: "log".to_owned(), bytes: 5, sha256: String::new(), cut: false },
        }
    }

    /// A check in which these tests failed.
    pub(crate) fn failing(names: &[&str]) -> CheckOutcome {
        let failing: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        outcome(Some(TestTally { failed: 1, failing, ..TestTally::default() }))
    }
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
