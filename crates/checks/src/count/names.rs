//! Names of tests that recognisers gather: sorted, without repeats, bounded. Knows no runner.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ralph_model::TestTally;

use crate::text::start;
use ralph_verify::Pattern;
use ralph_verify::test_names::COPY;

/// Bytes kept of one name.
const MAX_LENGTH: usize = 300;

#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub(super) fn insert(&mut self, name: &str) {
        let name = start(name.trim(), MAX_LENGTH);
        if !name.is_empty() && !self.0.contains(name) {
            self.0.insert(name.to_owned());
            if self.0.len() > TestTally::MAX_NAMES {
                // The greatest goes, not the newest: the kept set must not depend on the order of a parallel run. The rows of
                // one test must not hide another test.
                let pairs = self.0.iter().rev().zip(self.0.iter().rev().skip(1));
                let row = pairs.into_iter().find(|(name, before)| test_of(name) == test_of(before));
                match row.map(|(name, _)| name.clone()) {
                    Some(row) => _ = self.0.remove(&row),
                    None => _ = self.0.pop_last(),
                }
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

    pub(super) fn into_sorted(self) -> Vec<String> {
        self.0.into_iter().collect()
    }
}

/// The name of a test without that of its row, as pytest and `JUnit` or PHPUnit print it.
fn test_of(name: &str) -> &str {
    let end = [" with data set ", "["].into_iter().filter_map(|mark| name.find(mark)).min();
    &name[..end.unwrap_or(name.len())]
}

/// Names of all tests that ran and were not skipped, in the form in which two runs of the same tests agree, and how many
/// tests have each.
#[derive(Debug, Default)]
pub(super) struct Ran {
    copies: BTreeMap<String, u32>,
    /// How many names came in through [`Ran::again`], kept or not.
    taken: u32,
}

impl Ran {
    /// A test that may be named several times.
    pub(super) fn once(&mut self, name: &str) {
        self.put(name, |copies| *copies = (*copies).max(1));
    }

    /// A test that is named once only: one more of the same name is another test.
    pub(super) fn again(&mut self, name: &str) {
        self.taken = self.taken.saturating_add(1);
        self.put(name, |copies| *copies = copies.saturating_add(1));
    }

    fn put(&mut self, name: &str, change: impl FnOnce(&mut u32)) {
        let name = steady(name.trim());
        let name = start(&name, MAX_LENGTH);
        if name.is_empty() || is_no_test(name) {
            return;
        }
        match self.copies.get_mut(name) {
            Some(copies) => change(copies),
            None => {
                let mut copies = 0;
                change(&mut copies);
                self.copies.insert(name.to_owned(), copies);
            }
        }
        if self.copies.len() > TestTally::MAX_TESTS {
            // As with failing names. What went once is the greatest again when it comes back, so that no copy of a kept
            // name is ever lost.
            self.copies.pop_last();
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.copies.contains_key(start(&steady(name.trim()), MAX_LENGTH))
    }

    /// How many tests were named through [`Ran::again`].
    pub(super) const fn taken(&self) -> u32 {
        self.taken
    }

    /// How many different names there are, as far as they are kept.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.copies.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.taken = self.taken.saturating_add(other.taken);
        for (name, copies) in other.copies {
            self.put(&name, |here| *here = here.saturating_add(copies));
        }
    }

    /// Takes the names of another source that tells of the same tests.
    pub(super) fn unite(&mut self, other: Self) {
        for (name, copies) in other.copies {
            self.put(&name, |here| *here = copies.max(*here));
        }
    }

    /// The names, the copies of one told apart by a number.
    pub(super) fn into_sorted(self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for (name, copies) in self.copies {
            let room = u32::try_from(TestTally::MAX_TESTS).unwrap_or(u32::MAX);
            names.extend((2..=copies.min(room)).map(|copy| format!("{name}{COPY}{copy}")));
            names.insert(name);
            while names.len() > TestTally::MAX_TESTS {
                names.pop_last();
            }
        }
        names.into_iter().collect()
    }
}

/// Whether a runner reports something under this name as if it were a test, but only when it fails: nobody should miss it
/// when it does not.
fn is_no_test(name: &str) -> bool {
    // Hooks of mocha, and modules that unittest could not load.
    ["\"before all\" hook", "\"before each\" hook", "\"after all\" hook", "\"after each\" hook"]
        .iter()
        .any(|hook| name.contains(hook))
        || name.starts_with("unittest.loader._FailedTest")
}

/// The name without what changes from run to run though the test is the same: the line of a doc test, the place of an
/// object in memory.
fn steady(name: &str) -> Cow<'_, str> {
    static LINE: Pattern = Pattern::new(r" \(line [0-9]+\)");
    static ADDRESS: Pattern = Pattern::new(r"(?-u:\b)0x[0-9a-fA-F]{6,}(?-u:\b)");
    let mut name = Cow::Borrowed(name);
    // Cheap refusals first: this runs for every test.
    if name.contains(" (line ") {
        name = Cow::Owned(LINE.replace_all(&name, "").into_owned());
    }
    if name.contains("0x") {
        name = Cow::Owned(ADDRESS.replace_all(&name, "0x…").into_owned());
    }
    name
}

/// The name without the time that the test took: `total (2 ms)`, `total (1.5 s)`, `total 12ms`.
///
/// A name may itself end like that, and the time is not always printed, so all that look so are cut.
pub(super) fn without_time(name: &str) -> &str {
    static TIME: Pattern = Pattern::new(r"(?: +\(?[0-9]+(?:\.[0-9]+)? ?(?:ms|s|m)\)?)+$");
    let name = name.trim_end();
    TIME.find(name).map_or(name, |found| &name[..found.start()])
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
