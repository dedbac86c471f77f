//! What is at a path of the workspace, without following a link and without changing anything.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::plan::{Placed, Saved};
use crate::Error;
use crate::content::{MAX_FILE, hash};
use crate::descent::Descent;
use crate::guard::Bytes;
use crate::place::{Modified, Place};
use crate::stop::StopFlag;

/// How files are opened: never through a link, and without waiting for the other end of a pipe.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

pub(super) enum State {
    /// Nothing, and the folders on the way are folders as far as they are there.
    Absent,
    /// Nothing, because something else is where a folder would have to be: that much of the path.
    Blocked(usize),
    /// Unknown, because a folder on the way is closed to its owner: that much of the path, and its permissions.
    Closed(usize, u32),
    /// A regular file; `None` when it may not be read.
    File(Stat, Option<File>),
    Link(Bytes, Modified),
    Folder(u32),
    /// A pipe, a socket or a device.
    Special,
}

/// A folder on the way to a path.
pub(super) struct Step {
    pub(super) length: usize,
    pub(super) mode: u32,
    /// Its owner may not enter it.
    closed: bool,
}

/// Looks at a path; also gives the folders on the way that are there.
pub(super) fn look(place: &Place, path: &[u8]) -> Result<(State, Vec<Step>), Error> {
    let mut looker = Looker::new(place)?;
    let state = looker.look(path)?;
    Ok((state, looker.steps))
}

/// Looks at one path after the other, while nothing is moved: what paths have in common is looked at once.
pub(super) struct Looker<'a> {
    place: &'a Place,
    descent: Descent,
    path: Vec<u8>,
    /// The folders on the way to the last path that are there.
    pub(super) steps: Vec<Step>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(place: &'a Place) -> Result<Self, Error> {
        let top = place.top().map_err(Error::io("read", place.full(b"")))?;
        Ok(Self { place, descent: Descent::new(top), path: Vec::new(), steps: Vec::new() })
    }

    pub(super) fn look(&mut self, path: &[u8]) -> Result<State, Error> {
        let failed = |errno: Errno| Error::io("read", self.place.full(path))(errno);
        let shared = self.path.iter().zip(path).take_while(|(left, right)| left == right).count();
        let stays = |step: &Step| step.length <= shared && path.get(step.length) == Some(&b'/') && !step.closed;
        while self.steps.last().is_some_and(|step| !stays(step)) {
            if self.steps.pop().is_some_and(|step| !step.closed) {
                self.descent.leave();
            }
        }
        path.clone_into(&mut self.path);
        let mut start = self.steps.last().map_or(0, |step| step.length + 1);
        while let Some(slash) = path[start..].iter().position(|byte| *byte == b'/') {
            let (name, length) = (&path[start..start + slash], start + slash);
            let folder = self.descent.open().map_err(failed)?;
            let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(State::Absent),
                Err(errno) => return Err(failed(errno)),
            };
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Ok(State::Blocked(length));
            }
            let mode = stat.st_mode & 0o7777;
            self.descent.enter(CString::new(name).map_err(|_| failed(Errno::INVAL))?);
            let opened = match self.descent.open() {
                // To be read is not to be entered.
                Ok(folder) => statat(folder, ".", AtFlags::SYMLINK_NOFOLLOW).map(|_| ()),
                Err(errno) => Err(errno),
            };
            let closed = opened == Err(Errno::ACCESS);
            self.steps.push(Step { length, mode, closed });
            if closed {
                self.descent.leave();
                return Ok(State::Closed(length, mode));
            }
            opened.map_err(failed)?;
            start = length + 1;
        }
        at(self.descent.open().map_err(failed)?, &path[start..]).map_err(failed)
    }
}

fn at(folder: BorrowedFd<'_>, name: &[u8]) -> Result<State, Errno> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(State::Absent),
        Err(errno) => return Err(errno),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => match openat(folder, name, FILE, Mode::empty()) {
            Ok(file) => State::File(fstat(&file)?, Some(File::from(file))),
            Err(Errno::ACCESS | Errno::PERM) => State::File(stat, None),
            Err(errno) => return Err(errno),
        },
        FileType::Symlink => State::Link(Bytes(readlinkat(folder, name, Vec::new())?.into_bytes()), modified(&stat)),
        FileType::Directory => State::Folder(stat.st_mode & 0o7777),
        _ => State::Special,
    })
}

pub(super) const fn modified(stat: &Stat) -> Modified {
    (stat.st_mtime, stat.st_mtime_nsec as i64)
}

impl State {
    pub(super) fn is_placed(&mut self, placed: &Placed) -> io::Result<bool> {
        Ok(match (self, placed) {
            (Self::Absent | Self::Blocked(_), Placed::Absent) | (Self::Folder(_), Placed::Folder) => true,
            (Self::Link(target, _), Placed::Link { target: placed }) => target == placed,
            (Self::File(stat, Some(file)), Placed::File { id, mode }) => {
                stat.st_mode & 0o7777 == *mode && has_id(stat, file, id)?
            }
            _ => false,
        })
    }

    /// Whether it is what was saved, its times aside. Of what was moved aside, that it is no longer there tells.
    pub(super) fn is_saved(&mut self, saved: &Saved, is_aside: bool) -> io::Result<bool> {
        Ok(match (self, saved) {
            (Self::Absent | Self::Blocked(_), Saved::Absent) => true,
            (Self::Absent | Self::Blocked(_), Saved::Aside) => false,
            (_, Saved::Aside) => !is_aside,
            (Self::Link(target, _), Saved::Link { target: saved, .. }) => target == saved,
            (Self::File(stat, Some(file)), Saved::File { id, mode, .. }) => {
                stat.st_mode & 0o7777 == *mode && has_id(stat, file, id)?
            }
            _ => false,
        })
    }

    /// Whether it was last modified when what was saved was.
    pub(super) fn has_time_of(&self, saved: &Saved) -> bool {
        match (self, saved) {
            (Self::Link(_, at), Saved::Link { modified: then, .. }) => at == then,
            (Self::File(stat, _), Saved::File { modified: then, .. }) => modified(stat) == *then,
            _ => true,
        }
    }
}

fn has_id(stat: &Stat, file: &mut File, id: &str) -> io::Result<bool> {
    use std::io::{Seek, SeekFrom};
    let size = stat.st_size as u64;
    // Nothing that large is ever placed or saved by its content.
    if size > MAX_FILE {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(hash(file, size, &StopFlag::default().step())?.hex() == id)
}
