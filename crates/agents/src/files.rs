//! Files that an agent may have put anything in the place of: nothing here waits for the writer of a pipe, and only so much is
//! read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::request::Error;

/// No settings of a program are as long.
pub(crate) const MAX_BYTES: u64 = 1024 * 1024;

/// What is done about a link in the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is followed: the file is the user's to put where they like, and dotfile managers link it.
    Follow,
    /// It is none: the agent or a repository chooses what lies there.
    Refuse,
}

/// Opens whatever is there to be read. The caller asks the open file what it is.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    let follow = match links {
        Links::Follow => OFlags::empty(),
        Links::Refuse => OFlags::NOFOLLOW,
    };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | follow;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a plain file, and nothing else.
pub fn open_plain(path: &Path, links: Links) -> io::Result<File> {
    let file = open(path, links)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
    }
    Ok(file)
}

/// The text of a plain file, up to so many bytes of it.
pub(crate) fn read_plain(path: &Path, links: Links, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open_plain(path, links)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file behind a name, when it is part of the project: a link to another instruction file is usual, one to a key is not.
pub(crate) fn within(top: &Path, path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|real| real.starts_with(top) && real.is_file())
}

/// Writes a file that is the user's alone, whatever the umask: a prompt, or settings with keys in them.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| Error::Scratch { path: path.to_owned(), source })
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
