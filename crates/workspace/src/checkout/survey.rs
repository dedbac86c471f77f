//! How a checkout differs from what it is to hold. Opens folders that are closed; changes nothing else.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use ralph_model::ChangeKind;
use rustix::fs::{AtFlags, FileType, Mode as Access, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::wanted::{Want, Wanted};
use crate::Error;
use crate::content::hash;
use crate::object::{Id, Kind, Mode};
use crate::place::Place;
use crate::rules::{Chain, Folder, Outside, Rules, is_ignored};
use crate::scan::{FOLDER, list};
use crate::stamp::{Instant, Stamp};

/// Dependencies and build output, by the usual names of their folders.
const KEPT: [&[u8]; 14] = [
    b"node_modules",
    b"target",
    b".venv",
    b"venv",
    b"vendor",
    b"build",
    b"dist",
    b".gradle",
    b"__pycache__",
    b".pytest_cache",
    b".mypy_cache",
    b".tox",
    b".next",
    b".cache",
];
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// A file or link as it was left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) stamp: Stamp,
    pub(super) id: Id,
    /// Another content could carry the same stamp.
    pub(super) racy: bool,
}

/// Something that is not wanted.
pub(super) enum Extra {
    File(Vec<u8>),
    /// It goes if nothing in it is kept.
    Folder(Vec<u8>),
}

/// What was found.
#[derive(Default)]
pub(super) struct Survey {
    /// Wanted and there.
    pub(super) good: Vec<(Vec<u8>, Left)>,
    /// Wanted and not there, or otherwise.
    pub(super) bad: Vec<(Vec<u8>, ChangeKind)>,
    /// Wanted and there, but written anew: its times say nothing any more.
    pub(super) touched: Vec<Vec<u8>>,
    /// Not wanted; what is in a folder comes before the folder.
    pub(super) extra: Vec<Extra>,
}

/// How a file compares with the wanted one.
enum Compared {
    Good(Left),
    Touched,
    Bad(ChangeKind),
}

/// How much of a folder may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stay {
    /// What is ignored.
    Ignored,
    /// Everything: the folder itself is ignored, and is there for the sake of what is wanted in it.
    All,
    /// Nothing: something else is wanted in the folder's place.
    Nothing,
}

struct Surveyor<'a> {
    place: &'a Place,
    wanted: &'a Wanted,
    left: &'a HashMap<Vec<u8>, Left>,
    rules: &'a HashMap<Id, Arc<Rules>>,
    outside: &'a Outside,
    started: Instant,
    found: Survey,
}

impl Survey {
    pub(super) fn make(
        place: &Place,
        wanted: &Wanted,
        left: &HashMap<Vec<u8>, Left>,
        rules: &HashMap<Id, Arc<Rules>>,
        outside: &Outside,
    ) -> Result<Self, Error> {
        let found = Self::default();
        let mut surveyor = Surveyor { place, wanted, left, rules, outside, started: Instant::now(), found };
        let root = place.top().map_err(Error::io("open", place.full(b"")))?;
        surveyor.folder(&root, &mut Vec::new(), None, Stay::Ignored)?;
        let mut found = surveyor.found;
        let (good, bad) = (found.good.iter().map(|(path, _)| path), found.bad.iter().map(|(path, _)| path));
        let seen: HashSet<&Vec<u8>> = good.chain(bad).chain(&found.touched).collect();
        let missing: Vec<Vec<u8>> = wanted.files.keys().filter(|path| !seen.contains(path)).cloned().collect();
        found.bad.extend(missing.into_iter().map(|path| (path, ChangeKind::Deleted)));
        Ok(found)
    }
}

