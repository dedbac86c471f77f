//! What can go wrong with metrics, with the file in each message.

use std::io;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why metrics or a report could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("could not {doing} {path}: {source}")]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    /// A link, a pipe or a folder stands where the metrics belong. An agent in the workspace could use a link to
    /// make Ralph write elsewhere, so none is followed.
    #[error("{path} is not an ordinary file; remove it, or choose another path for the metrics")]
    NotAFile { path: PathBuf },
    #[error("the metrics of a loop cannot be written as JSON: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("`{0}` is not a date: write it like 2026-11-15")]
    Date(String),
}

impl Error {
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { doing, path, source }
    }
}
