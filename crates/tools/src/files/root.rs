//! Opens paths beneath the workspace, whatever links and other processes do meanwhile: the kernel refuses to resolve a path that
//! leads out, and what was opened is judged by where it really is. Nothing of git or Ralph is opened.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ralph_agents::Matcher;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fchmod, fstat, mkdirat, open, openat, openat2, readlink,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::{MAX_FILE, is_binary};

/// Deeper paths are refused.
const MAX_DEPTH: usize = 100;
const LOCATION: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    /// To change it: prohibited paths are refused.
    Write,
}

pub(super) struct Root {
    fd: OwnedFd,
    prohibited: Matcher,
}

/// Something that exists in the workspace.
pub(super) struct Found {
    fd: OwnedFd,
    /// Where it really is, relative to the workspace.
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
}

/// A name in a folder, where something is or can be made.
pub(super) struct Target {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// Where it really is, relative to the workspace.
    pub(super) path: PathBuf,
    pub(super) stat: Option<Stat>,
}

impl Root {
    pub(super) fn open(path: &Path, prohibited: Matcher) -> io::Result<Self> {
        let fd = open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { fd, prohibited })
    }

    pub(super) fn find(&self, path: &str, access: Access) -> Result<Found, String> {
        let relative = self.relative(path)?;
        self.locate(&relative, access).map_err(|error| error.text(path))
    }

    /// The name that a path stands for, for a change. Folders on the way are made.
    pub(super) fn target(&self, path: &str) -> Result<Target, String> {
        let relative = self.relative(path)?;
        let failed = |error: Refused| error.text(path);
        match self.locate(&relative, Access::Write) {
            Ok(found) => {
                let Some(name) = found.path.file_name() else { return Err(format!("{path} is the workspace itself")) };
                let above = found.path.parent().unwrap_or(Path::new(""));
                // Where it really is leads through no links; if it does now, someone exchanged a folder.
                let folder = self.open_beneath(above, FOLDER, ResolveFlags::NO_SYMLINKS);
                let folder = folder.map_err(|errno| failed(errno.into()))?;
                Ok(Target { folder, name: name.to_owned(), stat: Some(found.stat), path: found.path })
            }
            Err(Refused::System(Errno::NOENT)) => {
                let Some(name) = relative.file_name().filter(|_| !path.ends_with('/')) else {
                    return Err(format!("{path} is no name of a file"));
                };
                let above = self.make_folder(relative.parent().unwrap_or(Path::new(""))).map_err(failed)?;
                self.judge(&above.path.join(name), Access::Write).map_err(failed)?;
                let folder = above.open(FOLDER & !OFlags::NOFOLLOW).map_err(|errno| failed(errno.into()))?;
                if statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    return Err(format!("{path} is a link that leads nowhere"));
                }
                Ok(Target { folder, name: name.to_owned(), stat: None, path: above.path.join(name) })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Like [`Root::target`] for something that exists, without following a link at its end.
    pub(super) fn entry(&self, path: &str) -> Result<Target, String> {
        let relative = self.relative(path)?;
        let failed = |error: Refused| error.text(path);
        let Some(name) = relative.file_name() else { return Err(format!("{path} is the workspace itself")) };
        let above = self.locate(relative.parent().unwrap_or(Path::new("")), Access::Write).map_err(failed)?;
        let place = above.path.join(name);
        self.judge(&place, Access::Write).map_err(failed)?;
        let folder = above.open(FOLDER & !OFlags::NOFOLLOW).map_err(|errno| failed(errno.into()))?;
        let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| failed(errno.into()))?;
        Ok(Target { folder, name: name.to_owned(), path: place, stat: Some(stat) })
    }

    /// Makes a folder with those above it.
    pub(super) fn folder(&self, path: &str) -> Result<PathBuf, String> {
        let relative = self.relative(path)?;
        self.make_folder(&relative).map(|found| found.path).map_err(|error| error.text(path))
    }

    fn make_folder(&self, relative: &Path) -> Result<Found, Refused> {
        match self.locate(relative, Access::Write) {
            Err(Refused::System(Errno::NOENT)) => {}
            Ok(found) if !found.is_folder() => return Err(Errno::NOTDIR.into()),
            found => return found,
        }
        let (Some(name), Some(above)) = (relative.file_name(), relative.parent()) else {
            return Err(Errno::NOENT.into());
        };
        let above = self.make_folder(above)?;
        self.judge(&above.path.join(name), Access::Write)?;
        let folder = above.open(FOLDER & !OFlags::NOFOLLOW)?;
        match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.locate(relative, Access::Write),
            Err(errno) => Err(errno.into()),
        }
    }

    /// A path as it is written, relative to the workspace.
    fn relative(&self, path: &str) -> Result<PathBuf, String> {
        let given = Path::new(path);
        let relative = match given.is_absolute() {
            true => {
                let root = self.real_path(&self.fd).map_err(|errno| Refused::System(errno).text(path))?;
                given.strip_prefix(root).map_err(|_| Refused::Outside.text(path))?.to_owned()
            }
            false => given.to_owned(),
        };
        if relative.components().count() > MAX_DEPTH {
            return Err(format!("the path has more than {MAX_DEPTH} parts"));
        }
        Ok(relative.components().filter(|part| *part != Component::CurDir).collect())
    }

    fn locate(&self, relative: &Path, access: Access) -> Result<Found, Refused> {
        let fd = self.open_beneath(relative, LOCATION, ResolveFlags::empty())?;
        let (root, real) = (self.real_path(&self.fd)?, self.real_path(&fd)?);
        let path = real.strip_prefix(root).map_err(|_| Refused::Outside)?.to_owned();
        self.judge(&path, access)?;
        Ok(Found { stat: fstat(&fd)?, fd, path })
    }

    pub(super) fn judge(&self, path: &Path, access: Access) -> Result<(), Refused> {
        if path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
            return Err(Refused::Git);
        }
        if path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".ralph")) {
            return Err(Refused::Ralph);
        }
        match access {
            Access::Read => Ok(()),
            Access::Write => (self.prohibited)(path).map_or(Ok(()), |glob| Err(Refused::Prohibited(glob))),
        }
    }

    fn open_beneath(&self, relative: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
        let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.fd, path, flags, Mode::empty(), resolve) {
            // Kernels before 5.6, and containers that do not know the call: no link is followed then.
            Err(Errno::NOSYS | Errno::PERM) => self.open_by_names(path, flags),
            opened => opened,
        }
    }

    fn open_by_names(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut fd = openat(&self.fd, ".", FOLDER, Mode::empty())?;
        let mut names = path.components().filter(|part| *part != Component::CurDir).peekable();
        while let Some(name) = names.next() {
            let Component::Normal(name) = name else { return Err(Errno::XDEV) };
            let flags = if names.peek().is_some() { FOLDER } else { flags | OFlags::NOFOLLOW };
            fd = openat(&fd, name, flags, Mode::empty())?;
        }
        Ok(fd)
    }

    fn real_path(&self, fd: &OwnedFd) -> Result<PathBuf, Errno> {
        use std::os::unix::ffi::OsStringExt as _;
        let path = readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new())?;
        Ok(OsString::from_vec(path.into_bytes()).into())
    }
}

