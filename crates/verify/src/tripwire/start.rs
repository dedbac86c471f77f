//! Tests that no change makes fail, changed on the code of the start: whether the work made them void.

use ralph_model::CheckOutcome;

use super::mention::is_reported_as;
use super::reported::{ReportedNames, names};
use super::{Plan, PlannedFile, State};
use crate::changes::{Place, change};

impl Plan {
    /// Tests that passed at the start and that no change makes fail, changed again for a run with the code of the start: whether
    /// the work made them void. Nothing where there is none.
    #[must_use]
    pub fn doubtful_files(&self) -> Option<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        for file in &self.files {
            let doubtful = file.tests.iter().filter(|planned| planned.is_doubtful());
            let ways: Vec<(&Place, usize)> =
                doubtful.map(|planned| (&planned.place, planned.strongest_way())).collect();
            if !ways.is_empty() {
                files.extend(change(&file.content, &ways).map(|content| (file.path.clone(), content)));
            }
        }
        (!files.is_empty() && self.others.is_empty()).then_some(files)
    }

    /// Notes what a run with the files of [`Self::doubtful_files`] and the code of the start showed.
    pub fn note_start(&mut self, outcomes: &[CheckOutcome]) {
        let failing = ReportedNames::new(names(outcomes, |tally| &tally.failing));
        for file in &mut self.files {
            let PlannedFile { path, reported_as, tests, .. } = file;
            for planned in tests.iter_mut().filter(|planned| planned.is_doubtful()) {
                // Whatever has this name and failed at the start fails on the code of the start in any case.
                let failed_before = self.failing_before.iter().any(|name| is_reported_as(name, &planned.name));
                if !failed_before && planned.is_among(path, reported_as, &failing) {
                    planned.state = State::Void;
                }
            }
        }
    }
}
