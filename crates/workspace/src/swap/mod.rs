//! Swaps files of the workspace for others and back again, exactly, whatever happens in between.
//!
//! Before anything is touched, everything that is at the paths now is on the disk in a record outside the workspace; the
//! record goes when everything is back. A file is replaced by a new one that is renamed into its place, so that nothing is
//! ever written through a symbolic or a hard link. A folder, something that cannot be read, and a file in whose place
//! nothing is put, is moved aside whole.

mod enter;
mod leave;
mod plan;
mod state;

use std::path::Path;

pub(crate) use leave::Flush;

use crate::{Error, Placement, Workspace};

/// What lies between swapping in and swapping out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// A check ran: whatever it did to the paths, the saved state comes back.
    Check,
    /// Unknown: a path that is neither as swapped in nor as saved was changed by a person and is left alone.
    Crash,
}

impl Workspace {
    /// Saves what is at these paths, then makes them as asked. The folder `record` must be outside the workspace; paths are
    /// written as in [`ralph_model::Change`]. What is swapped in has been modified just now, so that builds take notice;
    /// what is as asked already is not touched. After an error, [`Workspace::swap_out`] gives the state before.
    pub fn swap_in(&mut self, entries: &[(String, Placement)], record: &Path) -> Result<(), Error> {
        self.forget_look();
        enter::swap_in(&self.place()?, entries, record, &self.stop.step())
    }

    /// Puts back what [`Workspace::swap_in`] saved, with its permissions and modified just now, and says which paths were not
    /// as swapped in, sorted. With [`Since::Crash`] such a path is left alone, and what was saved of it goes to
    /// `.ralph/kept`. Repeating it is harmless, and without a record there is nothing to do. No request to stop ends it: the
    /// workspace has to have its own files.
    pub fn swap_out(&mut self, record: &Path, since: Since) -> Result<Vec<String>, Error> {
        self.forget_look();
        leave::swap_out(&self.place()?, record, since)
    }
}

/// A point at which the process may be killed. Tests stop here.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests it fails")]
const fn crash_point() -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
use tests::crash_point;

#[cfg(test)]
#[path = "../swap_tests.rs"]
mod tests;
