//! Whether something wrote or moved a file while checks ran, although it is as it was again. Content alone does not show that:
//! a process that an agent left behind can give a test other content for as long as a check reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What the file system records of a file or folder. No program can set the time of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    changed: (i64, i64),
    modified: (i64, i64),
    size: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            place: (found.dev(), found.ino()),
            changed: (found.ctime(), found.ctime_nsec()),
            modified: (found.mtime(), found.mtime_nsec()),
            size: found.size(),
        })
    }

    /// Whether a folder was moved since. What is written into it, such as a cache, changes both of its times at once; a move
    /// changes only one of them.
    fn was_moved(self, now: Self) -> bool {
        self.place != now.place
            || (self.changed != now.changed && (self.modified == now.modified || now.modified != now.changed))
    }
}

/// The stamps of some files, and of the folders that lead to them.
pub(super) struct Stamps {
    root: PathBuf,
    files: BTreeMap<String, Option<Stamp>>,
    folders: BTreeMap<String, Option<Stamp>>,
}

impl Stamps {
    /// Of files below `root`, as they are now.
    pub(super) fn take(root: &Path, files: impl IntoIterator<Item = String>) -> Self {
        let stamp = |path: String| {
            let stamp = Stamp::of(&root.join(&path));
            (path, stamp)
        };
        let files: BTreeMap<_, _> = files.into_iter().map(stamp).collect();
        let above =
            |path: &String| Path::new(path).ancestors().skip(1).filter_map(Path::to_str).map(str::to_owned).collect();
        let folders: BTreeSet<String> = files.keys().flat_map(|path| -> Vec<String> { above(path) }).collect();
        Self { root: root.to_owned(), files, folders: folders.into_iter().map(stamp).collect() }
    }

    /// What was written or moved since, whatever it holds now.
    pub(super) fn touched(&self) -> Vec<String> {
        let now = |path: &String| Stamp::of(&self.root.join(path));
        let files = self.files.iter().filter(|(path, before)| now(path) != **before).map(|(path, _)| path.clone());
        let was_moved = |path: &String, before: Option<Stamp>| match (before, now(path)) {
            (Some(before), Some(now)) => before.was_moved(now),
            (before, now) => before != now,
        };
        let folders = self.folders.iter().filter(|(path, before)| was_moved(path, **before));
        let named = |path: &String| if path.is_empty() { ".".to_owned() } else { format!("{path}/") };
        files.chain(folders.map(|(path, _)| named(path))).collect()
    }
}

#[cfg(test)]
#[path = "stamps_tests.rs"]
mod tests;
