//! Puts prohibited files back. Saves first, then changes.
//!
//! Works in passes: opening a closed folder or putting a link back can uncover more. Each pass looks, saves what it
//! sees in the baseline's store and in the patch, and only then changes anything; a crash between two steps leaves a state
//! that the next run looks at in the same way.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ralph_model::Violation;

use super::baseline::{Baseline, Behind, Content, Record, What};
use super::compare::{Offence, compare};
use super::walk::{Found, Layer, Sort, walk};
use super::{Guard, patch};
use crate::content::MAX_FILE;
use crate::object::{Id, Kind};
use crate::place::{Permissions, Place};
use crate::stop::Poll;
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
    let mut violations: BTreeMap<String, Violation> = BTreeMap::new();
    for _ in 0..PASSES {
        let mut batch = Batch::new();
        let layer = Layer::new(guard, Sort::Prohibited, Some(baseline));
        let now = walk(workspace, layer, Some((&baseline.store, &mut batch)))?;
        batch.finish(&baseline.store)?;
        let offences = compare(baseline, &now);
        if offences.is_empty() {
            break;
        }
        let poll = workspace.stop.step();
        let restorer = Restorer { workspace, baseline, root: workspace.place()?, poll };
        if !restorer.open_up(&now, &offences)? {
            patch::save(&workspace.git, &baseline.store, &offences, patch)?;
            restorer.put_back(&offences)?;
        }
        for violation in offences.into_iter().map(Offence::into_violation) {
            // The first look is the truth; later ones only add what was hidden then.
            violations.entry(violation.path.clone()).or_insert(violation);
        }
    }
    Ok(violations.into_values().collect())
}

/// Where a prohibited file is.
enum Spot {
    Inside,
    /// Behind a link to a folder: that folder, and the path below it.
    Behind(Place, Vec<u8>),
}

struct Restorer<'a> {
    workspace: &'a Workspace,
    baseline: &'a Baseline,
    root: Place,
    poll: Poll,
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
            self.poll.check()?;
            match (&offence.before, &offence.now) {
                (None, Some(now)) => self.remove(&offence.path, now)?,
                (Some(_), Some(now)) if moved(&offence) => self.remove(&offence.path, now)?,
                _ => {}
            }
        }
        // What a path stood for elsewhere was not looked at yet: the next pass sees it, through the link that is back.
        for offence in offences.iter().filter(|offence| !moved(offence)) {
            self.poll.check()?;
            match &offence.before {
                Some(before) if !matches!(before.what, What::Folder { .. }) => self.put(offence, before)?,
                Some(before)
                    if matches!(
                        &offence.now,
                        Some(Record { what: What::File(_) | What::Link { .. } | What::Special, .. })
                    ) =>
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
        match (&now.what, self.place(now)?) {
            (What::Folder { .. }, _) | (_, None) => Ok(()),
            (_, Some(Spot::Inside)) => self.root.remove(path),
            (_, Some(Spot::Behind(place, below))) => place.remove(&below),
        }
    }

    fn put(&self, offence: &Offence, before: &Record) -> Result<(), Error> {
        let behind;
        let (place, path) = match self.place(before)? {
            None => return Ok(()),
            Some(Spot::Inside) => (&self.root, &offence.path),
            Some(Spot::Behind(place, below)) => {
                behind = (place, below);
                (&behind.0, &behind.1)
            }
        };
        match (&before.what, offence.now.as_ref().map(|record| &record.what)) {
            (What::File(then), Some(What::File(now))) => self.put_content(place, path, *then, Some(*now)),
            (What::File(then), _) => self.put_content(place, path, *then, None),
            (What::Link { target, behind: then, .. }, Some(What::Link { target: same, behind: now, .. }))
                if target == same =>
            {
                self.put_behind(offence, before, &target.0, then.as_ref(), now.as_ref())
            }
            (What::Link { target, .. }, _) => place.write_link(path, &target.0),
            (What::Folder { .. } | What::Special, _) => Ok(()),
        }
    }

    /// Where a record's file is; `None` when a link elsewhere has taken the place of a folder on the way, which leaves the
    /// file out of reach: the next check still reports it.
    fn place(&self, record: &Record) -> Result<Option<Spot>, Error> {
        let Some(through) = &record.through else { return Ok(Some(Spot::Inside)) };
        let place = Place::outside(Path::new(OsStr::from_bytes(&through.base.0)))?;
        Ok(place.map(|place| Spot::Behind(place, through.below.0.clone())))
    }

    /// Puts the file behind a link back; the link itself is as it was.
    fn put_behind(
        &self,
        offence: &Offence,
        before: &Record,
        target: &[u8],
        then: Option<&Behind>,
        now: Option<&Behind>,
    ) -> Result<(), Error> {
        let Some(file) = then.or(now) else { return Ok(()) };
        let real = Path::new(OsStr::from_bytes(&file.real.0));
        let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else { return Ok(()) };
        let Some(place) = Place::outside(folder)? else { return Ok(()) };
        let Some(then) = then else {
            // Nothing was behind the link. What is there now goes only if the link names that very file: through another
            // link that the agent made, it could be anybody's.
            let named = self.named_by(offence, before, target);
            return if named == real { place.remove(name.as_bytes()) } else { Ok(()) };
        };
        // Only a file at the very place of the baseline is the one that was looked at; another one is saved here.
        let same = now.filter(|now| now.real == then.real).map(|now| now.content);
        if same.is_none()
            && real.metadata().is_ok_and(|found| found.len() <= MAX_FILE)
            && let Ok(content) = std::fs::read(real)
        {
            let mut batch = Batch::new();
            batch.add(&self.baseline.store, Kind::Blob, Id::of(Kind::Blob, &content), content)?;
            batch.finish(&self.baseline.store)?;
        }
        self.put_content(&place, name.as_bytes(), then.content, same)
    }

    /// The path that a link names, without looking at what is on the way.
    fn named_by(&self, offence: &Offence, record: &Record, target: &[u8]) -> PathBuf {
        let at = match &record.through {
            None => self.workspace.root.join(OsStr::from_bytes(&offence.path)),
            Some(through) => Path::new(OsStr::from_bytes(&through.base.0)).join(OsStr::from_bytes(&through.below.0)),
        };
        let mut named = PathBuf::new();
        for part in at.parent().unwrap_or(&at).join(OsStr::from_bytes(target)).components() {
            match part {
                Component::ParentDir => {
                    named.pop();
                }
                Component::CurDir => {}
                part => named.push(part),
            }
        }
        named
    }

    fn put_content(&self, place: &Place, path: &[u8], then: Content, now: Option<Content>) -> Result<(), Error> {
        match (then.id, now) {
            (Some(id), now) if now.is_none_or(|now| now.id != Some(id)) && !self.baseline.store.is_large(&id) => {
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
            if let Some(record) = self.baseline.records.get(folder)
                && let What::Folder { mode } = record.what
            {
                match self.place(record)? {
                    None => {}
                    Some(Spot::Inside) => self.root.write_folder(folder, mode)?,
                    Some(Spot::Behind(place, below)) => place.write_folder(&below, mode)?,
                }
            }
            let Some(slash) = folder.iter().rposition(|byte| *byte == b'/') else { return Ok(()) };
            folder = &folder[..slash];
        }
    }
}
