//! Numbers and names that recognisers gather. Knows no runner.

use std::collections::BTreeSet;

use ralph_model::TestTally;

use crate::text::start;

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

    pub(super) fn tally(self, names: Names) -> TestTally {
        TestTally {
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            failing: names.0.into_iter().collect(),
            names: Vec::new(),
        }
    }
}

/// What a recogniser hands over when it saw its runner.
pub(super) type Counted = Option<(Sums, Names)>;

/// Names of failing tests: sorted, without repeats, bounded.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Bytes kept of one name.
    const LONGEST: usize = 300;

    pub(super) fn insert(&mut self, name: &str) {
        let name = start(name.trim(), Self::LONGEST);
        if !name.is_empty() && !self.0.contains(name) {
            self.0.insert(name.to_owned());
            if self.0.len() > TestTally::MOST_NAMES {
                // The greatest goes, not the newest: the kept set must not depend on the order of a parallel run.
                self.0.pop_last();
            }
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        for name in other.0 {
            self.insert(&name);
        }
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

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
