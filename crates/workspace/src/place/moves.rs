//! The steps of a swap: each does one thing to one name, and is harmless when it was done before.

use std::cell::RefCell;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_NOW, fchmod, fstat, futimens, open,
    openat, renameat_with, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::{Missing, Permissions, Place, permitting};
use crate::Error;
use crate::descent::Descent;
use crate::placement::path_of;
use crate::scan::FOLDER;
use crate::stamp::Stamp;
use crate::stop::{Poll, StopFlag};
use crate::swap::Flush;

/// The folder below `.ralph` for what a swap moved aside.
const SWAPPED: &str = "swapped";
/// The folder below `.ralph` for files that are in the way and must not be lost.
pub(super) const KEPT: &str = "kept";

/// When a file was last modified: seconds and nanoseconds since 1970.
pub(crate) type Modified = (i64, i64);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Aside<'a> {
    /// A folder outside the workspace, on the same file system.
    Outside(&'a Path),
    /// A folder below `.ralph`.
    Own,
}

impl Place {
    pub(crate) fn top(&self) -> Result<OwnedFd, Errno> {
        openat(&self.root, ".", FOLDER, Mode::empty())
    }

    /// Removes a file or link, and nothing else.
    pub(crate) fn unlink(&self, path: &[u8]) -> Result<(), Error> {
        self.remove_each([(path, AtFlags::empty())], &StopFlag::default().step())
    }

    /// Removes files, links and, with [`AtFlags::REMOVEDIR`], folders that are empty then; what is in a folder comes before it.
    /// What two paths in a row have in common is opened once.
    pub(crate) fn remove_each<'p>(
        &self,
        paths: impl IntoIterator<Item = (&'p [u8], AtFlags)>,
        poll: &Poll,
    ) -> Result<(), Error> {
        let mut descent = Descent::new(self.top().map_err(Error::io("open", &self.path))?);
        let mut way: Vec<&[u8]> = Vec::new();
        for (path, flags) in paths {
            poll.check()?;
            let failed = |errno: Errno| Error::io("remove", self.full(path))(errno);
            let mut names = path.split(|byte| *byte == b'/').peekable();
            let mut known = 0;
            let mut name = names.next().unwrap_or(path);
            while names.peek().is_some() {
                if way.get(known) != Some(&name) {
                    (known..way.len()).for_each(|_| descent.leave());
                    way.truncate(known);
                    descent.enter(CString::new(name).map_err(|_| failed(Errno::INVAL))?);
                    way.push(name);
                }
                known += 1;
                name = names.next().unwrap_or(path);
            }
            (known..way.len()).for_each(|_| descent.leave());
            way.truncate(known);
            let removed = match descent.open() {
                Ok(folder) => permitting(folder, || unlinkat(folder, name, flags)),
                Err(errno) => Err(errno),
            };
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ACCESS) => self.remove_closed(path, flags)?,
                // One that has something in it stays.
                Err(Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST | Errno::LOOP) if flags == AtFlags::REMOVEDIR => {}
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(())
    }

