//! What a folder holds, to the byte, so that a test can show that nothing in it changed. Changes nothing itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Every file, link and folder below a git directory, with permissions and content; `info/exclude` aside, which Ralph
/// may add a line to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    entries: BTreeMap<PathBuf, String>,
}

impl Fingerprint {
    /// Reads a git directory, or the `.git` file of a worktree or submodule.
    #[track_caller]
    pub fn of(git: impl AsRef<Path>) -> Self {
        let git = git.as_ref();
        let mut entries = BTreeMap::new();
        collect(git, git, &mut entries);
        entries.remove(Path::new("info/exclude"));
        Self { entries }
    }

    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for (path, entry) in &self.entries {
            hash.update(path.as_os_str().as_bytes());
            hash.update([0]);
            hash.update(entry.as_bytes());
            hash.update([0]);
        }
        format!("{:x}", hash.finalize())
    }

    /// What is different in `other`, one line each: `changed HEAD`, `added refs/heads/x`, `removed index`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let gone = self.entries.iter().filter_map(|(path, entry)| match other.entries.get(path) {
            None => Some(format!("removed {}", path.display())),
            Some(now) if now != entry => Some(format!("changed {} ({entry} -> {now})", path.display())),
            Some(_) => None,
        });
        let added = other.entries.keys().filter(|path| !self.entries.contains_key(*path));
        gone.chain(added.map(|path| format!("added {}", path.display()))).collect()
    }

    /// Fails the test unless `other` is the same.
    #[track_caller]
    pub fn assert_same(&self, other: &Self) {
        let differences = self.differences(other);
        assert!(differences.is_empty(), "the git directory changed:\n{}", differences.join("\n"));
    }
}

#[track_caller]
fn collect(root: &Path, path: &Path, entries: &mut BTreeMap<PathBuf, String>) {
    let fail = |error: std::io::Error| -> ! { panic!("could not read {}: {error}", path.display()) };
    let metadata = fs::symlink_metadata(path).unwrap_or_else(|error| fail(error));
    let mode = metadata.permissions().mode();
    let content = if metadata.is_symlink() {
        fs::read_link(path).unwrap_or_else(|error| fail(error)).display().to_string()
    } else if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap_or_else(|error| fail(error)) {
            collect(root, &entry.unwrap_or_else(|error| fail(error)).path(), entries);
        }
        "folder".to_owned()
    } else if metadata.is_file() {
        format!("{:x}", Sha256::digest(fs::read(path).unwrap_or_else(|error| fail(error))))
    } else {
        // A socket (of the fsmonitor daemon, say) has no content; opening a pipe would block.
        "special".to_owned()
    };
    let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
    entries.insert(relative, format!("{mode:o} {content}"));
}
