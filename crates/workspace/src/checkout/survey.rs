//! How a checkout differs from what it is to hold. Opens folders that are closed; changes nothing else.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use ralph_model::ChangeKind;
use rustix::fs::{AtFlags, FileType, Mode as Access, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::wanted::{Want, Wanted};
use crate::Error;
use crate::content::{MAX_FILE, hash};
use crate::descent::Descent;
use crate::object::{Id, Kind, Mode};
use crate::place::Place;
use crate::rules::{Folder, Link, Outside, Rules, is_ignored};
use crate::scan::list;
use crate::stamp::{Instant, Stamp};
use crate::stop::Poll;

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

#[derive(Default)]
pub(super) struct Survey {
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
    poll: Poll,
    /// The rules on the way to the folder that is looked at.
    chain: Vec<Link>,
    found: Survey,
}

/// A folder on the way to the one that is looked at.
struct Frame {
    names: std::vec::IntoIter<(CString, FileType)>,
    /// How much of the path leads to what is in it.
    base: usize,
    rules: usize,
    stay: Stay,
}

impl Survey {
    pub(super) fn make(
        place: &Place,
        wanted: &Wanted,
        left: &HashMap<Vec<u8>, Left>,
        rules: &HashMap<Id, Arc<Rules>>,
        outside: &Outside,
        poll: Poll,
    ) -> Result<Self, Error> {
        let (found, chain, started) = (Self::default(), Vec::new(), Instant::now());
        let mut surveyor = Surveyor { place, wanted, left, rules, outside, started, poll, chain, found };
        let root = place.top().map_err(Error::io("open", place.full(b"")))?;
        surveyor.all(root)?;
        let mut found = surveyor.found;
        let (good, bad) = (found.good.iter().map(|(path, _)| path), found.bad.iter().map(|(path, _)| path));
        let seen: HashSet<&Vec<u8>> = good.chain(bad).chain(&found.touched).collect();
        let missing: Vec<Vec<u8>> = wanted.files.keys().filter(|path| !seen.contains(path)).cloned().collect();
        found.bad.extend(missing.into_iter().map(|path| (path, ChangeKind::Deleted)));
        Ok(found)
    }
}

impl Survey {
    /// Files and links that are not wanted.
    pub(super) fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.extra.iter().filter_map(|extra| match extra {
            Extra::File(path) => Some(&path[..]),
            Extra::Folder(_) => None,
        })
    }
}

impl Surveyor<'_> {
    /// Goes through a folder and everything below it.
    fn all(&mut self, root: OwnedFd) -> Result<(), Error> {
        let mut descent = Descent::new(root);
        let mut path = Vec::new();
        let mut stack = vec![self.folder(&mut descent, &mut path, Stay::Ignored)?];
        while let Some(frame) = stack.last_mut() {
            self.poll.check()?;
            path.truncate(frame.base);
            let Some((name, kind)) = frame.names.next() else {
                self.chain.truncate(frame.rules);
                stack.pop();
                descent.leave();
                // All of it comes before the folder itself.
                path.pop();
                if !path.is_empty() && !self.wanted.folders.contains(&path[..]) {
                    self.found.extra.push(Extra::Folder(path.clone()));
                }
                continue;
            };
            path.extend_from_slice(name.as_bytes());
            if kind != FileType::Directory {
                let fd = descent.open().map_err(|errno| self.failed(&path, errno))?;
                self.file(fd, &name, kind, &path, frame.stay)?;
            } else if let Some(below) = self.enters(&name, &path, frame.stay) {
                descent.enter(name);
                let opened = match descent.open().map(|_| ()) {
                    Err(Errno::ACCESS) => {
                        self.place.open_up(&path)?;
                        descent.open().map(|_| ())
                    }
                    opened => opened,
                };
                match opened {
                    Ok(()) => stack.push(self.folder(&mut descent, &mut path, below)?),
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => descent.leave(),
                    Err(errno) => return Err(self.failed(&path, errno)),
                }
            }
        }
        Ok(())
    }

    /// Reads the names and the rules of a folder; the path leads to what is in it from then on.
    fn folder(&mut self, descent: &mut Descent, path: &mut Vec<u8>, stay: Stay) -> Result<Frame, Error> {
        let fd = descent.open().map_err(|errno| self.failed(path, errno))?;
        let names = list(fd).map_err(|errno| self.failed(path, errno))?.into_iter();
        if !path.is_empty() {
            path.push(b'/');
        }
        let (base, rules) = (path.len(), self.chain.len());
        path.extend_from_slice(b".gitignore");
        let own = self.wanted.files.get(path).filter(|want| want.mode.is_regular());
        if let Some(own) = own.and_then(|want| self.rules.get(&want.id)) {
            self.chain.push(Link { rules: Arc::clone(own), base });
        }
        path.truncate(base);
        Ok(Frame { names, base, rules, stay })
    }

    /// How much of a folder may stay; `None` when all of it does.
    fn enters(&self, name: &CStr, path: &[u8], stay: Stay) -> Option<Stay> {
        if stay == Stay::Nothing || self.wanted.files.contains_key(path) {
            return Some(Stay::Nothing);
        }
        if path == b".ralph" {
            return None;
        }
        let ignored = stay == Stay::All || is_ignored(&self.chain, self.outside, path, Folder::Yes);
        let is_wanted = self.wanted.folders.contains(path);
        if !is_wanted && (ignored || KEPT.contains(&name.to_bytes())) {
            return None;
        }
        Some(if ignored { Stay::All } else { Stay::Ignored })
    }

    fn file(&mut self, fd: BorrowedFd<'_>, name: &CStr, kind: FileType, path: &[u8], stay: Stay) -> Result<(), Error> {
        if let Some(want) = self.wanted.files.get(path) {
            match self.compare(fd, name, kind, path, want)? {
                Compared::Good(left) => self.found.good.push((path.to_vec(), left)),
                Compared::Touched => self.found.touched.push(path.to_vec()),
                Compared::Bad(change) => self.found.bad.push((path.to_vec(), change)),
            }
            return Ok(());
        }
        let in_the_way = stay == Stay::Nothing || self.wanted.folders.contains(path);
        let ignored = || stay == Stay::All || is_ignored(&self.chain, self.outside, path, Folder::No);
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
        // Nothing that large is ever wanted.
        if size > MAX_FILE {
            return Ok(false);
        }
        let found = hash(&mut file, size, &self.poll).map_err(Error::io("read", self.place.full(path)))?;
        Ok(found == want.id)
    }

    fn failed(&self, path: &[u8], errno: Errno) -> Error {
        Error::io("read", self.place.full(path))(errno)
    }
}

const fn has_permissions(stamp: &Stamp, want: &Want) -> bool {
    stamp.mode & 0o7777 == want.permissions
}
