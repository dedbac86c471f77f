//! Why a worker cannot work, or a task cannot be worked on.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused or cannot be reached.
    #[error(transparent)]
    Server(#[from] ralph_api::Error),
    /// The run cannot be started or continued.
    #[error(transparent)]
    Host(#[from] ralph_host::Error),
    #[error("{}", .0.chain())]
    Runtime(#[from] ralph_runtime::Error),
    #[error(transparent)]
    Store(#[from] ralph_store::Error),
    #[error("git could not {action}: {why}")]
    Git { action: String, why: String },
    #[error("git could not {action}: {why}")]
    Remote { action: String, why: String },
    #[error("{path} is not in a git repository: tasks need one, because their work becomes a branch of it")]
    NoRepository { path: PathBuf },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// What must not be pushed, however often it is tried.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Task(String),
}

impl Error {
    /// Whether the server or its database failed, or another process still has the files: that says nothing of the task.
    pub(crate) const fn is_passing(&self) -> bool {
        use ralph_host::Error as Host;
        use ralph_runtime::Error as Runtime;
        matches!(
            self,
            Self::Server(_)
                | Self::Store(_)
                | Self::Runtime(Runtime::Store(_))
                | Self::Host(Host::Store(_) | Host::Runtime(Runtime::Store(_) | Runtime::Lock(_)))
        )
    }

    /// Whether a remote is away, and may be back later.
    pub(crate) fn is_remote_away(&self) -> bool {
        match self {
            Self::Remote { .. } => true,
            Self::Runtime(ralph_runtime::Error::Unpushed(why)) => {
                why.downcast_ref::<Self>().is_some_and(Self::is_remote_away)
            }
            _ => false,
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
