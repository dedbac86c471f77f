//! What lies in a workspace besides its tree, as one hash. Reads names, sizes and times; never a content.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

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

/// A hash of everything in the folder that is not in `tree`, the paths of the files that are looked after otherwise.
pub(crate) fn beside(root: &Path, tree: &HashSet<Vec<u8>>) -> String {
    let mut look = Look { tree, entries: Vec::new(), open: vec![(root.to_owned(), Vec::new())] };
    while let Some((folder, prefix)) = look.open.pop() {
        look.folder(&folder, &prefix);
    }
    look.entries.sort();
    let mut hash = Sha256::new();
    for entry in &look.entries {
        hash.update(entry);
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

struct Look<'a> {
    tree: &'a HashSet<Vec<u8>>,
    entries: Vec<Vec<u8>>,
    /// Folders that are still to be looked at, and their paths below the first one.
    open: Vec<(PathBuf, Vec<u8>)>,
}

impl Look<'_> {
    fn folder(&mut self, folder: &Path, prefix: &[u8]) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if self.entries.len() >= MAX {
                return;
            }
            let name = entry.file_name();
            let path = [prefix, name.as_bytes()].concat();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.inside(&entry.path(), &name, &path),
                Ok(_) if !self.tree.contains(&path) => self.file(&entry, path),
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn inside(&mut self, folder: &Path, name: &OsString, path: &[u8]) {
        let is_one_of = |names: &[&str]| names.iter().any(|known| name == known);
        if is_one_of(&INSTALLED) {
            self.names(folder, 4);
        } else if !is_one_of(&BY_PRODUCTS) {
            self.open.push((folder.to_owned(), [path, b"/"].concat()));
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

    fn file(&mut self, entry: &fs::DirEntry, mut path: Vec<u8>) {
        // One that is gone meanwhile is not there.
        if let Ok(found) = entry.metadata() {
            path.extend(format!(" {} {} {}", found.len(), found.mtime(), found.mtime_nsec()).into_bytes());
            self.entries.push(path);
        }
    }
}

#[cfg(test)]
#[path = "untracked_digest_tests.rs"]
mod tests;
