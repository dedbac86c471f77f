//! What can go wrong with a workspace, with the path and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::stop::is_stop;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("stopped while reading the workspace; `ralph resume` reads it again")]
    Stopped,
    #[error(
        "{} was replaced by another folder, which was left alone; restore the workspace, then resume",
        path.display()
    )]
    Replaced { path: PathBuf },
    #[error("could not start {}: {source}; install git or give its path", program.display())]
    NoGit { program: PathBuf, source: io::Error },
    #[error("git could not {action}: {message}")]
    Git { action: &'static str, message: String },
    /// An object that should be in one of Ralph's git directories is not there or is broken.
    #[error("object {id} is missing or broken in {}; the snapshot that needs it cannot be used", store.display())]
    Object { id: String, store: PathBuf },
    #[error("`{0}` is not the id of a tree: expected 40 hexadecimal digits")]
    NotAnId(String),
    #[error("`{0}` cannot name a snapshot: use letters, digits, `-`, `_`, `.` and `/` between them")]
    Label(String),
    #[error("`{glob}` is not a valid pattern: {why}")]
    Glob { glob: String, why: String },
    #[error("{} has no usable record of the watched files at the loop's start: {why}", path.display())]
    Baseline { path: PathBuf, why: String },
    #[error(
        "the link `{link}` leads to more than {files} files or {mebibytes} MiB, too much to watch; narrow the prohibited \
         paths, or allow it with --prohibit '!{glob}'"
    )]
    GuardTooLarge { link: String, glob: String, files: usize, mebibytes: u64 },
    #[error("`{path}` cannot be placed: {why}")]
    Placement { path: String, why: &'static str },
    #[error("{} is not empty and was not created by Ralph; remove it, or choose another folder", path.display())]
    NotACheckout { path: PathBuf },
    #[error("{} lists files that must be restored in the workspace before others are replaced", record.display())]
    Swapped { record: PathBuf },
    #[error("{} cannot be used to restore files in the workspace: {why}", path.display())]
    SwapRecord { path: PathBuf, why: String },
    #[error("{} is not an ordinary file of a git directory; add `.ralph/` to your excludes yourself", path.display())]
    Exclude { path: PathBuf },
    #[error("{} is not in a git repository, so {need}; run `git init` there, or leave the option out", root.display())]
    NoRepository { root: PathBuf, need: &'static str },
    #[error("{} exists: another git process is using the repository; wait for it, or remove the file if there is none", path.display())]
    IndexLocked { path: PathBuf },
    #[error(
        "the branch has too many commits since the start of the loop to search for prohibited paths (limit: {most} commits \
         or ten minutes); review them with `git log` and undo them with `git reset` before you continue"
    )]
    TooManyCommits { most: usize },
    #[error("`{path}` uses the git filter `{filter}`, which Ralph does not run; commit it yourself with `git commit`")]
    Filtered { path: String, filter: String },
}

impl Error {
    /// Wraps what the system said about a path.
    pub(crate) fn io<E: Into<io::Error>>(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(E) -> Self {
        move |source| match source.into() {
            source if is_stop(&source) => Self::Stopped,
            source => Self::Io { action, path: path.as_ref().to_owned(), source },
        }
    }
}
