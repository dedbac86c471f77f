//! What a watched agent cost so far, in a file: for whoever goes on after this process died. Adds nothing up.

use std::path::{Path, PathBuf};

use ralph_model::{Cost, Money};

use crate::error::Error;
use crate::home::Home;

/// What stands in the file while nobody knows the cost.
const UNKNOWN: &str = "unknown";

/// The note about one run.
pub(crate) struct CostNote {
    path: PathBuf,
    /// Nothing was used that has no figure.
    complete: bool,
}

impl CostNote {
    /// Notes that a run begins which will be watched: what it costs is unknown until it is told.
    pub(crate) fn begin(path: PathBuf) -> Result<Self, Error> {
        Home::write_private(&path, UNKNOWN.as_bytes())?;
        Ok(Self { path, complete: true })
    }

    /// So much is spent. A sum with something missing is no cost.
    pub(crate) fn spent(&self, amount: Money) {
        if self.complete {
            self.write(&amount.micros().to_string());
        }
    }

    /// Something was used that nobody counts.
    pub(crate) fn incomplete(&mut self) {
        self.complete = false;
        self.write(UNKNOWN);
    }

    /// The run is over, and this is what it cost.
    pub(crate) fn settled(&self, cost: Cost) {
        match cost {
            Cost::Known { amount } => self.write(&amount.micros().to_string()),
            Cost::Unknown | Cost::Unmetered => self.write(UNKNOWN),
        }
    }

    /// A file that cannot be written keeps what it says: an older sum, or that nothing is known.
    fn write(&self, text: &str) {
        if let Err(error) = Home::write_private(&self.path, text.as_bytes()) {
            tracing::warn!(error = error.chain(), path = ?self.path, "the cost so far could not be written");
        }
    }

    /// What a note says, and whether there is one.
    pub(crate) fn read(path: &Path) -> Option<Cost> {
        let text = std::fs::read_to_string(path).ok()?;
        let amount = text.trim().parse().ok().filter(|micros| *micros >= 0).map(Money::from_micros);
        Some(amount.map_or(Cost::Unknown, |amount| Cost::Known { amount }))
    }
}

#[cfg(test)]
#[path = "cost_note_tests.rs"]
mod tests;
