//! Why a worker cannot work, or a task cannot be worked on.

use std::path::PathBuf;

/// Why a worker cannot work, or a task cannot be worked on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused or cannot be reached.
    #[error(transparent)]
    Server(#[from] ralph_api::Error),
    /// The run cannot be started or continued.
    #[error(transparent)]
    Host(#[from] ralph_host::Error),
    /// The loop broke off.
    #[error("{}", .0.chain())]
    Runtime(#[from] ralph_runtime::Error),
    /// The store behind the server failed.
    #[error(transparent)]
    Store(#[from] ralph_store::Error),
    /// Git failed.
    #[error("git could not {action}: {why}")]
    Git {
        /// What it was about to do.
        action: String,
        /// What it said.
        why: String,
    },
    /// A repository cannot be reached at the moment.
    #[error("git could not {action}: {why}")]
    Remote {
        /// What it was about to do.
        action: String,
        /// What it said.
        why: String,
    },
    /// The folder for tasks without a repository is in no repository.
    #[error("{path} is not in a git repository: tasks need one, because their work becomes a branch of it")]
    NoRepository {
        /// The folder.
        path: PathBuf,
    },
    /// A file or folder of the worker's own cannot be made or read.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The work holds secrets, which are not published.
    #[error("{0}")]
    Secrets(String),
    /// The task cannot be worked on as it is.
    #[error("{0}")]
    Task(String),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
