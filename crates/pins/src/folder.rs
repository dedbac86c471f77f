//! Reads files of the workspace, bounded, following no link out of it. Writes nothing.

use std::fs;
use std::io::Read as _;
use std::path::Path;

/// Bytes of a file that are read: no script, manifest or makefile is larger.
const MAX_SIZE: u64 = 1 << 20;

/// A workspace that is read from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Folder<'a>(pub(crate) &'a Path);

impl Folder<'_> {
    /// A file as text; `None` when there is none, it is no file, or it is too large to be what it is taken for.
    pub(crate) fn read(self, path: &str) -> Option<String> {
        let path = self.0.join(path);
        // A pipe would keep the reader waiting.
        let data = fs::metadata(&path).ok()?;
        if !data.is_file() || data.len() > MAX_SIZE {
            return None;
        }
        let mut bytes = Vec::new();
        fs::File::open(path).ok()?.take(MAX_SIZE).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether there is something by that name, ignored or not; a dangling link counts.
    pub(crate) fn has(self, path: &str) -> bool {
        fs::symlink_metadata(self.0.join(path)).is_ok()
    }

    /// Whether there is a file by that name.
    pub(crate) fn has_file(self, path: &str) -> bool {
        fs::metadata(self.0.join(path)).is_ok_and(|data| data.is_file())
    }

    /// Whether there is a folder by that name.
    pub(crate) fn has_folder(self, path: &str) -> bool {
        fs::metadata(self.0.join(path)).is_ok_and(|data| data.is_dir())
    }

    /// Names in a folder, sorted; empty when it cannot be read.
    pub(crate) fn names(self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}
