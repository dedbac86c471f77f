//! What the checks said of tests before the first iteration, and what shows that they run a test.

use ralph_model::{CheckOutcome, Verdict};

use super::reported::{ReportedNames, names};
use super::{TestFile, is_whole_of};
use crate::selection::Selection;
use crate::test_names::PACKAGE;

/// What the checks said of tests before the first iteration.
pub(super) struct Before<'a> {
    pub(super) ran: ReportedNames<'a>,
    pub(super) failing: ReportedNames<'a>,
    /// Every check that counts tests names them.
    pub(super) names_tell: bool,
    /// No test passed, as far as the runners count them, and a check failed.
    pub(super) nothing_passed: bool,
    /// How many tests there were, then or now; none where no runner counts them.
    pub(super) total: Option<u32>,
    /// Some were skipped at the start; where nothing could be loaded then, some are now. A skip that appears later is no excuse.
    pub(super) has_skipped: bool,
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
        let [ran, failing] = [names(checks, |tally| &tally.names), names(checks, |tally| &tally.failing)];
        let names_tell = !ran.is_empty() && checks.iter().all(is_named);
        let [ran, failing] = [ran, failing].map(ReportedNames::new);
        let number = |checks: &[CheckOutcome]| {
            let tallies = checks.iter().filter_map(|check| check.tests.as_ref());
            tallies.map(|tests| tests.passed.saturating_add(tests.failed).saturating_add(tests.skipped)).sum::<u32>()
        };
        let is_any_counted = checks.iter().chain(&now.checks).any(is_counted);
        let total = is_any_counted.then(|| number(checks).max(number(&now.checks)));
        let skips = |checks: &[CheckOutcome]| {
            checks.iter().filter_map(|check| check.tests.as_ref()).any(|tests| tests.skipped > 0)
        };
        let has_skipped = skips(checks) || (nothing_passed && skips(&now.checks));
        Self { ran, failing, names_tell, nothing_passed, total, has_skipped }
    }

    /// What shows that a test ran, or could not be loaded.
    pub(super) fn evidence(
        &self,
        selection: &Selection,
        file: &TestFile,
        whole: &Reported<'_>,
        name: &str,
    ) -> Option<Evidence> {
        // Other modules of Go may have tests by the same names.
        if file.path.ends_with(".go") && selection.is_unlisted(&file.path) {
            return None;
        }
        if self.ran.of(name).chain(self.failing.of(name)).next().is_some() {
            return Some(Evidence::Named);
        }
        if selection.leaves_out(&file.path, name) {
            return None;
        }
        if !whole.failing.is_empty() {
            return Some(Evidence::Named);
        }
        // Where the tests of a file or package are named, one that is not did not run.
        let has_parts = |whole: &str| {
            let whole = whole.strip_prefix(PACKAGE).unwrap_or(whole);
            let is_part = |rest: &str| [" > ", " › ", "::", "."].iter().any(|mark| rest.starts_with(mark));
            self.ran.all().iter().any(|ran| ran.strip_prefix(whole).is_some_and(is_part))
        };
        let is_run = match self.names_tell {
            true => whole.ran.iter().any(|ran| !has_parts(ran)),
            false => selection.may_run(&file.path) || (self.total.is_some() && !selection.has_runner()),
        };
        is_run.then_some(Evidence::File)
    }

    /// Names of a file as a whole.
    pub(super) fn of_file(&self, file: &TestFile) -> Reported<'a> {
        let is_program_or_whole =
            |name: &&str| file.reported_as.iter().any(|program| program == name) || is_whole_of(name, &file.path);
        let pick = |names: &ReportedNames<'a>| names.all().iter().copied().filter(is_program_or_whole).collect();
        Reported { ran: pick(&self.ran), failing: pick(&self.failing) }
    }

    /// Names of a test.
    pub(super) fn of_test(&self, name: &str) -> Reported<'a> {
        Reported { ran: self.ran.of(name).collect(), failing: self.failing.of(name).collect() }
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