impl Found {
    pub(super) fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }

    pub(super) fn open(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        open(format!("/proc/self/fd/{}", self.fd.as_raw_fd()), flags, Mode::empty())
    }

    /// The whole content of a text file.
    pub(super) fn text(&self) -> Result<String, String> {
        let bytes = self.bytes()?;
        let shown = self.path.display();
        if is_binary(&bytes) {
            return Err(format!("{shown} is a binary file of {} bytes", bytes.len()));
        }
        String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8 text"))
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        let shown = self.path.display();
        if self.is_folder() {
            return Err(format!("{shown} is a folder: list it with fs_listFiles"));
        }
        let opened = match FileType::from_raw_mode(self.stat.st_mode) {
            FileType::RegularFile => self.open(OFlags::RDONLY | OFlags::CLOEXEC),
            _ => return Err(format!("{shown} is not an ordinary file")),
        };
        read_bounded(opened).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => format!(
                "{shown} has {} bytes, and files of more than {MAX_FILE} are not read: look at parts of it with bash_execute",
                self.stat.st_size
            ),
            _ => format!("could not read {shown}: {error}"),
        })
    }
}

/// A file that is open, if it is not too large.
pub(super) fn read_bounded(opened: Result<OwnedFd, Errno>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::from(opened?).take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

impl Target {
    /// Replaces or makes a file, so that a reader sees the old one or the new one.
    pub(super) fn write(&self, content: &[u8]) -> Result<(), String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let shown = self.path.display();
        let mode = match &self.stat {
            None => None,
            Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Some(stat.st_mode & 0o7777),
            Some(_) => return Err(format!("{shown} is not an ordinary file")),
        };
        let aside = format!(".ralph-writing-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let write = || -> io::Result<()> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(openat(&self.folder, &aside, flags, Mode::from_raw_mode(0o666))?);
            file.write_all(content)?;
            if let Some(mode) = mode {
                fchmod(&file, Mode::from_raw_mode(mode))?;
            }
            Ok(renameat(&self.folder, &aside, &self.folder, &self.name)?)
        };
        write().map_err(|error| {
            let _ = unlinkat(&self.folder, &aside, AtFlags::empty());
            format!("could not write {shown}: {error}")
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Outside,
    Git,
    Ralph,
    Prohibited(String),
    System(Errno),
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::XDEV => Self::Outside,
            errno => Self::System(errno),
        }
    }
}

impl Refused {
    pub(super) fn text(&self, path: &str) -> String {
        match self {
            Self::Outside => format!("{path} is outside the workspace"),
            Self::Git => format!("{path} belongs to git: use the git_ tools"),
            Self::Ralph => format!("{path} belongs to Ralph"),
            Self::Prohibited(glob) => format!("{path} is a prohibited path (`{glob}`): it may not be changed"),
            Self::System(Errno::NOENT) => format!("{path} does not exist"),
            Self::System(Errno::NOTDIR) => format!("a part of {path} is not a folder"),
            Self::System(errno) => format!("could not open {path}: {}", io::Error::from(*errno)),
        }
    }
}
