//! How much of a sandbox a machine can give, in words for people. Tries nothing out.

use std::fmt;
use std::path::PathBuf;

/// What was found to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    pub files: Files,
    pub network: NetworkLevel,
    /// Whether files can be hidden from programs that may not read them.
    pub reads: ReadLevel,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Files {
    /// By mounts that only the tree sees, made by bubblewrap.
    Bubblewrap {
        program: PathBuf,
        /// The version of the kernel's Landlock, which is applied on top.
        landlock: Option<u32>,
    },
    Landlock {
        version: u32,
    },
    /// They are not.
    Open {
        why: String,
    },
}

/// How the network is closed off from programs that are to have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkLevel {
    /// By a network of the tree's own, with a loopback and nothing else.
    Namespace,
    Open {
        why: String,
    },
}

/// Whether files can be hidden from programs that may not read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadLevel {
    /// By mounts that only the tree sees.
    Hidden,
    Open {
        why: String,
    },
}

impl Level {
    /// The level of a machine, or of a user, without any.
    pub fn none(why: &str) -> Self {
        let open = || why.to_owned();
        Self {
            files: Files::Open { why: open() },
            network: NetworkLevel::Open { why: open() },
            reads: ReadLevel::Open { why: open() },
        }
    }

    /// What this level does not cover, a sentence each.
    pub fn gaps(&self) -> Vec<&'static str> {
        let mut gaps = Vec::new();
        match &self.files {
            Files::Open { .. } => gaps.push("agents and checks can write everything that you can"),
            Files::Landlock { .. } => {
                gaps.push("mode, owner, times and extended attributes of files outside the workspace can be changed");
            }
            Files::Bubblewrap { .. } => {}
        }
        if matches!(self.reads, ReadLevel::Open { .. }) {
            gaps.push("hidden files (--hide) can be read");
        }
        if matches!(self.network, NetworkLevel::Open { .. }) {
            gaps.push("checks have the network, and --agent-network model is not enforced");
        }
        match &self.files {
            Files::Landlock { version } | Files::Bubblewrap { landlock: Some(version), .. } if *version >= 6 => {}
            _ => gaps.push("signals and abstract sockets reach processes outside"),
        }
        gaps.push("sockets that are files (docker.sock, an ssh agent) can be connected to");
        gaps
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.files, &self.network) {
            (Files::Open { why }, NetworkLevel::Open { .. }) => write!(f, "none: {why}"),
            (files, network) => write!(f, "{files}{}, {network}", self.reads),
        }
    }
}

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bubblewrap { landlock: Some(version), .. } => write!(f, "bubblewrap + landlock v{version} (files)"),
            Self::Bubblewrap { landlock: None, .. } => f.write_str("bubblewrap (files)"),
            Self::Landlock { version } => write!(f, "landlock v{version} (files)"),
            Self::Open { why } => write!(f, "files open ({why})"),
        }
    }
}

impl fmt::Display for ReadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hidden => Ok(()),
            Self::Open { .. } => f.write_str(", hidden files readable"),
        }
    }
}

impl fmt::Display for NetworkLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace => f.write_str("network namespace (checks)"),
            Self::Open { .. } => f.write_str("network open"),
        }
    }
}

#[cfg(test)]
#[path = "level_tests.rs"]
mod tests;
