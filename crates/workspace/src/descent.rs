//! The way down from a folder, by open folders and not by paths: a path can be longer than the kernel takes, and a link
//! that takes the place of a folder leads nowhere. However deep the way is, few folders are open at a time.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

/// How folders are opened: never through a link.
pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Folders that stay open. Those above are opened again, from the top, when the way leads back to them.
const MAX_OPEN: usize = 64;

/// A folder, and the folders above it.
pub(crate) struct Descent {
    root: OwnedFd,
    levels: Vec<Level>,
}

struct Level {
    from: Origin,
    fd: Option<OwnedFd>,
}

/// How a folder is opened.
enum Origin {
    /// By its name in the folder above.
    Above(CString),
    /// By its path: a link led there.
    Elsewhere(PathBuf),
}

impl Descent {
    /// Starts in a folder that is open.
    pub(crate) const fn new(root: OwnedFd) -> Self {
        Self { root, levels: Vec::new() }
    }

    /// Goes down to a folder. It is opened when it is needed.
    pub(crate) fn enter(&mut self, name: CString) {
        self.levels.push(Level { from: Origin::Above(name), fd: None });
    }

    /// Goes to a folder that is not below this one.
    pub(crate) fn enter_elsewhere(&mut self, path: PathBuf) {
        self.levels.push(Level { from: Origin::Elsewhere(path), fd: None });
    }

    /// Goes back to the folder above.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    pub(crate) fn open(&mut self) -> Result<BorrowedFd<'_>, Errno> {
        let is_start = |level: &Level| level.fd.is_some() || matches!(level.from, Origin::Elsewhere(_));
        let start = self.levels.iter().rposition(is_start).unwrap_or(0);
        for at in start..self.levels.len() {
            if self.levels[at].fd.is_some() {
                continue;
            }
            let opened = match &self.levels[at].from {
                Origin::Elsewhere(path) => open(path, FOLDER, Mode::empty())?,
                Origin::Above(name) => openat(self.above(at), name, FOLDER, Mode::empty())?,
            };
            self.levels[at].fd = Some(opened);
            if let Some(far) = at.checked_sub(MAX_OPEN) {
                self.levels[far].fd = None;
            }
        }
        Ok(self.above(self.levels.len()))
    }

    fn above(&self, at: usize) -> BorrowedFd<'_> {
        at.checked_sub(1).and_then(|above| self.levels[above].fd.as_ref()).unwrap_or(&self.root).as_fd()
    }
}
