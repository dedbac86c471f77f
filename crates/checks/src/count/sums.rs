//! What a recogniser of a runner does, and the numbers that it gathers. Knows no runner.

use std::fmt::Debug;

use ralph_model::TestTally;
use regex::Captures;

use super::names::{Names, Ran};

/// Recognises what one runner prints, a line at a time.
pub(super) trait Recogniser: Debug + Send {
    /// Takes a line without colours and without what stands before it in the output of other tools.
    fn line(&mut self, line: &str);

    fn finish(self: Box<Self>) -> Counted;
}

/// Two runners that are started in the same way.
impl<A: Recogniser, B: Recogniser> Recogniser for (A, B) {
    fn line(&mut self, line: &str) {
        self.0.line(line);
        self.1.line(line);
    }

    fn finish(self: Box<Self>) -> Counted {
        let (one, other) = *self;
        match (Box::new(one).finish(), Box::new(other).finish()) {
            (Some(mut one), Some(other)) => {
                one.add(other);
                Some(one)
            }
            (one, other) => one.or(other),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// Tests counted so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
}

impl Sums {
    pub(super) fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }

    /// The sums of a runner that tells how many tests there were, and not how many passed.
    pub(super) fn of_total(total: u32, failed: u32, skipped: u32) -> Self {
        Self { passed: total.saturating_sub(failed).saturating_sub(skipped), failed, skipped }
    }

    pub(super) const fn of_mut(&mut self, outcome: Outcome) -> &mut u32 {
        match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Skipped => &mut self.skipped,
        }
    }

    /// Counts so many tests more with this outcome.
    pub(super) const fn count(&mut self, outcome: Outcome, tests: u32) {
        let sum = self.of_mut(outcome);
        *sum = sum.saturating_add(tests);
    }

    pub(super) fn ran(self) -> u32 {
        self.passed.saturating_add(self.failed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) sums: Sums,
    pub(super) failing: Names,
    pub(super) ran: Ran,
    /// Tests that had a line of their own. They count only where they are as many as the runner says: tests print lines, too, and
    /// tear lines apart.
    pub(super) shown: Ran,
    /// Whether the runner printed its result.
    pub(super) seen: bool,
}

impl Gathered {
    /// Takes the result of a run.
    pub(super) fn result(&mut self, sums: Sums) {
        self.sums.add(sums);
        self.seen = true;
    }

    /// Counts a test by its name.
    pub(super) fn test(&mut self, outcome: Outcome, name: &str) {
        self.sums.count(outcome, 1);
        if outcome == Outcome::Failed {
            self.failing.insert(name);
        }
        if outcome != Outcome::Skipped {
            self.ran.again(name);
        }
    }

    /// Notes a test that ran and that the result counts.
    pub(super) fn show(&mut self, failed: bool, name: &str) {
        self.shown.again(name);
        if failed {
            self.failing.insert(name);
        }
    }

    /// What counts at the end.
    pub(super) fn counted(mut self) -> Counted {
        if self.shown.taken() == self.sums.ran() {
            self.ran.extend(std::mem::take(&mut self.shown));
        }
        self.seen.then_some(self)
    }

    pub(super) fn add(&mut self, other: Self) {
        self.sums.add(other.sums);
        self.failing.extend(other.failing);
        self.ran.extend(other.ran);
    }

    /// What counts where two sources tell of the same tests: the one that knows of more failures, or else of more tests,
    /// or else the second, with the names of both.
    pub(super) fn choose(one: Counted, other: Counted) -> Counted {
        let (one, other) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return other.or(one),
        };
        let known = |it: &Self| (it.sums.failed, it.sums.ran().saturating_add(it.sums.skipped));
        let (mut chosen, rest) = if known(&one) > known(&other) { (one, other) } else { (other, one) };
        chosen.ran.unite(rest.ran);
        Some(chosen)
    }

    pub(super) fn tally(self) -> TestTally {
        let Sums { passed, failed, skipped } = self.sums;
        TestTally { passed, failed, skipped, failing: self.failing.into_sorted(), names: self.ran.into_sorted() }
    }
}

/// What a recogniser hands over: nothing when it did not see its runner.
pub(super) type Counted = Option<Gathered>;

/// `2 failed` as the number and the words after it.
pub(super) fn counted(part: &str) -> Option<(u32, &str)> {
    let (number, words) = part.trim().split_once(' ')?;
    Some((number.parse().ok()?, words.trim()))
}

/// The number of a group of a pattern; zero where it is none.
pub(super) fn number(found: &Captures<'_>, group: usize) -> u32 {
    found.get(group).and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

/// The title of `1) discount`.
pub(super) fn numbered(text: &str) -> Option<&str> {
    let (number, title) = text.split_once(") ")?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(title)
}

/// Whether a text is a number of seconds such as `0.12s`.
pub(super) fn is_seconds(text: &str) -> bool {
    let number = text.strip_suffix('s').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// How many spaces a line starts with.
pub(super) fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
