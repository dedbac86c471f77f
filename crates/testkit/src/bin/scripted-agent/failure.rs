//! What can go wrong in a scripted agent, and whose fault it is.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use ralph_testkit::{LoadError, Script};

/// Why a run could not be performed as written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("usage: scripted-agent SCRIPT.json [--prompt-file FILE]")]
    Words,
    #[error(transparent)]
    Script(#[from] LoadError),
    #[error("`{text}` is no octal mode; write one like \"755\"")]
    Mode { text: String },
    #[error("could not count the run in {path}: {source}")]
    Count { path: PathBuf, source: io::Error },
    #[error("{what} {path}: {source}")]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} does not hold `{text}`")]
    NotFound { path: PathBuf, text: String },
    #[error("{path} did not appear in {limit_ms} ms")]
    NeverAppeared { path: PathBuf, limit_ms: u64 },
    #[error("{path} does not hold a process id")]
    NoPid { path: PathBuf },
    #[error("RALPH_RESULT_FILE is not set, so the cost cannot be reported")]
    NoResultFile,
    #[error("`{line}` ended with {status}")]
    Line { line: String, status: ExitStatus },
    #[error("{folder} is not full after {limit} bytes")]
    NotFull { folder: PathBuf, limit: u64 },
    #[error("the signals {names} are not ignored although the shell was told to")]
    StillListening { names: String },
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
}

impl Failure {
    /// Whether the test that wrote the script or the command line is wrong.
    pub(crate) const fn is_usage(&self) -> bool {
        matches!(self, Self::Words | Self::Script(_) | Self::Mode { .. })
    }

    pub(crate) fn counting(script: &Script) -> impl FnOnce(io::Error) -> Self {
        let path = script.state.clone().unwrap_or_default();
        |source| Self::Count { path, source }
    }

    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { what, path: path.to_owned(), source }
    }

    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { what, source: error.into() }
    }
}