    /// Removes something in a folder that its owner may not enter.
    fn remove_closed(&self, path: &[u8], flags: AtFlags) -> Result<(), Error> {
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Ok(()) };
        match permitting(folder.as_fd(), || unlinkat(&folder, name, flags)) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
            Err(errno) => Err(Error::io("remove", self.full(path))(errno)),
        }
    }

    /// Whether something that is no folder is at a path.
    pub(crate) fn has_file(&self, path: &[u8]) -> Result<bool, Error> {
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Ok(false) };
        let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        Ok(found.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Directory))
    }

    /// What the file system says about a file.
    pub(crate) fn stamp(&self, path: &[u8]) -> Result<Stamp, Error> {
        let failed = |errno: Errno| Error::io("read", self.full(path))(errno);
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Err(failed(Errno::NOENT)) };
        statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Stamp::of(&stat)).map_err(failed)
    }

    /// Gives the files at these paths the time of now, except where theirs is later than `since`.
    pub(crate) fn renew(&self, paths: &[String], since: SystemTime) -> Result<(), Error> {
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = (since.as_secs() as i64, i64::from(since.subsec_nanos()));
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        for path in paths {
            let path = path_of(path)?;
            let Some((folder, name)) = self.parent(&path, Missing::Leave)? else { continue };
            let renewed = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if (stat.st_mtime, stat.st_mtime_nsec as i64) > since => Ok(()),
                Ok(_) => utimensat(&folder, name, &times, AtFlags::SYMLINK_NOFOLLOW),
                Err(errno) => Err(errno),
            };
            match renewed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(Error::io("change the time of", self.full(&path))(errno)),
            }
        }
        Ok(())
    }

    pub(crate) fn make_folder(&self, path: &[u8]) -> Result<(), Error> {
        match self.walk(path, Missing::Make)? {
            Some(_) => Ok(()),
            None => Err(Error::io("create the folder", self.full(path))(Errno::NOENT)),
        }
    }

    /// Removes a folder if it is empty; otherwise it stays.
    pub(crate) fn remove_folder(&self, path: &[u8]) -> Result<(), Error> {
        self.remove_each([(path, AtFlags::REMOVEDIR)], &StopFlag::default().step())
    }

    /// Removes the folders above a path that are empty, from the nearest up, as far as they may go.
    pub(crate) fn prune(&self, path: &[u8], may_go: impl Fn(&[u8]) -> bool) -> Result<(), Error> {
        // Where it is gone already, those above it were seen to.
        let Some((folder, _)) = self.parent(path, Missing::Leave)? else { return Ok(()) };
        self.prune_from(folder, path, may_go)
    }

    /// The same, given the nearest one.
    pub(super) fn prune_from(&self, folder: OwnedFd, path: &[u8], may_go: impl Fn(&[u8]) -> bool) -> Result<(), Error> {
        let (mut folder, mut rest) = (folder, path);
        while let Some(slash) = rest.iter().rposition(|byte| *byte == b'/') {
            rest = &rest[..slash];
            if !may_go(rest) {
                return Ok(());
            }
            let name = rest.rsplit(|byte| *byte == b'/').next().unwrap_or(rest);
            // Not by its path, which would take a look at every folder above for each of them.
            let above = match openat(&folder, "..", FOLDER, Mode::empty()) {
                Ok(above) if is_in(&above, name, &folder) => above,
                _ => match self.parent(rest, Missing::Leave)? {
                    Some((above, _)) => above,
                    None => return Ok(()),
                },
            };
            // Anything else in it keeps it: ignored files are left alone.
            if permitting(above.as_fd(), || unlinkat(&above, name, AtFlags::REMOVEDIR)).is_err() {
                return Ok(());
            }
            folder = above;
        }
        Ok(())
    }

    /// Makes sure that no folder is at a path: an empty one goes, another is kept elsewhere.
    pub(crate) fn clear_folder(&self, path: &[u8]) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("move", self.full(path))(errno);
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Ok(()) };
        match permitting(folder.as_fd(), || unlinkat(&folder, name, AtFlags::REMOVEDIR)) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                // A folder that its owner may not write cannot be moved to another.
                self.open_up(path)?;
                permitting(folder.as_fd(), || self.set_aside(folder.as_fd(), name)).map_err(failed)
            }
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Sets the permissions of a folder, if it is one.
    pub(crate) fn set_folder_permissions(&self, path: &[u8], mode: u32) -> Result<(), Error> {
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Ok(()) };
        let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_folder && stat.st_mode & 0o7777 != mode {
            self.set_permissions(path, Permissions::Exact(mode))?;
        }
        Ok(())
    }

    /// Moves something to a folder outside the workspace; `false` when that is on another file system.
    pub(crate) fn move_out(&self, path: &[u8], folder: &Path, name: &str) -> Result<bool, Error> {
        let failed = |errno: Errno| Error::io("move aside", self.full(path))(errno);
        let target = open(folder, FOLDER, Mode::empty()).map_err(failed)?;
        match self.move_to(path, &target, name) {
            Ok(()) => Ok(true),
            Err(Errno::XDEV) => Ok(false),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Moves something to a folder below `.ralph`.
    pub(crate) fn move_to_own(&self, path: &[u8], name: &str) -> Result<(), Error> {
        let moved = self.own_folder(SWAPPED).and_then(|target| self.move_to(path, &target, name));
        moved.map_err(|errno| Error::io("move aside", self.full(path))(errno))
    }

    fn move_to(&self, path: &[u8], target: &OwnedFd, name: &str) -> Result<(), Errno> {
        let (folder, from) = self.parent(path, Missing::Leave).map_err(|_| Errno::IO)?.ok_or(Errno::NOENT)?;
        permitting(folder.as_fd(), || renameat_with(&folder, from, target, name, RenameFlags::NOREPLACE))
    }

    /// Whether something was moved aside below `.ralph`.
    pub(crate) fn has_own(&self, name: &str) -> bool {
        let own = openat(&self.root, format!(".ralph/{SWAPPED}"), FOLDER, Mode::empty());
        own.is_ok_and(|own| statat(own, name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }

    /// Moves something back to a path where nothing is; a file is modified then.
    pub(crate) fn move_back(&self, from: Aside<'_>, name: &str, path: &[u8], modified: Modified) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("restore", self.full(path))(errno);
        let Some((folder, to)) = self.parent(path, Missing::Make)? else { return Err(failed(Errno::NOENT)) };
        let source = self.aside_folder(from).map_err(failed)?;
        let found = statat(&source, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
            utimensat(&source, name, &times(modified), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        }
        permitting(folder.as_fd(), || renameat_with(&source, name, &folder, to, RenameFlags::NOREPLACE)).map_err(failed)
    }

    /// Moves something that must not be lost to where it is kept.
    pub(crate) fn keep_moved(&self, from: Aside<'_>, name: &str, original: &[u8]) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("keep", self.full(original))(errno);
        let (source, kept) = (self.aside_folder(from).map_err(failed)?, self.own_folder(KEPT).map_err(failed)?);
        number(original, |target| renameat_with(&source, name, &kept, target, RenameFlags::NOREPLACE)).map_err(failed)
    }

    fn aside_folder(&self, from: Aside<'_>) -> Result<OwnedFd, Errno> {
        match from {
            Aside::Outside(folder) => open(folder, FOLDER, Mode::empty()),
            Aside::Own => self.own_folder(SWAPPED),
        }
    }

    /// Makes sure that everything on the file system is on the disk.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        rustix::fs::syncfs(&self.root).map_err(Error::io("write", &self.path))
    }

    /// Replaces or makes a regular file with the times that it had. Unless everything is flushed together later, it is on the
    /// disk before it takes its place.
    pub(crate) fn write_file_of(
        &self,
        path: &[u8],
        mode: u32,
        modified: Modified,
        flush: Flush,
        fill: impl Fn(&mut File) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("restore", self.full(path))(errno);
        let Some((folder, name)) = self.parent(path, Missing::Make)? else { return Err(failed(Errno::NOENT)) };
        let why = RefCell::new(None);
        let put = self.put(&folder, name, path, |at, temporary| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(openat(at, temporary, flags, Mode::from_raw_mode(0o600))?);
            fill_file(&mut file, mode, modified, flush, &fill, &why)
        });
        match why.into_inner() {
            Some(error) => Err(error),
            None => put,
        }
    }

    /// Writes a file that must not be lost to where it is kept.
    pub(crate) fn keep_file(
        &self,
        original: &[u8],
        mode: u32,
        modified: Modified,
        fill: impl Fn(&mut File) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("keep", self.full(original))(errno);
        let kept = self.own_folder(KEPT).map_err(failed)?;
        let why = RefCell::new(None);
        let done = number(original, |target| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(openat(&kept, target, flags, Mode::from_raw_mode(0o600))?);
            fill_file(&mut file, mode, modified, Flush::Each, &fill, &why)
        });
        match why.into_inner() {
            Some(error) => Err(error),
            None => done.map_err(failed),
        }
    }

    /// Replaces or makes a symbolic link with the time that it had.
    pub(crate) fn write_link_of(&self, path: &[u8], target: &[u8], modified: Modified) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("restore", self.full(path))(errno);
        let Some((folder, name)) = self.parent(path, Missing::Make)? else { return Err(failed(Errno::NOENT)) };
        self.put(&folder, name, path, |at, temporary| {
            symlinkat(target, at, temporary)?;
            utimensat(at, temporary, &times(modified), AtFlags::SYMLINK_NOFOLLOW)
        })
    }
}

