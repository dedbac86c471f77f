//! Changes files below a folder without ever leaving it: every step opens one name and follows no link.
//!
//! New content is written aside and renamed into place, so that a reader sees the old file or the new one. What stands in
//! the way and belongs to neither tree is moved to `.ralph/kept`, never removed.

mod moves;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, mkdirat, open, openat, renameat, renameat_with,
    statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

pub(crate) use moves::{Aside, Modified};

use crate::Error;
use crate::scan::FOLDER;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permissions {
    /// As a new plain file, or those of the file that is replaced, without the execute bits.
    Plain,
    /// The same, with the execute bits wherever it can be read.
    Executable,
    /// Exactly these.
    Exact(u32),
}

/// What to do about folders that a path needs and that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Make,
    Leave,
}

/// A folder below which files are changed.
pub(crate) struct Place {
    root: OwnedFd,
    path: PathBuf,
    own: Own,
}

/// Whether Ralph may keep files of its own below a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    /// In `.ralph`.
    Folder,
    Nothing,
}

impl Place {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        Self::with(path, Own::Folder)
    }

    /// Opens a folder that is no workspace. `None` when a link has taken the place of a folder on the way to it: what is
    /// there now is somebody else's.
    pub(crate) fn outside(path: &Path) -> Result<Option<Self>, Error> {
        match path.canonicalize() {
            Ok(real) if real == path => Self::with(path, Own::Nothing).map(Some),
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(Error::io("open", path)(error)),
        }
    }

    fn with(path: &Path, own: Own) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(path, flags, Mode::empty()).map_err(Error::io("open", path))?;
        Ok(Self { root, path: path.to_owned(), own })
    }

    /// Device and inode of the folder.
    pub(crate) fn identity(&self) -> Result<(u64, u64), Error> {
        let found = fstat(&self.root).map_err(Error::io("read", &self.path))?;
        Ok((found.st_dev, found.st_ino))
    }

    /// Replaces or makes a regular file.
    pub(crate) fn write_file(&self, path: &[u8], content: &[u8], permissions: Permissions) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("write", self.full(path))(errno);
        let Some((folder, name)) = self.parent(path, Missing::Make)? else { return Err(failed(Errno::NOENT)) };
        let before = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let before = before.filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        let before = before.map(|stat| stat.st_mode & 0o777);
        let (create, exact) = match (permissions, before) {
            (Permissions::Exact(mode), _) => (0o600, Some(mode)),
            (Permissions::Plain, Some(mode)) => (0o600, Some(mode & !0o111)),
            (Permissions::Executable, Some(mode)) => (0o600, Some(mode | 0o100 | (mode & 0o444) >> 2)),
            // The process's own mask applies, as for any new file.
            (Permissions::Plain, None) => (0o666, None),
            (Permissions::Executable, None) => (0o777, None),
        };
        self.put(&folder, name, path, |at, temporary| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(at, temporary, flags, Mode::from_raw_mode(create))?;
            let mut file = File::from(file);
            file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            exact.map_or(Ok(()), |mode| fchmod(&file, Mode::from_raw_mode(mode)))
        })
    }

    /// Replaces or makes a symbolic link.
    pub(crate) fn write_link(&self, path: &[u8], target: &[u8]) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("write", self.full(path))(errno);
        let Some((folder, name)) = self.parent(path, Missing::Make)? else { return Err(failed(Errno::NOENT)) };
        self.put(&folder, name, path, |at, temporary| symlinkat(target, at, temporary))
    }

    /// Makes something under a temporary name and renames it into place.
    fn put(
        &self,
        folder: &OwnedFd,
        name: &[u8],
        path: &[u8],
        make: impl Fn(BorrowedFd<'_>, &str) -> Result<(), Errno>,
    ) -> Result<(), Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let temporary = format!(".ralph-writing-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // A file left behind by a crash is out of the way there. Another file system below the workspace, or a `.ralph`
        // that is no folder, leaves only the target's own folder.
        let aside = self.own_folder("tmp").ok();
        if let Some(aside) = &aside {
            make(aside.as_fd(), &temporary).map_err(Error::io("write", self.full(path)))?;
            let moved = self.move_over(aside.as_fd(), &temporary, folder, name);
            if moved != Err(Errno::XDEV) {
                if moved.is_err() {
                    let _ = unlinkat(aside, &temporary, AtFlags::empty());
                }
                return moved.map_err(Error::io("write", self.full(path)));
            }
            let _ = unlinkat(aside, &temporary, AtFlags::empty());
        }
        permitting(folder.as_fd(), || make(folder.as_fd(), &temporary))
            .and_then(|()| {
                let moved = self.move_over(folder.as_fd(), &temporary, folder, name);
                moved.inspect_err(|_| {
                    let _ = unlinkat(folder, &temporary, AtFlags::empty());
                })
            })
            .map_err(Error::io("write", self.full(path)))
    }

    /// Renames over whatever has the name now. A folder makes room: away if it is empty, aside if it is not.
    fn move_over(&self, from: BorrowedFd<'_>, temporary: &str, folder: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        let moved = permitting(folder.as_fd(), || renameat(from, temporary, folder, name));
        if !matches!(moved, Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST)) {
            return moved;
        }
        match unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Ok(()) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => self.set_aside(folder.as_fd(), name)?,
            Err(errno) => return Err(errno),
        }
        renameat(from, temporary, folder, name)
    }

    /// Sets the permissions of a regular file; of nothing else.
    pub(crate) fn set_permissions(&self, path: &[u8], permissions: Permissions) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("change the permissions of", self.full(path))(errno);
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Ok(()) };
        let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile && kind != FileType::Directory {
            return Ok(());
        }
        let mode = match permissions {
            Permissions::Plain => stat.st_mode & 0o777 & !0o111,
            Permissions::Executable => stat.st_mode & 0o777 | 0o100 | (stat.st_mode & 0o444) >> 2,
            Permissions::Exact(mode) => mode,
        };
        // By name, because a file without permissions cannot be opened; that it is no link was checked a moment ago, and
        // no agent runs while files are restored.
        rustix::fs::chmodat(&folder, name, Mode::from_raw_mode(mode), AtFlags::empty()).map_err(failed)
    }

    /// Removes a file or link, and the folders that are empty without it.
    pub(crate) fn remove(&self, path: &[u8]) -> Result<(), Error> {
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Ok(()) };
        match permitting(folder.as_fd(), || unlinkat(&folder, name, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => {}
            Err(errno) => return Err(Error::io("remove", self.full(path))(errno)),
        }
        self.prune_from(folder, path, |_| true)
    }

    /// Lets the owner into a folder, or read a file, that kept even the owner out.
    pub(crate) fn open_up(&self, path: &[u8]) -> Result<(), Error> {
        let Some((folder, name)) = self.parent(path, Missing::Leave)? else { return Ok(()) };
        let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        let bits = if FileType::from_raw_mode(stat.st_mode) == FileType::Directory { 0o700 } else { 0o400 };
        self.set_permissions(path, Permissions::Exact(stat.st_mode & 0o7777 | bits))
    }

    /// Makes a folder with exactly these permissions, or gives them to the one that is there.
    pub(crate) fn write_folder(&self, path: &[u8], mode: u32) -> Result<(), Error> {
        let failed = |errno: Errno| Error::io("create the folder", self.full(path))(errno);
        let Some(folder) = self.walk(path, Missing::Make)? else { return Err(failed(Errno::NOENT)) };
        fchmod(&folder, Mode::from_raw_mode(mode)).map_err(failed)
    }

    /// The folder of a path and the last name in it.
    fn parent<'p>(&self, path: &'p [u8], missing: Missing) -> Result<Option<(OwnedFd, &'p [u8])>, Error> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&path[..0], path),
        };
        Ok(self.walk(folder, missing)?.map(|fd| (fd, name)))
    }

    /// Opens a folder name by name.
    fn walk(&self, path: &[u8], missing: Missing) -> Result<Option<OwnedFd>, Error> {
        let failed = |errno: Errno| Error::io("open", self.full(path))(errno);
        let mut fd = openat(&self.root, ".", FOLDER, Mode::empty()).map_err(failed)?;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            // Trees come from scans and never hold such names; a tree that was made by hand is refused.
            if name == b".." || name == b"." {
                return Err(failed(Errno::INVAL));
            }
            let opened = match (open_closed(&fd, name), missing) {
                (Err(Errno::NOENT), Missing::Make) => make_folder(&fd, name),
                (Err(Errno::LOOP | Errno::NOTDIR), Missing::Make) => {
                    self.set_aside(fd.as_fd(), name).and_then(|()| make_folder(&fd, name))
                }
                (Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR), Missing::Leave) => return Ok(None),
                (opened, _) => opened,
            };
            fd = opened.map_err(failed)?;
        }
        Ok(Some(fd))
    }

    /// Moves what stands in the way to where nothing is lost.
    fn set_aside(&self, folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        let kept = self.own_folder(moves::KEPT)?;
        moves::number(name, |target| renameat_with(folder, name, &kept, target, RenameFlags::NOREPLACE))
    }

    /// A folder below `.ralph`, which no tree contains.
    fn own_folder(&self, name: &str) -> Result<OwnedFd, Errno> {
        if self.own == Own::Nothing {
            return Err(Errno::PERM);
        }
        let own = match openat(&self.root, ".ralph", FOLDER, Mode::empty()) {
            Err(Errno::NOENT) => make_folder(&self.root, b".ralph")?,
            opened => opened?,
        };
        match openat(&own, name, FOLDER, Mode::empty()) {
            Err(Errno::NOENT) => {
                mkdirat(&own, name, Mode::from_raw_mode(0o700))?;
                openat(&own, name, FOLDER, Mode::empty())
            }
            opened => opened,
        }
    }

    pub(crate) fn full(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }
}

/// Opens a folder, letting its owner in where the permissions keep even the owner out.
fn open_closed(fd: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    match openat(fd, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let stat = statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            rustix::fs::chmodat(fd, name, Mode::from_raw_mode(stat.st_mode & 0o7777 | 0o700), AtFlags::empty())?;
            openat(fd, name, FOLDER, Mode::empty())
        }
        opened => opened,
    }
}

fn make_folder(fd: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    permitting(fd.as_fd(), || mkdirat(fd, name, Mode::from_raw_mode(0o777)))?;
    openat(fd, name, FOLDER, Mode::empty())
}

/// Does something in a folder; where the folder is read-only for its owner, it is made writable for that moment.
fn permitting<T>(folder: BorrowedFd<'_>, act: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {
            let mode = fstat(folder)?.st_mode & 0o7777;
            fchmod(folder, Mode::from_raw_mode(mode | 0o700)).map_err(|_| Errno::ACCESS)?;
            let done = act();
            fchmod(folder, Mode::from_raw_mode(mode))?;
            done
        }
        done => done,
    }
}
