//! Why a run cannot be started or continued.

use ralph_config::{skills, trust};
use ralph_model::{ConfigError, exit_code};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a value is wrong.
    #[error(transparent)]
    Settings(#[from] ralph_config::Error),
    #[error(transparent)]
    Skill(#[from] skills::Error),
    /// Something of the repository is not approved.
    #[error(transparent)]
    Trust(#[from] trust::Error),
    #[error("git is not installed: install it (Debian: apt-get install git) and try again")]
    NoGit,
    #[error("there are no loops yet: start one with `ralph run`, or watch one with `ralph demo`")]
    NoLoops,
    #[error(transparent)]
    Store(#[from] ralph_store::Error),
    /// The repository could not be read.
    #[error(transparent)]
    Repository(#[from] ralph_workspace::Error),
    /// The run could not be opened.
    #[error(transparent)]
    Runtime(#[from] ralph_runtime::Error),
}

impl Error {
    /// The exit code: only what is broken on this machine is no mistake of the caller.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Trust(trust::Error::Store(_))
            | Self::NoGit
            | Self::NoLoops
            | Self::Store(_)
            | Self::Runtime(ralph_runtime::Error::File { .. } | ralph_runtime::Error::Store(_)) => exit_code::ERROR,
            _ => exit_code::USAGE,
        }
    }

    /// The rule that was broken, where that is what is wrong.
    pub const fn rule(&self) -> Option<&ConfigError> {
        match self {
            Self::Settings(ralph_config::Error::Rule(rule))
            | Self::Skill(skills::Error::Rule(rule))
            | Self::Runtime(ralph_runtime::Error::Config(rule)) => Some(rule),
            _ => None,
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Settings(error.into())
    }
}
