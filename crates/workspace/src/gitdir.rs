//! Finds a repository's folders by reading files. Never runs git, never writes.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

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

    pub(crate) fn at(top: &Path) -> Option<Self> {
        let marker = top.join(".git");
        let git_dir = if fs::metadata(&marker).ok()?.is_dir() {
            marker
        } else {
            top.join(read_text(&marker)?.strip_prefix("gitdir:")?.trim())
        };
        let common = match read_text(&git_dir.join("commondir")) {
            Some(text) => git_dir.join(text.trim_end()),
            None => git_dir.clone(),
        };
        let real = git_dir.join("HEAD").symlink_metadata().is_ok()
            && common.join("objects").is_dir()
            && common.join("refs").exists();
        real.then(|| Self { top: top.to_owned(), git_dir: settle(git_dir), common: settle(common) })
    }

    /// A file that git would read and that is something else by now, such as a pipe on which git would wait for ever.
    pub(crate) fn trap(&self) -> Option<PathBuf> {
        let branch = read_text(&self.git_dir.join("HEAD"))
            .and_then(|text| text.strip_prefix("ref:").map(|name| self.common.join(name.trim())));
        let own = ["HEAD", "index", "config.worktree", "commondir"].map(|name| self.git_dir.join(name));
        let shared =
            ["config", "packed-refs", "shallow", "info/exclude", "info/attributes"].map(|name| self.common.join(name));
        let special = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        own.into_iter().chain(shared).chain(branch).find(special)
    }

    /// How many digits its object ids have, as far as its configuration tells.
    pub(crate) fn hash_digits(&self) -> usize {
        let config = read_text(&self.common.join("config")).unwrap_or_default().to_ascii_lowercase();
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

/// The text of a file of a repository. An agent could have put a pipe in its place, on which reading would wait for ever.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    read_bytes(path).and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Like [`read_text`], for files that need not be text.
pub(crate) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    let regular = file.metadata().is_ok_and(|found| found.is_file());
    (regular && file.read_to_end(&mut bytes).is_ok()).then_some(bytes)
}

/// Without `..`, so that messages and lock files name the place itself.
fn settle(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}
