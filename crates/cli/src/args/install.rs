//! The arguments of `ralph install` and `ralph uninstall`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph install claude
  ralph install opencode --scope project --dry-run
  ralph uninstall claude --yes")]
pub(crate) struct InstallArgs {
    /// The program
    #[arg(value_name = "CLIENT")]
    pub(crate) client: ClientWord,

    /// For you in every project, or for everybody who works on this one
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeWord,

    /// The project, for --scope project [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Show what would change and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Change it without asking; required without a terminal
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A program that Ralph can be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientWord {
    /// Claude Code: the command /ralph, hooks and the MCP server
    Claude,
    /// OpenCode: the command /ralph and the MCP server
    Opencode,
    /// Codex: the prompt /ralph and the MCP server
    Codex,
    /// Gemini CLI: the command /ralph and the MCP server
    Gemini,
}

/// For whom it is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeWord {
    /// Your own settings
    User,
    /// The settings in the project
    Project,
}
