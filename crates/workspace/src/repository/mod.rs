//! The user's repository: where it stands, and the few things that Ralph does to it when asked to.
//!
//! What can run: git itself, and nothing else. Looking at files (is the tree clean?) and making objects goes through a
//! throwaway git directory, as does looking through commits, so that the repository's filters and monitors are not even known. Only what needs the real
//! git directory uses it (counting commits, moving a branch, writing the index, worktrees), with hooks, monitor, pager,
//! signing and transports overridden; those commands use no diff driver, editor, alias or credential helper. Two of them
//! convert file contents, checking out a worktree and writing the index (git looks at files again that are younger than
//! the index): for these every configured filter is overridden by name.

mod clean;
mod commit;
mod commits;
mod head;
mod worktree;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use commit::{Author, Work};
pub use commits::CommitWatch;
pub use head::{CommitId, Head};

use crate::Error;
use crate::git::{Call, Git};
use crate::gitdir::GitDir;

/// The repository that a folder is in.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    scratch: PathBuf,
    git: Git,
    places: GitDir,
    excludes: Option<PathBuf>,
}

/// What a repository is needed for, for the message when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Verified work is to be committed.
    Commit,
    /// The loop is to work in a worktree.
    Worktree,
}

impl Repository {
    /// Finds the repository of a folder by reading files. `git` is the git program; `scratch` a folder of Ralph's own for
    /// throwaway files.
    #[must_use]
    pub fn find(root: &Path, git: &Path, scratch: &Path) -> Option<Self> {
        let root = root.canonicalize().ok()?;
        let places = GitDir::find(&root)?;
        Some(Self { root, scratch: scratch.to_owned(), git: Git::new(git), places, excludes: None })
    }

    /// Like [`Repository::find`], with an error that says why there has to be one.
    pub fn require(root: &Path, git: &Path, scratch: &Path, need: Need) -> Result<Self, Error> {
        let need = match need {
            Need::Commit => "verified work cannot be committed (`--commit`)",
            Need::Worktree => "the loop cannot work in a worktree (`--worktree`)",
        };
        Self::find(root, git, scratch).ok_or_else(|| Error::NoRepository { root: root.to_owned(), need })
    }

    /// With the user's own ignore file (git's `core.excludesFile`), which decides what counts as untracked.
    #[must_use]
    pub fn with_global_excludes(mut self, path: Option<PathBuf>) -> Self {
        self.excludes = path;
        self
    }

    /// The top folder of the working tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.places.top
    }

    /// The git directory, and the one that it shares with other worktrees: what an agent writes that commits.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.places.git_dir.clone(), self.places.common.clone()];
        folders.dedup();
        folders
    }

    fn objects(&self) -> PathBuf {
        self.places.common.join("objects")
    }

    fn users_git(&self) -> Call {
        self.git.users(&self.places.git_dir, &self.places.top).unless(self.places.trap())
    }

    /// A call in which every filter that the configuration defines does nothing.
    fn unfiltered_git(&self) -> Result<Call, Error> {
        let listed = self
            .users_git()
            .args(["config", "-z", "--name-only", "--get-regexp", r"^filter\."])
            .answer("list filters")?;
        // 1: there are none.
        if !matches!(listed.code, Some(0 | 1)) {
            return Err(Error::Git { action: "list filters", message: listed.message });
        }
        let mut call = self.users_git();
        let mut count = 0;
        for name in listed.output.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            // An empty command is no filter; `required` must go too, or its absence is an error. Through the environment,
            // because `-c` would end the name at the first `=`, and a filter's name may contain one.
            let value = if name.ends_with(b".required") { "false" } else { "" };
            call = call.env(&format!("GIT_CONFIG_KEY_{count}"), OsStr::from_bytes(name));
            call = call.env(&format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        Ok(call.env("GIT_CONFIG_COUNT", count.to_string()))
    }
}
