//! The arguments of the commands that prepare a machine or a repository.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use ralph_model::Millis;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph trust
  ralph trust path/to/repository --yes
  ralph trust --list
  ralph trust --revoke 3f1c9a")]
pub(crate) struct TrustArgs {
    /// The workspace that contains the ralph.toml and skills [default: the current folder]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,

    /// Approve without asking; required without a terminal
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    pub(crate) yes: bool,

    /// List approvals
    #[arg(long, conflicts_with_all = ["revoke", "directory"])]
    pub(crate) list: bool,

    /// Revoke an approval, by the start of its hash
    #[arg(long, value_name = "HASH", conflicts_with = "directory")]
    pub(crate) revoke: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph init
  ralph init --print")]
pub(crate) struct InitArgs {
    /// The workspace [default: the current folder]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,

    /// Overwrite an existing ralph.toml
    #[arg(long, conflicts_with = "print")]
    pub(crate) force: bool,

    /// Print the file instead of writing it
    #[arg(long, conflicts_with = "json")]
    pub(crate) print: bool,

    /// Print the JSON schema of ralph.toml, which editors complete and check it with
    #[arg(long, conflicts_with_all = ["json", "print", "force"])]
    pub(crate) schema: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph agents
  ralph agents --prices")]
pub(crate) struct AgentsArgs {
    /// List the token prices of each model instead
    #[arg(long)]
    pub(crate) prices: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph config
  ralph config --json")]
pub(crate) struct ConfigArgs {
    /// The workspace [default: the current folder]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,

    /// Also list keys that are not set and have no default
    #[arg(long)]
    pub(crate) all: bool,

    /// Print the JSON schema of your own configuration file, which editors complete and check it with
    #[arg(long, conflicts_with_all = ["all", "json"])]
    pub(crate) schema: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph prune
  ralph prune --older-than 14d --yes")]
pub(crate) struct PruneArgs {
    /// The age of runs to remove, such as 30d; at least 1d
    #[arg(long, value_name = "DURATION", default_value = "30d")]
    pub(crate) older_than: Millis,

    /// Remove them; without this, only show what would be removed
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph demo --keep")]
pub(crate) struct DemoArgs {
    /// Keep the throwaway repository and print its path
    #[arg(long)]
    pub(crate) keep: bool,

    /// Show plain lines instead of the live view
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph completions bash > ~/.local/share/bash-completion/completions/ralph
  ralph completions man > ~/.local/share/man/man1/ralph.1")]
pub(crate) struct CompletionsArgs {
    /// The shell, or `man` for the manual page
    #[arg(value_name = "SHELL")]
    pub(crate) target: CompletionsTarget,
}

/// What can be generated from the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletionsTarget {
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
    /// Completions for Elvish
    Elvish,
    /// Completions for PowerShell
    #[value(name = "powershell")]
    PowerShell,
    /// The manual page, as roff
    Man,
}
