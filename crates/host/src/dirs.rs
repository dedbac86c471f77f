//! Where Ralph keeps things, from the environment's values. Looks at no folder and makes none.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// The user's own configuration.
    pub config: PathBuf,
    /// Journals, snapshots, logs: outside of every workspace.
    pub state: PathBuf,
    pub database_choice: DatabaseChoice,
}

/// Who says which database is used.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseChoice {
    /// The user's own configuration; the file where it says nothing.
    Configured,
    /// An environment variable. It may hold a password.
    Url(String),
    /// The file in the state folder, whatever is configured.
    File,
}

impl fmt::Debug for DatabaseChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configured => "Configured",
            Self::Url(_) => "Url(…)",
            Self::File => "File",
        })
    }
}

/// There is no place to keep anything.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no home directory to keep Ralph's state in\n  set HOME, or RALPH_HOME to an absolute path")]
pub struct NoHome;

impl Dirs {
    /// From environment variables: `RALPH_HOME`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME`, `HOME` and `RALPH_DATABASE_URL`.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
        // The XDG rules: a relative path is as good as none.
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let below = |name: &str, usual: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(usual))).map(|folder| folder.join("ralph"))
        };
        let state = absolute("RALPH_HOME").or_else(|| below("XDG_STATE_HOME", ".local/state")).ok_or(NoHome)?;
        let config = below("XDG_CONFIG_HOME", ".config").unwrap_or_else(|| state.join("config"));
        let url =
            variable(crate::database::VARIABLE).and_then(|url| url.into_string().ok()).filter(|url| !url.is_empty());
        let database_choice = url.map_or(DatabaseChoice::Configured, DatabaseChoice::Url);
        Ok(Self { config, state, database_choice })
    }

    /// Everything below one folder, with the database in a file.
    pub fn in_folder(folder: &Path) -> Self {
        let (config, state) = (folder.join("config"), folder.join("state"));
        Self { config, state, database_choice: DatabaseChoice::File }
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    pub fn skills(&self) -> PathBuf {
        self.config.join("skills")
    }

    /// The user's own agents of the crew.
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// Checkpoints, where no other folder is named.
    pub fn checkpoints(&self) -> PathBuf {
        self.state.join("checkpoints")
    }

    /// The first token of a server that runs here.
    pub fn token_file(&self) -> PathBuf {
        self.state.join("token")
    }

    /// The database of journals, budget and approvals, where no server is named.
    pub fn database(&self) -> PathBuf {
        self.state.join("ralph.db")
    }
}

#[cfg(test)]
#[path = "dirs_tests.rs"]
mod tests;
