//! Looks at the workspace and at the programs on PATH for the pins, bounded. Writes nothing and starts nothing.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ralph_verify::pins::{Program, Sources};

/// Bytes of a file that are read: no script, manifest or makefile is larger.
const MAX_SIZE: u64 = 1 << 20;

/// A workspace on this machine, and PATH of its checks.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    root: PathBuf,
    real: PathBuf,
    search: Vec<PathBuf>,
}

impl Disk {
    pub(crate) fn new(root: &Path, path: &OsStr) -> Self {
        Self { root: root.to_owned(), real: canonical(root), search: folders(path, root) }
    }
}

impl Sources for Disk {
    fn read(&self, path: &str) -> Option<String> {
        let path = self.root.join(path);
        // A pipe would keep the reader waiting.
        let data = fs::metadata(&path).ok()?;
        if !data.is_file() || data.len() > MAX_SIZE {
            return None;
        }
        let mut bytes = Vec::new();
        fs::File::open(path).ok()?.take(MAX_SIZE).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.root.join(path)).is_ok()
    }

    fn has_file(&self, path: &str) -> bool {
        fs::metadata(self.root.join(path)).is_ok_and(|data| data.is_file())
    }

    fn has_folder(&self, path: &str) -> bool {
        fs::metadata(self.root.join(path)).is_ok_and(|data| data.is_dir())
    }

    fn is_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.root.join(path)).is_ok_and(|data| data.is_symlink())
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn search_folders(&self) -> Vec<String> {
        self.search.iter().filter_map(|folder| inside(folder, &self.real, &self.root)).collect()
    }

    fn resolve(&self, name: &str) -> Option<Program> {
        if name.is_empty() || name.starts_with('-') || name.contains('\0') {
            return None;
        }
        let file = if name.contains('/') {
            name.starts_with('/').then(|| program_file(Path::new(name))).flatten()?
        } else {
            self.search.iter().find_map(|folder| program_file(&folder.join(name)))?
        };
        describe(name, &file)
    }

    fn is_inside(&self, file: &Path) -> bool {
        file.starts_with(&self.real)
    }
}

/// The folders of a PATH; relative ones start at the workspace, and an empty one is the workspace itself.
fn folders(path: &OsStr, root: &Path) -> Vec<PathBuf> {
    if path.is_empty() {
        return Vec::new();
    }
    path.as_bytes().split(|byte| *byte == b':').map(|folder| root.join(OsStr::from_bytes(folder))).collect()
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn program_file(path: &Path) -> Option<PathBuf> {
    let data = fs::metadata(path).ok()?;
    if !data.is_file() || data.permissions().mode() & 0o111 == 0 {
        return None;
    }
    fs::canonicalize(path).ok()
}

fn describe(name: &str, file: &Path) -> Option<Program> {
    let data = fs::metadata(file).ok()?;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Some(Program {
        name: name.to_owned(),
        file: file.to_owned(),
        device: data.dev(),
        inode: data.ino(),
        size: data.len(),
        modified: nanoseconds(data.mtime(), data.mtime_nsec()),
        changed: Some(nanoseconds(data.ctime(), data.ctime_nsec())),
    })
}

/// A folder relative to the workspace, when it is in there, whether it exists or not.
fn inside(folder: &Path, root: &Path, written: &Path) -> Option<String> {
    let real = canonical(folder);
    let relative = real.strip_prefix(root).or_else(|_| folder.strip_prefix(written)).ok()?;
    Some(relative.to_str()?.to_owned())
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