/// Whether a folder has this name in another.
fn is_in(above: &OwnedFd, name: &[u8], folder: &OwnedFd) -> bool {
    let found = statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
    let same = |found: Stat| fstat(folder).is_ok_and(|own| (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino));
    found.is_ok_and(same)
}

/// Fills a new file; an error that is no error number is left in `why`.
fn fill_file(
    file: &mut File,
    mode: u32,
    modified: Modified,
    flush: Flush,
    fill: &impl Fn(&mut File) -> Result<(), Error>,
    why: &RefCell<Option<Error>>,
) -> Result<(), Errno> {
    if let Err(error) = fill(file) {
        *why.borrow_mut() = Some(error);
        return Err(Errno::IO);
    }
    fchmod(&*file, Mode::from_raw_mode(mode))?;
    futimens(&*file, &times(modified))?;
    match flush {
        Flush::Each => rustix::fs::fsync(&*file),
        Flush::Together => Ok(()),
    }
}

/// Tries `name.1`, `name.2` and so on until one is free.
pub(super) fn number(name: &[u8], act: impl Fn(&[u8]) -> Result<(), Errno>) -> Result<(), Errno> {
    for number in 1..10_000 {
        match act(&[name, format!(".{number}").as_bytes()].concat()) {
            Err(Errno::EXIST) => {}
            done => return done,
        }
    }
    Err(Errno::EXIST)
}

const fn times((seconds, nanoseconds): Modified) -> Timestamps {
    // The kernel reads this number as "leave it".
    let kept = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Timestamps { last_access: kept, last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds } }
}