impl Surveyor<'_> {
    fn folder(&mut self, fd: &OwnedFd, path: &mut Vec<u8>, above: Option<&Chain<'_>>, stay: Stay) -> Result<(), Error> {
        let names = list(fd.as_fd()).map_err(|errno| self.failed(path, errno))?;
        let base = if path.is_empty() { 0 } else { path.len() + 1 };
        let length = path.len();
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(b".gitignore");
        let own = self.wanted.files.get(path).filter(|want| want.mode.is_regular());
        let own = own.and_then(|want| self.rules.get(&want.id)).cloned();
        let own = own.as_deref().map(|rules| Chain { rules, base, above });
        let chain = own.as_ref().or(above);
        for (name, kind) in names {
            path.truncate(base);
            path.extend_from_slice(name.as_bytes());
            match kind {
                FileType::Directory => self.child(fd, &name, path, chain, stay)?,
                _ => self.file(fd.as_fd(), &name, kind, path, chain, stay)?,
            }
        }
        path.truncate(length);
        Ok(())
    }

    fn child(
        &mut self,
        fd: &OwnedFd,
        name: &CStr,
        path: &mut Vec<u8>,
        chain: Option<&Chain<'_>>,
        stay: Stay,
    ) -> Result<(), Error> {
        let below = if stay == Stay::Nothing || self.wanted.files.contains_key(&path[..]) {
            Stay::Nothing
        } else if path == b".ralph" {
            return Ok(());
        } else {
            let ignored = stay == Stay::All || is_ignored(chain, self.outside, path, Folder::Yes);
            let is_wanted = self.wanted.folders.contains(&path[..]);
            if !is_wanted && (ignored || KEPT.contains(&name.to_bytes())) {
                return Ok(());
            }
            if ignored { Stay::All } else { Stay::Ignored }
        };
        let opened = match openat(fd, name, FOLDER, Access::empty()) {
            Err(Errno::ACCESS) => {
                self.place.open_up(path)?;
                openat(fd, name, FOLDER, Access::empty())
            }
            opened => opened,
        };
        match opened {
            Ok(child) => self.folder(&child, path, chain, below)?,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => return Err(self.failed(path, errno)),
        }
        if !self.wanted.folders.contains(&path[..]) {
            self.found.extra.push(Extra::Folder(path.clone()));
        }
        Ok(())
    }

    fn file(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
        path: &[u8],
        chain: Option<&Chain<'_>>,
        stay: Stay,
    ) -> Result<(), Error> {
        if let Some(want) = self.wanted.files.get(path) {
            match self.compare(fd, name, kind, path, want)? {
                Compared::Good(left) => self.found.good.push((path.to_vec(), left)),
                Compared::Touched => self.found.touched.push(path.to_vec()),
                Compared::Bad(change) => self.found.bad.push((path.to_vec(), change)),
            }
            return Ok(());
        }
        let in_the_way = stay == Stay::Nothing || self.wanted.folders.contains(path);
        let ignored = || stay == Stay::All || is_ignored(chain, self.outside, path, Folder::No);
        if in_the_way || path == b".ralph" || !ignored() {
            self.found.extra.push(Extra::File(path.to_vec()));
        }
        Ok(())
    }

    /// Whether a file is the wanted one, and is as it was left.
    fn compare(
        &self,
        fd: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
        path: &[u8],
        want: &Want,
    ) -> Result<Compared, Error> {
        let stat = match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Compared::Bad(ChangeKind::Deleted)),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let stamp = Stamp::of(&stat);
        let racy = stamp.is_racy(self.started);
        let left = Left { stamp, id: want.id, racy };
        match (kind, want.mode) {
            (FileType::Symlink, Mode::Link) => {
                let target = readlinkat(fd, name, Vec::new()).map_err(|errno| self.failed(path, errno))?;
                let same = Id::of(Kind::Blob, target.as_bytes()) == want.id;
                Ok(if same { Compared::Good(left) } else { Compared::Bad(ChangeKind::Modified) })
            }
            (FileType::RegularFile, Mode::File | Mode::Executable) => {
                let known = self.left.get(path);
                match known {
                    Some(known) if known.id != want.id => return Ok(Compared::Bad(ChangeKind::Modified)),
                    Some(known) if known.stamp == stamp && !known.racy && has_permissions(&stamp, want) => {
                        return Ok(Compared::Good(Left { racy: false, ..left }));
                    }
                    _ => {}
                }
                let same = self.has_content(fd, name, path, want, stamp.size)?;
                Ok(match (same, has_permissions(&stamp, want), known) {
                    (false, ..) => Compared::Bad(ChangeKind::Modified),
                    (true, false, _) => Compared::Bad(ChangeKind::Mode),
                    (true, true, Some(known)) if known.stamp != stamp => Compared::Touched,
                    (true, true, _) => Compared::Good(left),
                })
            }
            _ => Ok(Compared::Bad(ChangeKind::Modified)),
        }
    }

    fn has_content(&self, fd: BorrowedFd<'_>, name: &CStr, path: &[u8], want: &Want, size: u64) -> Result<bool, Error> {
        let mut file = match openat(fd, name, FILE, Access::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ACCESS | Errno::PERM) => return Ok(false),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let found = hash(&mut file, size).map_err(Error::io("read", self.place.full(path)))?;
        Ok(found == want.id)
    }

    fn failed(&self, path: &[u8], errno: Errno) -> Error {
        Error::io("look at", self.place.full(path))(errno)
    }
}

const fn has_permissions(stamp: &Stamp, want: &Want) -> bool {
    stamp.mode & 0o7777 == want.permissions
}
