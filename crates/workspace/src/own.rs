//! Folders below `.ralph` in a workspace. They are opened part by part from their descriptors, so that a link that an agent put
//! in the place of one leads nowhere, however quickly it is put there.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::scan::FOLDER;

/// The name of the folder.
const OWN: &str = ".ralph";

/// An open folder below `.ralph`.
#[derive(Debug)]
pub struct OwnFolder {
    folder: OwnedFd,
    shown: PathBuf,
}

impl OwnFolder {
    /// The `.ralph` of a workspace, made where it is missing.
    ///
    /// # Errors
    /// When it cannot be opened, or is a link or no folder.
    pub fn of_workspace(root: &Path) -> io::Result<Self> {
        Self::walk(root, Path::new(OWN))
    }

    /// The folder of a file that is somewhere below a `.ralph`, made where it is missing; none for a file elsewhere.
    ///
    /// # Errors
    /// When one of the folders from `.ralph` on cannot be opened, or is a link or no folder.
    pub fn of_file(path: &Path) -> io::Result<Option<Self>> {
        let own = path.ancestors().skip(1).find(|folder| folder.file_name() == Some(OsStr::new(OWN)));
        let Some((root, folder)) = own.and_then(Path::parent).zip(path.parent()) else { return Ok(None) };
        let below = folder.strip_prefix(root).map_err(io::Error::other)?;
        Self::walk(root, below).map(Some)
    }

    fn walk(root: &Path, below: &Path) -> io::Result<Self> {
        let start = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = openat(CWD, start, flags, Mode::empty())?;
        let mut shown = root.to_owned();
        for part in below {
            shown.push(part);
            let opened = match openat(&folder, part, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) => match mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => openat(&folder, part, FOLDER, Mode::empty()),
                    Err(error) => Err(error),
                },
                opened => opened,
            };
            folder = opened.map_err(|error| match error {
                Errno::LOOP | Errno::NOTDIR => {
                    io::Error::other(format!("{} is a link or not a folder: remove it", shown.display()))
                }
                error => io::Error::new(io::Error::from(error).kind(), format!("{}: {error}", shown.display())),
            })?;
        }
        Ok(Self { folder, shown })
    }

    /// A path that means this very folder, whatever has taken its place meanwhile. Valid while this value lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }

    /// A message about a file in [`OwnFolder::path`], with the name that people know.
    pub fn readable(&self, message: &str) -> String {
        message.replace(&self.path().display().to_string(), &self.shown.display().to_string())
    }
}

#[cfg(test)]
#[path = "own_tests.rs"]
mod tests;
