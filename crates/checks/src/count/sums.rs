//! Numbers that recognisers gather, and what they hand over. Knows no runner.

use ralph_model::TestTally;

use super::names::{Names, Ran};

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

    pub(super) fn ran(self) -> u32 {
        self.passed.saturating_add(self.failed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) sums: Sums,
    pub(super) failing: Names,
    pub(super) ran: Ran,
}

impl Gathered {
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

/// Whether a text is a number of seconds such as `0.12s`.
pub(super) fn is_seconds(text: &str) -> bool {
    let number = text.strip_suffix('s').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// How many spaces a line starts with.
pub(super) fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
