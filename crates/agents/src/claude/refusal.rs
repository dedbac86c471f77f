//! What a failed request means, from the names that the program gives to failures, and from the service's own words where it
//! gives none. Knows only failures, no lines.

use ralph_model::{Remedy, Timestamp, Trouble};

use super::kind::PROGRAM;
use crate::trouble::{classify, reset_time};

/// Names that say less than the words beside them.
const UNTELLING: [&str; 2] = ["", "api_error"];

/// A request that failed for good, as the program tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Failure {
    /// Its name for the kind of failure.
    pub(super) error: String,
    /// A finer name, where it has one.
    pub(super) detail: String,
    /// The service's name for it.
    pub(super) service: String,
    pub(super) status: Option<u16>,
    /// When a limit ends, where the service said so.
    pub(super) until: Option<Timestamp>,
    pub(super) words: String,
}

impl Failure {
    /// The trouble of the service behind it, if it is one. `reason` is why the program ended.
    pub(super) fn trouble(&self, reason: &str, now: Timestamp) -> Option<Trouble> {
        if self.error == "max_output_tokens" {
            return None;
        }
        let mut names = [reason, &self.detail, &self.error].into_iter().filter(|name| !UNTELLING.contains(name));
        let named = names.find_map(|name| classify(None, name, now));
        let found = named.or_else(|| classify(self.status, &format!("{} {}", self.service, self.words), now))?;
        let until = self.until.or_else(|| reset_time(&self.words, now)).filter(|_| found.kind.remedy() == Remedy::Wait);
        Some(PROGRAM.advised(Trouble { until, message: self.words.clone(), ..found }))
    }
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
