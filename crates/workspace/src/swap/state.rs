//! What is at a path of the workspace, without following a link and without changing anything.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::plan::{Placed, Saved};
use crate::Error;
use crate::content::hash;
use crate::guard::Bytes;
use crate::place::{Modified, Place};
use crate::scan::FOLDER;

/// How files are opened: never through a link, and without waiting for the other end of a pipe.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What is at a path.
pub(super) enum State {
    /// Nothing, and the folders on the way are folders as far as they are there.
    Absent,
    /// Nothing, because something else is where a folder would have to be: that much of the path.
    Blocked(usize),
    /// Nobody knows, because a folder on the way is closed to its owner: that much of the path, and its permissions.
    Closed(usize, u32),
    /// A regular file; `None` when it may not be read.
    File(Stat, Option<File>),
    /// A symbolic link.
    Link(Bytes, Modified),
    /// A folder, with its permissions.
    Folder(u32),
    /// A pipe, a socket or a device.
    Special,
}

/// A folder on the way to a path.
pub(super) struct Step {
    /// How much of the path leads to it.
    pub(super) length: usize,
    /// All permission bits.
    pub(super) mode: u32,
}

/// Looks at a path; also gives the folders on the way that are there.
pub(super) fn look(place: &Place, path: &[u8]) -> Result<(State, Vec<Step>), Error> {
    let failed = |errno: Errno| Error::io("look at", place.full(path))(errno);
    let mut steps = Vec::new();
    let mut folder: OwnedFd = place.top().map_err(failed)?;
    let mut start = 0;
    while let Some(slash) = path[start..].iter().position(|byte| *byte == b'/') {
        let (name, length) = (&path[start..start + slash], start + slash);
        let stat = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok((State::Absent, steps)),
            Err(errno) => return Err(failed(errno)),
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Ok((State::Blocked(length), steps));
        }
        let mode = stat.st_mode & 0o7777;
        steps.push(Step { length, mode });
        folder = match openat(&folder, name, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::ACCESS) => return Ok((State::Closed(length, mode), steps)),
            Err(errno) => return Err(failed(errno)),
        };
        // To be read is not to be entered.
        if matches!(statat(&folder, ".", AtFlags::SYMLINK_NOFOLLOW), Err(Errno::ACCESS)) {
            return Ok((State::Closed(length, mode), steps));
        }
        start = length + 1;
    }
    Ok((at(&folder, &path[start..]).map_err(failed)?, steps))
}

fn at(folder: &OwnedFd, name: &[u8]) -> Result<State, Errno> {
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

/// When a file was last modified.
pub(super) const fn modified(stat: &Stat) -> Modified {
    (stat.st_mtime, stat.st_mtime_nsec as i64)
}

impl State {
    /// Whether it is what was put there.
    pub(super) fn is_placed(&mut self, placed: &Placed) -> io::Result<bool> {
        Ok(match (self, placed) {
            (Self::Absent | Self::Blocked(_), Placed::Absent) | (Self::Folder(_), Placed::Folder) => true,
            (Self::Link(target, _), Placed::Link { target: placed }) => target == placed,
            (Self::File(stat, Some(file)), Placed::File { id, mode }) => {
                stat.st_mode & 0o7777 == *mode && id_of(stat, file)? == *id
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
                stat.st_mode & 0o7777 == *mode && id_of(stat, file)? == *id
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

fn id_of(stat: &Stat, file: &mut File) -> io::Result<String> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(0))?;
    Ok(hash(file, stat.st_size as u64)?.hex())
}
