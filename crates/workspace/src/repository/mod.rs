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

#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    scratch: PathBuf,
    git: Git,
    places: GitDir,
    excludes: Option<PathBuf>,
}

/// Names in a git directory that say how git works there.
const STEERING: [&str; 5] = ["config", "config.worktree", "hooks", "info/attributes", "info/exclude"];

/// How many submodules are looked at, and how deep their names may be nested.
const MAX_MODULES: usize = 200;
const MAX_MODULE_DEPTH: usize = 6;

/// The git directories of submodules. Their names may hold slashes, and a submodule may have submodules.
fn modules_in(modules: &Path) -> Vec<PathBuf> {
    let (mut found, mut waiting) = (Vec::new(), vec![(modules.to_owned(), 0)]);
    while let Some((folder, depth)) = waiting.pop() {
        let is_module = folder.join("HEAD").is_file();
        let inner = if is_module { folder.join("modules") } else { folder.clone() };
        if is_module {
            found.push(folder);
        }
        if depth >= MAX_MODULE_DEPTH || found.len() >= MAX_MODULES {
            continue;
        }
        let entries = std::fs::read_dir(&inner).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(folders.take(MAX_MODULES).map(|entry| (entry.path(), depth + 1)));
    }
    found
}

/// What a repository is needed for, for the message when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Commit,
    /// The loop is to work in a worktree.
    Worktree,
}

impl Repository {
    /// Finds the repository of a folder by reading files. `git` is the git program; `scratch` a folder of Ralph's own for
    /// throwaway files.
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
    pub fn top(&self) -> &Path {
        &self.places.top
    }

    /// The git directory, and the one that it shares with other worktrees: what an agent writes that commits.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.places.git_dir.clone(), self.places.common.clone()];
        folders.dedup();
        folders
    }

    /// What of the repository says how git works in it, and can make the user's git run a program: configuration, hooks, attributes
    /// and excludes, those of submodules included. The same for all worktrees of a repository.
    pub fn steering(&self) -> Vec<PathBuf> {
        let common = &self.places.common;
        let steering = |folder: &Path| STEERING.map(|name| folder.join(name));
        let mut paths = steering(common).to_vec();
        let modules = common.join("modules");
        match modules_in(&modules) {
            // None yet: whatever comes is new.
            known if known.is_empty() && !modules.exists() => paths.push(modules),
            known => paths.extend(known.iter().flat_map(|module| steering(module))),
        }
        paths
    }

    /// What says where the git directory is, and how git works in this worktree alone. Nothing for the main working tree.
    pub fn links(&self) -> Vec<PathBuf> {
        if self.places.git_dir == self.places.common {
            return Vec::new();
        }
        let own = ["config.worktree", "commondir", "gitdir"].map(|name| self.places.git_dir.join(name));
        own.into_iter().chain([self.places.top.join(".git")]).collect()
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
