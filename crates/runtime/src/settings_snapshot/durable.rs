//! The settings of an agent as they were before the first agent that uses them started: one copy on disk for all processes, so
//! that neither a Ralph that dies nor agents that run at the same time make anything else of them. Starts and ends nothing.
//!
//! ```text
//!   enter: gate ─ a copy is there? put back ─ alone? make a new copy ─ a file of one's own in `users`, locked
//!   stay:  gate ─ put back; and before the next agent: gate ─ others? put back ─ alone, and changed since? make a new copy
//!   leave: gate ─ remove that file ─ put back ─ alone? remove the copy
//! ```
//!
//! - Who runs one agent after the other stays in between: a copy that is still true is not written again.
//! - `gate` is held for a moment by a process that enters or leaves. All locks are the kernel's.
//! - Copies of the descriptor of one's own file go to the supervisor of the agent: when Ralph is killed, nobody is alone before
//!   its agent is gone.
//! - A copy that is there although no process uses it was left behind by a Ralph that died. It is put back, and only then replaced.
//! - Where putting back did not work the copy stays, and the next one tries again.

use std::fs::{self, File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{Report, SettingsSnapshot, stored};
use crate::error::Error;
use crate::home::Home;

const GATE: &str = "gate";
const USERS: &str = "users";
const COPY: &str = "copy";

/// Settings that an agent is using, and their copy.
#[derive(Debug)]
pub(crate) struct Shared {
    folder: PathBuf,
    /// Says that they are in use, while it is locked.
    own: PathBuf,
    hold: Arc<OwnedFd>,
}

/// What is known about the processes of an agent that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tree {
    Gone,
    /// Supervision failed: some may live.
    Unknown,
}

/// What was found when an agent was about to use its settings.
#[derive(Debug)]
pub(crate) struct Found {
    /// What others had made of them: an agent of a Ralph that died, or one that still runs.
    pub(crate) report: Report,
    /// What is there and cannot be put back, because it is too much to remember.
    pub(crate) gaps: Vec<String>,
    /// What the copy says.
    pub(crate) kept: Arc<SettingsSnapshot>,
}

/// Whether agents use the settings now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    Nobody,
    Others,
}

impl Shared {
    /// Begins to use settings: they are as they were before anybody did, and a copy says so.
    /// `known` is what an earlier look at them found.
    pub(crate) fn enter(
        folder: &Path,
        roots: &[PathBuf],
        aside: &Path,
        known: &SettingsSnapshot,
    ) -> Result<(Self, Found), Error> {
        Home::make_private(folder)?;
        let _gate = gate(folder)?;
        let company = company(folder, None)?;
        let copy = folder.join(COPY);
        let former = former(&copy)?;
        let report = former.as_ref().map(|kept| kept.put_back(aside)).unwrap_or_default();
        let kept = match former {
            Some(kept) if company == Company::Others || report.unfinished => kept,
            Some(_) | None => {
                let kept = SettingsSnapshot::take_again(roots, known);
                kept.write(&copy).map_err(Error::file(&copy))?;
                kept
            }
        };
        let own = folder.join(USERS).join(uuid::Uuid::new_v4().to_string());
        let hold = Arc::new(locked(&own)?);
        Ok((Self { folder: folder.to_owned(), own, hold }, Found { report, gaps: kept.gaps(), kept: Arc::new(kept) }))
    }

    /// Uses them for the next agent. `known` is what the copy says: where nobody else uses them and they are still the same, it stays
    /// as it is.
    pub(crate) fn again(&self, roots: &[PathBuf], aside: &Path, known: &Arc<SettingsSnapshot>) -> Result<Found, Error> {
        let _gate = gate(&self.folder)?;
        let (report, kept) = match company(&self.folder, Some(&self.own))? {
            Company::Others => (known.put_back(aside), Arc::clone(known)),
            Company::Nobody => {
                let kept = Arc::new(SettingsSnapshot::take_again(roots, known));
                if kept != *known {
                    let copy = self.folder.join(COPY);
                    kept.write(&copy).map_err(Error::file(&copy))?;
                }
                (Report::default(), kept)
            }
        };
        Ok(Found { report, gaps: kept.gaps(), kept })
    }

