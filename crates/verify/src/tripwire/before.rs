//! What the checks said of tests before the first iteration, and what shows that they run a test.

use ralph_model::{CheckOutcome, Verdict};

use super::{TestFile, is_reported_as, is_whole_of, names};
use crate::selection::Selection;
use crate::test_names::PACKAGE;

/// What the checks said of tests before the first iteration.
pub(super) struct Before<'a> {
    pub(super) ran: Vec<&'a str>,
    pub(super) failing: Vec<&'a str>,
    /// Every check that counts tests names them.
    pub(super) names_tell: bool,
    /// No test passed, as far as the runners count them, and a check failed.
    pub(super) nothing_passed: bool,
    /// How many tests there were, then or now; none where no runner counts them.
    pub(super) total: Option<u32>,
}

/// What shows that the checks run a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Its name, or that of its file which could not be loaded.
    Named,
    /// Its file was named, or can be run by a command.
    File,
}

impl<'a> Before<'a> {
    pub(super) fn new(baseline: Option<&'a Verdict>, now: &Verdict) -> Self {
        let checks = baseline.map_or(&[][..], |verdict| &verdict.checks);
        let passed = |check: &CheckOutcome| check.tests.as_ref().map_or(0, |tests| tests.passed);
        // A start that did not compile shows no runner.
        let is_counted = |check: &CheckOutcome| check.tests.is_some();
        let nothing_passed = checks.iter().any(|check| !check.passed)
            && checks.iter().chain(&now.checks).any(is_counted)
            && checks.iter().all(|check| passed(check) == 0);
        let is_named = |check: &CheckOutcome| check.tests.as_ref().is_none_or(|tests| !tests.names.is_empty());
        let (ran, failing) = (names(checks, |tally| &tally.names), names(checks, |tally| &tally.failing));
        let number = |checks: &[CheckOutcome]| {
            let tallies = checks.iter().filter_map(|check| check.tests.as_ref());
            tallies.map(|tests| tests.passed.saturating_add(tests.failed).saturating_add(tests.skipped)).sum::<u32>()
        };
        let is_any_counted = checks.iter().chain(&now.checks).any(is_counted);
        let total = is_any_counted.then(|| number(checks).max(number(&now.checks)));
        Self { names_tell: !ran.is_empty() && checks.iter().all(is_named), ran, failing, nothing_passed, total }
    }

    /// What shows that a test ran, or could not be loaded.
    pub(super) fn evidence(&self, selection: &Selection, file: &TestFile, name: &str) -> Option<Evidence> {
        if self.ran.iter().chain(&self.failing).any(|ran| is_reported_as(ran, name)) {
            return Some(Evidence::Named);
        }
        if selection.leaves_out(&file.path, name) {
            return None;
        }
        if self.failing.iter().any(|failing| is_program_or_whole(file, failing)) {
            return Some(Evidence::Named);
        }
        // Where the tests of a file or package are named, one that is not did not run.
        let has_parts = |whole: &str| {
            let whole = whole.strip_prefix(PACKAGE).unwrap_or(whole);
            let is_part = |rest: &str| [" > ", " › ", "::", "."].iter().any(|mark| rest.starts_with(mark));
            self.ran.iter().any(|ran| ran.strip_prefix(whole).is_some_and(is_part))
        };
        let is_run = match self.names_tell {
            true => self.ran.iter().any(|ran| is_program_or_whole(file, ran) && !has_parts(ran)),
            false => selection.may_run(&file.path) || (self.total.is_some() && !selection.has_runner()),
        };
        is_run.then_some(Evidence::File)
    }

    pub(super) fn of(&self, is_meant: impl Fn(&str) -> bool) -> Reported<'a> {
        let pick = |names: &[&'a str]| names.iter().copied().filter(|name| is_meant(name)).collect();
        Reported { ran: pick(&self.ran), failing: pick(&self.failing) }
    }

    /// Whether a test passed, as far as it is known. One that the runners do not name did not run, where they name others.
    pub(super) fn passed(&self, own: &Reported<'_>, whole: &Reported<'_>) -> bool {
        let ran = !own.ran.is_empty() || !whole.ran.is_empty();
        own.failing.is_empty() && whole.failing.is_empty() && !self.nothing_passed && (!self.names_tell || ran)
    }
}

/// Names of tests in reports of the start.
pub(super) struct Reported<'a> {
    pub(super) ran: Vec<&'a str>,
    pub(super) failing: Vec<&'a str>,
}

impl<'a> Reported<'a> {
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.ran.iter().chain(&self.failing).copied()
    }

    pub(super) fn only(mut self, is_meant: impl Fn(&str) -> bool) -> Self {
        self.ran.retain(|name| is_meant(name));
        self.failing.retain(|name| is_meant(name));
        self
    }
}

/// Whether a name is that of a file as a whole, or of a program that it is part of.
pub(super) fn is_program_or_whole(file: &TestFile, reported: &str) -> bool {
    file.reported_as.iter().any(|program| program == reported) || is_whole_of(reported, &file.path)
}
