//! Where Ralph keeps things, from the environment's values. Looks at no folder and makes none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where Ralph keeps things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// The user's own configuration.
    pub(crate) config: PathBuf,
    /// Journals, snapshots, logs: outside of every workspace.
    pub(crate) state: PathBuf,
}

/// There is no place to keep anything.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no home directory to keep Ralph's state in\n  set HOME, or RALPH_HOME to an absolute path")]
pub(crate) struct NoHome;

impl Places {
    /// From environment variables: `RALPH_HOME`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME` and `HOME`.
    ///
    /// # Errors
    /// When none of them is an absolute path.
    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
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
    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The user's own skills.
    pub(crate) fn skills(&self) -> PathBuf {
        self.config.join("skills")
    }

    /// The database of journals, budget and approvals.
    pub(crate) fn database(&self) -> PathBuf {
        self.state.join("ralph.db")
    }
}

/// A path as a word of a shell's command line.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
