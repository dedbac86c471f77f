//! Where a repository is, as git sees it: a folder `.git`, or a file that leads to one. Runs nothing and reads no configuration.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{Links, MAX_BYTES, read_plain};

/// What is called `.git` in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Git {
    /// The root of a repository, of a worktree or of a submodule, whose own folder this is.
    Here(PathBuf),
    /// A file that leads to no repository.
    Broken,
    /// Nothing that git takes for its own.
    None,
}

pub(crate) fn at(folder: &Path) -> Git {
    let path = folder.join(".git");
    let Ok(meta) = fs::metadata(&path) else { return Git::None };
    if meta.is_dir() {
        return if is_repository(&path) { Git::Here(path) } else { Git::None };
    }
    match leads_to(&path, "gitdir:").filter(|target| is_repository(target)) {
        Some(target) => Git::Here(target),
        None => Git::Broken,
    }
}

/// The folders in which a commit made in this folder is written. A file `.git` counts only where a worktree knows it, too: it can
/// be made by an agent that works there, and would lead into any other repository.
pub(crate) fn written_by_commits(directory: &Path) -> Vec<PathBuf> {
    for folder in directory.ancestors() {
        let own = match at(folder) {
            Git::None => continue,
            Git::Broken => return Vec::new(),
            Git::Here(own) => own,
        };
        let file = folder.join(".git");
        if own == file {
            return vec![own];
        }
        let known = leads_to(&own.join("gitdir"), "").and_then(|back| back.canonicalize().ok());
        if known.is_none() || known != file.canonicalize().ok() {
            return Vec::new();
        }
        let common = leads_to(&own.join("commondir"), "").filter(|common| is_repository(common));
        let common = common.and_then(|common| common.canonicalize().ok());
        return [Some(own), common].into_iter().flatten().collect();
    }
    Vec::new()
}

/// The path in a file, behind a word; a relative one begins in the file's folder.
fn leads_to(file: &Path, word: &str) -> Option<PathBuf> {
    let text = read_plain(file, Links::Follow, MAX_BYTES).ok()?;
    let target = text.strip_prefix(word)?.trim();
    (!target.is_empty()).then(|| file.parent().map(|folder| folder.join(target)))?
}

fn is_repository(folder: &Path) -> bool {
    let is_whole = folder.join("objects").is_dir() && folder.join("refs").is_dir();
    folder.join("HEAD").is_file() && (is_whole || folder.join("commondir").is_file())
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
