//! Swapping out: every path as it was saved.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::enter::aside_name;
use super::plan::{Item, Plan, Record, Saved};
use super::state::{Looker, State, look};
use super::{Since, crash_point};
use crate::Error;
use crate::place::{Aside, Modified, Place};
use crate::quote::quote;

pub(super) fn swap_out(place: &Place, record: &Path, since: Since) -> Result<Vec<String>, Error> {
    let record = Record::at(record);
    let Some(plan) = record.plan()? else {
        record.tidy()?;
        return Ok(Vec::new());
    };
    let flush = if plan.items.len() > MAX_FLUSHES { Flush::Together } else { Flush::Each };
    let leaving = Leaving { place, record: &record, outside: record.aside(), plan: &plan, since, flush };
    let mut changed = Vec::new();
    leaving.open_folders()?;
    for item in plan.items.iter().rev() {
        crash_point()?;
        if leaving.item(item)? == Was::Changed {
            changed.push(quote(&item.path.0));
        }
    }
    for folder in plan.made.iter().rev() {
        crash_point()?;
        place.remove_folder(&folder.0)?;
    }
    // Permissions come last, deepest first: a folder that was read-only would refuse its files.
    let mut looker = Looker::new(place)?;
    for folder in plan.folders.iter().rev() {
        crash_point()?;
        if !matches!(looker.look(&folder.path.0)?, State::Folder(mode) if mode == folder.mode) {
            place.set_folder_permissions(&folder.path.0, folder.mode)?;
        }
    }
    crash_point()?;
    if leaving.flush == Flush::Together {
        place.flush()?;
    }
    record.remove()?;
    changed.sort();
    Ok(changed)
}

/// With more files than this, to flush the whole file system once takes less time than to flush each of them.
const MAX_FLUSHES: usize = 64;

/// When contents go to the disk. All of them are there before the record goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    Each,
    Together,
}

/// What a path was found as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Was {
    /// As swapped in, or on the way from or to that.
    Ours,
    Changed,
}

struct Leaving<'a> {
    place: &'a Place,
    record: &'a Record,
    outside: PathBuf,
    plan: &'a Plan,
    since: Since,
    flush: Flush,
}

impl Leaving<'_> {
    /// Folders on the way that somebody closed are opened; their permissions are set at the end.
    fn open_folders(&self) -> Result<(), Error> {
        let mut looker = Looker::new(self.place)?;
        let mut folders: Vec<&[u8]> = self.plan.folders.iter().map(|folder| &folder.path.0[..]).collect();
        folders.extend(self.plan.made.iter().map(|path| &path.0[..]));
        folders.sort_unstable();
        for path in folders {
            let inside = [path, b"/x"].concat();
            if matches!(looker.look(&inside)?, State::Closed(length, _) if length == path.len()) {
                self.place.open_up(path)?;
            }
        }
        Ok(())
    }

    fn item(&self, item: &Item) -> Result<Was, Error> {
        let path = &item.path.0;
        let failed = |error: std::io::Error| Error::io("read", self.place.full(path))(error);
        let (mut state, _) = look(self.place, path)?;
        let aside = self.aside(path);
        let placed = state.is_placed(&item.placed).map_err(failed)?;
        let saved = state.is_saved(&item.saved, aside.is_some()).map_err(failed)?;
        let was = if placed { Was::Ours } else { Was::Changed };
        if saved && state.has_time_of(&item.saved) {
            // Nothing was done yet, or it is done already.
            return Ok(if self.since == Since::Crash { Was::Ours } else { was });
        }
        // Between two steps of a swap there is nothing at a path.
        let halfway = matches!(state, State::Absent);
        if self.since == Since::Crash && !placed && !saved && !halfway {
            self.keep(item, aside)?;
            return Ok(Was::Changed);
        }
        self.put_back(item, &state, aside)?;
        Ok(if self.since == Since::Crash { Was::Ours } else { was })
    }

    /// Where something was moved to, if it is still there.
    fn aside(&self, path: &[u8]) -> Option<Aside<'_>> {
        let name = aside_name(self.plan, path);
        if fs::symlink_metadata(self.outside.join(&name)).is_ok() {
            return Some(Aside::Outside(&self.outside));
        }
        self.place.has_own(&name).then_some(Aside::Own)
    }

    fn put_back(&self, item: &Item, state: &State, aside: Option<Aside<'_>>) -> Result<(), Error> {
        let path = &item.path.0;
        match (state, &item.saved) {
            (State::Absent | State::Blocked(_) | State::Closed(..), _) => {}
            // A file or link is replaced in one step.
            (State::File(..) | State::Link(..) | State::Special, Saved::File { .. } | Saved::Link { .. }) => {}
            (State::File(..) | State::Link(..) | State::Special, Saved::Absent | Saved::Aside) => {
                self.place.unlink(path)?;
                crash_point()?;
            }
            (State::Folder(_), Saved::Aside) if aside.is_none() => {}
            (State::Folder(_), _) => {
                // What a check left in a folder of the swap's own is kept, and not in the way.
                self.place.clear_folder(path)?;
                crash_point()?;
            }
        }
        match &item.saved {
            Saved::Absent => Ok(()),
            Saved::Link { target, modified } => self.place.write_link_of(path, &target.0, *modified),
            // Modified just now, because it was: a build that ran meanwhile used what was swapped in.
            Saved::File { at, size, id, mode, .. } => {
                self.place.write_file_of(path, *mode, now(), self.flush, |file| self.record.copy(*at, *size, id, file))
            }
            Saved::Aside => match aside {
                None => Ok(()),
                Some(from) => self.place.move_back(from, &aside_name(self.plan, path), path, now()),
            },
        }
    }

    /// Somebody else's file stays; what was saved goes where nothing is lost.
    fn keep(&self, item: &Item, aside: Option<Aside<'_>>) -> Result<(), Error> {
        let name = item.path.0.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        match &item.saved {
            Saved::Absent | Saved::Link { .. } => Ok(()),
            Saved::File { at, size, id, mode, modified } => {
                self.place.keep_file(name, *mode, *modified, |file| self.record.copy(*at, *size, id, file))
            }
            Saved::Aside => match aside {
                Some(from) => self.place.keep_moved(from, &aside_name(self.plan, &item.path.0), name),
                None => Ok(()),
            },
        }
    }
}

fn now() -> Modified {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()))
}
