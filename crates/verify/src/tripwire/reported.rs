//! Names that runners reported, in an index: comparing each of them with each test takes minutes in large projects.

use std::collections::HashMap;

use ralph_model::{CheckOutcome, TestTally};

use super::mention::{fixed_words, is_reported_as};

#[derive(Debug, Default)]
pub(crate) struct ReportedNames<'a> {
    names: Vec<&'a str>,
    by_word: HashMap<&'a str, Vec<usize>>,
}

impl<'a> ReportedNames<'a> {
    pub(crate) fn new(names: Vec<&'a str>) -> Self {
        let mut by_word: HashMap<&'a str, Vec<usize>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            for word in words(name) {
                let places = by_word.entry(word).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        Self { names, by_word }
    }

    pub(crate) fn all(&self) -> &[&'a str] {
        &self.names
    }

    /// Those under which a test is reported, by its name in a source.
    pub(crate) fn of<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a str> + 's {
        // A test is reported with all words of its title that stay as they are; the rarest one leaves the fewest names to compare.
        let places = words(fixed_words(name)).map(|word| self.by_word.get(word).map_or(&[][..], Vec::as_slice));
        let rarest = places.min_by_key(|places| places.len());
        let every = if rarest.is_none() { 0..self.names.len() } else { 0..0 };
        let candidates = rarest.unwrap_or_default().iter().copied().chain(every);
        candidates.map(|at| self.names[at]).filter(move |reported| is_reported_as(reported, name))
    }
}

pub(super) fn names(checks: &[CheckOutcome], pick: fn(&TestTally) -> &Vec<String>) -> Vec<&str> {
    checks.iter().filter_map(|check| check.tests.as_ref()).flat_map(pick).map(String::as_str).collect()
}

/// How many tests ran.
pub(super) fn total(checks: &[CheckOutcome]) -> u32 {
    checks.iter().filter_map(|check| check.tests.as_ref()).map(|tests| tests.passed.saturating_add(tests.failed)).sum()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
#[path = "reported_tests.rs"]
mod tests;
