//! Names in folders, held by open folders and not by paths: while settings are put back another agent may still run, and a
//! link that it puts in the place of a folder must lead nowhere. Decides nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmod, fchmod, fstat, mkdirat, openat, readlinkat, renameat,
    statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Folders that are open at a time while a tree is removed: an agent can make one of any depth.
const MAX_DEPTH: usize = 64;

/// What is done about a folder that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Made,
    Refused,
}

/// A name in an open folder, whether or not something has it.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    folder: Arc<OwnedFd>,
    name: OsString,
}

impl Spot {
    /// A path of the user's own: links on the way to it are followed.
    pub(super) fn at(path: &Path, missing: Missing) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if missing == Missing::Made {
            fs::create_dir_all(parent)?;
        }
        Ok(Self { folder: Arc::new(open_folder(CWD, parent, FOLDER)?), name: name.to_owned() })
    }

    /// What lies below. From here on no link is followed: a link in the place of a folder is none.
    pub(super) fn below(&self, relative: &Path) -> io::Result<Self> {
        let mut spot = self.clone();
        for component in relative.components() {
            let Component::Normal(name) = component else { return Err(io::ErrorKind::InvalidInput.into()) };
            spot = spot.child(Arc::new(spot.open_folder()?), name);
        }
        Ok(spot)
    }

    /// Another name in the same folder.
    pub(super) fn beside(&self, name: &OsStr) -> Self {
        self.child(Arc::clone(&self.folder), name)
    }

    fn child(&self, folder: Arc<OwnedFd>, name: &OsStr) -> Self {
        Self { folder, name: name.to_owned() }
    }

    pub(super) fn stat(&self) -> Option<Stat> {
        statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    pub(super) fn is_folder(&self) -> bool {
        self.stat().is_some_and(|stat| kind(&stat) == FileType::Directory)
    }

    fn open_folder(&self) -> io::Result<OwnedFd> {
        Ok(open_folder(self.folder.as_fd(), Path::new(&self.name), FOLDER | OFlags::NOFOLLOW)?)
    }

    /// Changes something in the folder, also one that was made read-only.
    fn insist<T>(&self, act: impl Fn() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
        match act() {
            Err(Errno::ACCESS) => {
                let mode = Mode::from_raw_mode(fstat(&self.folder)?.st_mode);
                fchmod(&self.folder, mode | Mode::RWXU)?;
                act()
            }
            done => done,
        }
    }

    pub(super) fn make_folder(&self) -> io::Result<()> {
        Ok(self.insist(|| mkdirat(&self.folder, &self.name, Mode::RWXU))?)
    }

    /// Opens a file. It may be a pipe by now, which must not block.
    pub(super) fn open_file(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.folder, &self.name, flags, Mode::empty())?.into())
    }

    pub(super) fn read_link(&self) -> io::Result<PathBuf> {
        let target = readlinkat(&self.folder, &self.name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Calls `each` for everything in a folder; one that removes what it is given may.
    pub(super) fn for_each(&self, mut each: impl FnMut(Self) -> io::Result<()>) -> io::Result<()> {
        let folder = Arc::new(self.open_folder()?);
        for entry in Dir::read_from(folder.as_fd())? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                each(self.child(Arc::clone(&folder), name))?;
            }
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Removes whatever is there, with all that is in it.
    pub(super) fn remove(&self) -> io::Result<()> {
        let mut postponed = vec![self.clone()];
        while let Some(spot) = postponed.pop() {
            spot.clear(0, self, &mut postponed)?;
        }
        Ok(())
    }

    /// What lies too deep is moved up, and removed later.
    fn clear(&self, depth: usize, top: &Self, postponed: &mut Vec<Self>) -> io::Result<()> {
        match self.insist(|| unlinkat(&self.folder, &self.name, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR) => {}
            Err(error) => return Err(error.into()),
        }
        if depth >= MAX_DEPTH {
            let up = top.for_a_moment();
            self.move_to(&up)?;
            postponed.push(up);
            return Ok(());
        }
        self.for_each(|spot| spot.clear(depth + 1, top, postponed))?;
        match self.insist(|| unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn move_to(&self, other: &Self) -> io::Result<()> {
        let moved = self.insist(|| other.insist(|| renameat(&self.folder, &self.name, &other.folder, &other.name)));
        Ok(moved?)
    }

    /// Puts a file in the place of whatever is there, at once.
    pub(super) fn put_file(&self, content: &[u8], mode: u32) -> io::Result<()> {
        let new = self.for_a_moment();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = self.insist(|| openat(&new.folder, &new.name, flags, Mode::RUSR | Mode::WUSR))?;
        let mut file = File::from(made);
        let written = file.write_all(content).and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(mode))?));
        self.put(&new, written.and_then(|()| file.sync_all()))
    }

    /// Puts a link there in the same way.
    pub(super) fn put_link(&self, target: &Path) -> io::Result<()> {
        let new = self.for_a_moment();
        let made = self.insist(|| symlinkat(target, &new.folder, &new.name));
        self.put(&new, made.map_err(Into::into))
    }

    fn put(&self, new: &Self, made: io::Result<()>) -> io::Result<()> {
        let placed = made.and_then(|()| if self.is_folder() { self.remove() } else { Ok(()) });
        let placed = placed.and_then(|()| new.move_to(self));
        if placed.is_err() {
            let _ = new.remove();
        }
        placed
    }

    /// A name for a moment, in the same folder.
    fn for_a_moment(&self) -> Self {
        self.beside(OsStr::new(&format!(".ralph-{}", uuid::Uuid::new_v4())))
    }
}

/// Removes whatever is at a path, with all that is in it, however deep; nothing is fine too.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match Spot::at(path, Missing::Refused) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        spot => spot?.remove(),
    }
}

/// Opens a folder, also one that was made unreadable.
fn open_folder(place: BorrowedFd<'_>, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    match openat(place, path, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let folder = openat(place, path, flags | OFlags::PATH, Mode::empty())?;
            // The only way to change what a descriptor without any right stands for.
            chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
            openat(place, path, flags, Mode::empty())
        }
        opened => opened,
    }
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
