//! Finds a repository's folders by reading files. Never runs git, never writes.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the parts of a repository are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDir {
    /// The folder that holds `.git`.
    pub(crate) top: PathBuf,
    /// What belongs to this working tree: `HEAD`, the index.
    pub(crate) git_dir: PathBuf,
    /// What all working trees share: objects, branches, configuration, `info/exclude`.
    pub(crate) common: PathBuf,
}

impl GitDir {
    /// Looks in the folder and its parents for something that is a git directory, not only named like one.
    pub(crate) fn find(root: &Path) -> Option<Self> {
        root.ancestors().find_map(Self::at)
    }

    /// Looks in one folder.
    pub(crate) fn at(top: &Path) -> Option<Self> {
        let marker = top.join(".git");
        let git_dir = if fs::metadata(&marker).ok()?.is_dir() {
            marker
        } else {
            let text = fs::read_to_string(&marker).ok()?;
            top.join(text.strip_prefix("gitdir:")?.trim())
        };
        let common = match fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim_end()),
            Err(_) => git_dir.clone(),
        };
        let real = git_dir.join("HEAD").symlink_metadata().is_ok()
            && common.join("objects").is_dir()
            && common.join("refs").exists();
        real.then(|| Self { top: top.to_owned(), git_dir: settle(git_dir), common: settle(common) })
    }

    /// How many digits its object ids have, as far as its configuration tells.
    pub(crate) fn hash_digits(&self) -> usize {
        let config = fs::read_to_string(self.common.join("config")).unwrap_or_default().to_ascii_lowercase();
        let sha256 = config.lines().any(|line| {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            name.trim() == "objectformat" && value.trim().trim_matches('"') == "sha256"
        });
        if sha256 { 64 } else { 40 }
    }

    /// Path of `folder` below the top, with a slash at its end unless it is the top itself.
    pub(crate) fn prefix_of(&self, folder: &Path) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        let mut prefix = match folder.strip_prefix(&self.top) {
            Ok(below) => below.as_os_str().as_bytes().to_vec(),
            Err(_) => Vec::new(),
        };
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        prefix
    }
}

/// Without `..`, so that messages and lock files name the place itself.
fn settle(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}