    /// Whether these are the settings of that folder.
    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        self.folder == folder
    }

    /// The agent has ended, and another one follows: its settings are put back.
    pub(crate) fn stay(self, aside: &Path, kept: &SettingsSnapshot) -> Result<(Option<Self>, Report), Error> {
        let gate = gate(&self.folder)?;
        let report = kept.put_back(aside);
        drop(gate);
        if report.unfinished {
            return self.leave(Tree::Gone, aside, Some(kept)).map(|report| (None, report));
        }
        Ok((Some(self), report))
    }

    /// No other agent follows: the last one forgets the copy.
    pub(crate) fn release(self) -> Result<(), Error> {
        let Self { folder, own, hold } = self;
        let _gate = gate(&folder)?;
        drop(hold);
        fs::remove_file(&own).map_err(Error::file(&own))?;
        forget_if_alone(&folder)
    }

    /// What has to stay open as long as a process of the agent lives.
    pub(crate) fn hold(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.hold)
    }

    /// The agent has ended: its settings are put back, and forgotten by the last one.
    /// `kept` is what the copy says, for one who has not forgotten it.
    pub(crate) fn leave(self, tree: Tree, aside: &Path, kept: Option<&SettingsSnapshot>) -> Result<Report, Error> {
        let Self { folder, own, hold } = self;
        let _gate = gate(&folder)?;
        drop(hold);
        if tree == Tree::Gone {
            // Its supervisor may hold the lock for another moment.
            fs::remove_file(&own).map_err(Error::file(&own))?;
        }
        put_back(&folder, aside, kept)
    }
}

impl Shared {
    /// What they belong to is gone: there is nothing to put back.
    pub(crate) fn forget(self) -> Result<(), Error> {
        let Self { folder, own, hold } = self;
        let _gate = gate(&folder)?;
        drop(hold);
        let copy = folder.join(COPY);
        fs::remove_file(&own).map_err(Error::file(&own))?;
        if copy.exists() { stored::remove(&copy).map_err(Error::file(&copy)) } else { Ok(()) }
    }
}

/// Puts everything back that is left behind in any of the folders in `all`.
pub(crate) fn recover(all: &Path, aside: &Path) -> Result<Report, Error> {
    let mut found = Report::default();
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let folder = entry.path();
        if !folder.join(COPY).exists() {
            continue;
        }
        let _gate = gate(&folder)?;
        let report = put_back(&folder, &aside.join(entry.file_name()), None)?;
        found.add(report);
    }
    Ok(found)
}

/// Puts the copy back, and removes it when no process uses it any more. The caller holds the gate.
fn put_back(folder: &Path, aside: &Path, kept: Option<&SettingsSnapshot>) -> Result<Report, Error> {
    let copy = folder.join(COPY);
    let report = match kept {
        Some(kept) => kept.put_back(aside),
        None => former(&copy)?.map(|kept| kept.put_back(aside)).unwrap_or_default(),
    };
    if !report.unfinished {
        forget_if_alone(folder)?;
    }
    Ok(report)
}

fn forget_if_alone(folder: &Path) -> Result<(), Error> {
    let copy = folder.join(COPY);
    match company(folder, None)? {
        Company::Nobody => stored::remove(&copy).map_err(Error::file(&copy)),
        Company::Others => Ok(()),
    }
}

/// The copy that is there. One that cannot be read is moved out of the way, once, and told of.
fn former(copy: &Path) -> Result<Option<SettingsSnapshot>, Error> {
    SettingsSnapshot::read(copy).map_err(|error| {
        let _ = fs::rename(copy, copy.with_extension("unreadable"));
        Error::file(copy)(error)
    })
}

fn gate(folder: &Path) -> Result<OwnedFd, Error> {
    locked(&folder.join(GATE))
}

/// Looks who uses the settings besides oneself. The files of those who died without a word are removed.
fn company(folder: &Path, own: Option<&Path>) -> Result<Company, Error> {
    let users = folder.join(USERS);
    Home::make_private(&users)?;
    for entry in fs::read_dir(&users).map_err(Error::file(&users))?.flatten() {
        let path = entry.path();
        if Some(path.as_path()) == own {
            continue;
        }
        let file = File::open(&path).map_err(Error::file(&path))?;
        match lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => fs::remove_file(&path).map_err(Error::file(&path))?,
            Err(Errno::WOULDBLOCK) => return Ok(Company::Others),
            Err(errno) => return Err(Error::file(&path)(errno.into())),
        }
    }
    Ok(Company::Nobody)
}

/// A file that no other process has locked, once it is there.
fn locked(path: &Path) -> Result<OwnedFd, Error> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = opened.map_err(Error::file(path))?;
    lock(&file, FlockOperation::LockExclusive).map_err(|errno| Error::file(path)(errno.into()))?;
    Ok(file.into())
}

fn lock(file: &File, how: FlockOperation) -> Result<(), Errno> {
    loop {
        match flock(file, how) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

#[cfg(test)]
#[path = "durable_tests.rs"]
mod tests;
