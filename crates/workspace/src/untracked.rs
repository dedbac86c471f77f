//! What lies in a workspace besides its tree, as one hash. Reads names, sizes and times; never a content.
//!
//! A scan notes the names that do not belong to the tree, so that only those are looked at here, and no folder of the tree is
//! listed again.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::scan::{Beside, Directory};
use crate::stop::Poll;
use crate::{Error, Workspace};

/// Folders that runners and builds fill themselves: their content says nothing about anybody's work.
const BY_PRODUCTS: [&str; 18] = [
    ".git",
    ".ralph",
    "target",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    "dist",
    "build",
    "out",
    ".next",
    ".cache",
    ".gradle",
    "coverage",
    ".nyc_output",
    ".hypothesis",
];
/// Folders of installed packages, of which names are enough.
const INSTALLED: [&str; 4] = ["node_modules", "vendor", ".venv", "venv"];
/// More entries than this are not looked at.
const MAX: usize = 50_000;

impl Workspace {
    /// A hash of everything in the workspace that was not in its tree when it was last looked at. It is looked at again where
    /// files were swapped or restored since.
    pub fn untracked_digest(&mut self) -> Result<String, Error> {
        self.scan_unless_looked()?;
        let mut look = Look { root: &self.root, entries: Vec::new(), open: Vec::new(), poll: self.stop.step() };
        look.tree(&self.directory)?;
        look.entries.sort_unstable();
        let mut hash = Sha256::new();
        for entry in &look.entries {
            hash.update(entry);
            hash.update([0]);
        }
        Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }
}

struct Look<'a> {
    root: &'a Path,
    entries: Vec<Vec<u8>>,
    /// Folders beside the tree that are still to be looked at, and their paths below the root.
    open: Vec<(PathBuf, Vec<u8>)>,
    poll: Poll,
}

impl Look<'_> {
    /// Looks at what the folders of the tree hold besides it.
    fn tree(&mut self, root: &Directory) -> Result<(), Error> {
        let mut folders = vec![(root, Vec::new())];
        while let Some((directory, prefix)) = folders.pop() {
            self.poll.check()?;
            for Beside { name, is_folder } in directory.beside() {
                let path = [&prefix, name.as_bytes()].concat();
                let place = self.root.join(OsStr::from_bytes(&path));
                if *is_folder {
                    self.inside(place, OsStr::from_bytes(name.as_bytes()), &path);
                } else {
                    self.file(place.symlink_metadata(), path);
                }
            }
            for (name, child) in directory.folders() {
                let path = [&prefix, name.to_bytes()].concat();
                match Held::by(OsStr::from_bytes(name.to_bytes())) {
                    Held::Packages => self.names(&self.root.join(OsStr::from_bytes(&path)), 4),
                    Held::ByProducts => {}
                    Held::Work => folders.push((child, [&path[..], b"/"].concat())),
                }
            }
            while let Some((folder, prefix)) = self.open.pop() {
                self.folder(&folder, &prefix)?;
            }
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path, prefix: &[u8]) -> Result<(), Error> {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.poll.check()?;
            if self.entries.len() >= MAX {
                return Ok(());
            }
            let name = entry.file_name();
            let path = [prefix, name.as_bytes()].concat();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.inside(entry.path(), &name, &path),
                Ok(_) => self.file(entry.metadata(), path),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn inside(&mut self, folder: PathBuf, name: &OsStr, path: &[u8]) {
        match Held::by(name) {
            Held::Packages => self.names(&folder, 4),
            Held::ByProducts => {}
            Held::Work => self.open.push((folder, [path, b"/"].concat())),
        }
    }

    /// Names down to where packages are: `venv/lib/python3/site-packages/NAME`.
    fn names(&mut self, folder: &Path, depth: u32) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if self.entries.len() >= MAX {
                return;
            }
            self.entries.push(entry.file_name().as_bytes().to_vec());
            let leads_on = matches!(entry.file_name().to_str(), Some("lib" | "lib64" | "site-packages"))
                || entry.file_name().as_bytes().starts_with(b"python");
            if depth > 1 && leads_on && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.names(&entry.path(), depth - 1);
            }
        }
    }

    fn file(&mut self, found: std::io::Result<Metadata>, mut path: Vec<u8>) {
        // One that is gone meanwhile is not there.
        if let Ok(found) = found
            && self.entries.len() < MAX
        {
            path.extend(format!(" {} {} {}", found.len(), found.mtime(), found.mtime_nsec()).into_bytes());
            self.entries.push(path);
        }
    }
}

/// What a folder of some name holds.
enum Held {
    Packages,
    ByProducts,
    Work,
}

impl Held {
    fn by(name: &OsStr) -> Self {
        let is_one_of = |names: &[&str]| names.iter().any(|known| name == *known);
        if is_one_of(&INSTALLED) {
            Self::Packages
        } else if is_one_of(&BY_PRODUCTS) {
            Self::ByProducts
        } else {
            Self::Work
        }
    }
}
