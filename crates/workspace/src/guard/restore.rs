//! Puts prohibited files back. Saves first, then changes.
//!
//! Works in passes: opening a closed folder or putting a link back can uncover more. Each pass looks, saves what it
//! sees in the baseline's store and in the patch, and only then changes anything; a crash between two steps leaves a state
//! that the next run looks at in the same way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_model::Violation;

use super::baseline::{Baseline, Content, Record, What};
use super::compare::{Offence, compare};
use super::walk::{Found, Walk};
use super::{Guard, patch};
use crate::object::Kind;
use crate::place::{Permissions, Place};
use crate::store::Batch;
use crate::{Error, Workspace};

/// Enough for a link behind a closed folder behind a link; what is left then is reported by the next check.
const PASSES: usize = 6;

pub(super) fn restore(
    workspace: &mut Workspace,
    guard: &Guard,
    baseline: &Baseline,
    patch: &Path,
) -> Result<Vec<Violation>, Error> {
    let mut violations: Vec<Violation> = Vec::new();
    for _ in 0..PASSES {
        let mut batch = Batch::new();
        let now = Walk::new(workspace, guard, Some(baseline))?.run(Some((&baseline.store, &mut batch)))?;
        batch.finish(&baseline.store)?;
        let offences = compare(baseline, &now);
        if offences.is_empty() {
            break;
        }
        let restorer = Restorer { workspace, baseline, root: Place::open(&workspace.root)? };
        if !restorer.open_up(&now, &offences)? {
            patch::save(&workspace.git, &baseline.store, &offences, patch)?;
            restorer.put_back(&offences)?;
        }
        for violation in offences.into_iter().map(Offence::into_violation) {
            // The first look is the truth; later ones only add what was hidden then.
            if !violations.iter().any(|known| known.path == violation.path) {
                violations.push(violation);
            }
        }
    }
    violations.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(violations)
}

struct Restorer<'a> {
    workspace: &'a Workspace,
    baseline: &'a Baseline,
    root: Place,
}

impl Restorer<'_> {
    /// Makes readable what is not, so that the next pass can save it. Says whether there was anything.
    fn open_up(&self, now: &Found, offences: &[Offence]) -> Result<bool, Error> {
        let mut opened = false;
        for path in &now.closed {
            if matches!(now.records.get(path), Some(Record { what: What::Folder { .. }, .. })) {
                self.root.open_up(path)?;
                opened = true;
            }
        }
        for offence in offences {
            if let Some(Record { what: What::File(Content { id: None, .. }), through: None, .. }) = &offence.now {
                self.root.open_up(&offence.path)?;
                opened = true;
            }
        }
        Ok(opened)
    }

    fn put_back(&self, offences: &[Offence]) -> Result<(), Error> {
        // What must not be there goes first, deepest first, so that what takes its place finds room.
        let moved = |offence: &&Offence| match (&offence.before, &offence.now) {
            (Some(before), Some(now)) => before.through != now.through,
            _ => false,
        };
        for offence in offences.iter().rev() {
            match (&offence.before, &offence.now) {
                (None, Some(now)) => self.remove(&offence.path, now)?,
                (Some(_), Some(now)) if moved(&offence) => self.remove(&offence.path, now)?,
                _ => {}
            }
        }
        // What a path stood for elsewhere was not looked at yet: the next pass sees it, through the link that is back.
        for offence in offences.iter().filter(|offence| !moved(offence)) {
            match &offence.before {
                Some(before) if !matches!(before.what, What::Folder { .. }) => self.put(offence, before)?,
                Some(before)
                    if matches!(&offence.now, Some(Record { what: What::File(_) | What::Link { .. }, .. })) =>
                {
                    self.remove(&offence.path, offence.now.as_ref().unwrap_or(before))?;
                }
                _ => {}
            }
        }
        // Permissions of folders come last: a folder that was read-only would refuse its files.
        for offence in offences.iter().rev() {
            self.folders_above(&offence.path)?;
        }
        Ok(())
    }

    fn remove(&self, path: &[u8], now: &Record) -> Result<(), Error> {
        if matches!(now.what, What::Folder { .. }) {
            return Ok(());
        }
        match &now.through {
            None => self.root.remove(path),
            Some(through) => {
                let base = Path::new(OsStr::from_bytes(&through.base.0));
                Place::outside(base)?.remove(&through.below.0)
            }
        }
    }

    fn put(&self, offence: &Offence, before: &Record) -> Result<(), Error> {
        let outside;
        let (place, path) = match &before.through {
            None => (&self.root, &offence.path),
            Some(through) => {
                outside = Place::outside(Path::new(OsStr::from_bytes(&through.base.0)))?;
                (&outside, &through.below.0)
            }
        };
        match (&before.what, offence.now.as_ref().map(|record| &record.what)) {
            (What::File(then), now) => {
                let now = match now {
                    Some(What::File(now)) => Some(*now),
                    _ => None,
                };
                self.put_content(place, path, *then, now)
            }
            (What::Link { target, behind: Some(then) }, Some(What::Link { target: now, behind })) if target == now => {
                let real = Path::new(OsStr::from_bytes(&then.real.0));
                let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else { return Ok(()) };
                // Only a file at the very place of the baseline is the one that was watched.
                let same = behind.as_ref().filter(|behind| behind.real == then.real).map(|behind| behind.content);
                self.put_content(&Place::outside(folder)?, name.as_bytes(), then.content, same)
            }
            (What::Link { target, behind: None }, Some(What::Link { target: now, behind: Some(made) }))
                if target == now =>
            {
                let real = Path::new(OsStr::from_bytes(&made.real.0));
                let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else { return Ok(()) };
                Place::outside(folder)?.remove(name.as_bytes())
            }
            (What::Link { target, .. }, _) => place.write_link(path, &target.0),
            (What::Folder { .. }, _) => Ok(()),
        }
    }

    fn put_content(&self, place: &Place, path: &[u8], then: Content, now: Option<Content>) -> Result<(), Error> {
        match (then.id, now) {
            (Some(id), now) if now.is_none_or(|now| now.id != Some(id)) => {
                let content = self.baseline.store.read(&self.workspace.git, Kind::Blob, &id)?;
                place.write_file(path, &content, Permissions::Exact(then.mode))
            }
            (_, Some(_)) => place.set_permissions(path, Permissions::Exact(then.mode)),
            // Its content was never known: nothing to put back.
            (_, None) => Ok(()),
        }
    }

    /// Gives every prohibited folder on the way to a path the permissions that it had.
    fn folders_above(&self, path: &[u8]) -> Result<(), Error> {
        let mut folder = path;
        loop {
            if let Some(Record { what: What::Folder { mode }, through, .. }) = self.baseline.records.get(folder) {
                match through {
                    None => self.root.write_folder(folder, *mode)?,
                    Some(through) => {
                        let base = Path::new(OsStr::from_bytes(&through.base.0));
                        Place::outside(base)?.write_folder(&through.below.0, *mode)?;
                    }
                }
            }
            let Some(slash) = folder.iter().rposition(|byte| *byte == b'/') else { return Ok(()) };
            folder = &folder[..slash];
        }
    }
}
