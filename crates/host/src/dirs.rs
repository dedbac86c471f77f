//! Where Ralph keeps things, from the environment's values. Looks at no folder and makes none.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where Ralph keeps things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// The user's own configuration.
    pub config: PathBuf,
    /// Journals, snapshots, logs: outside of every workspace.
    pub state: PathBuf,
}

/// There is no place to keep anything.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no home directory to keep Ralph's state in\n  set HOME, or RALPH_HOME to an absolute path")]
pub struct NoHome;

impl Dirs {
    /// From environment variables: `RALPH_HOME`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME` and `HOME`.
    ///
    /// # Errors
    /// When none of them is an absolute path.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
        // The XDG rules: a relative path is as good as none.
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let below = |name: &str, usual: &str| {
            absolute(name).or_else(|| home.as_ref().map(|home| home.join(usual))).map(|folder| folder.join("ralph"))
        };
        let state = absolute("RALPH_HOME").or_else(|| below("XDG_STATE_HOME", ".local/state")).ok_or(NoHome)?;
        let config = below("XDG_CONFIG_HOME", ".config").unwrap_or_else(|| state.join("config"));
        Ok(Self { config, state })
    }

    /// The user's own configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The user's own skills.
    pub fn skills(&self) -> PathBuf {
        self.config.join("skills")
    }

    /// The database of journals, budget and approvals.
    pub fn database(&self) -> PathBuf {
        self.state.join("ralph.db")
    }
}

#[cfg(test)]
#[path = "dirs_tests.rs"]
mod tests;
