//! The arguments of `ralph install` and `ralph uninstall`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use ralph_install::{Client, Scope};

use super::run::{Word, word_of};

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// The program
    #[arg(value_name = "CLIENT", value_parser = word_of(CLIENTS))]
    pub(crate) client: Client,

    /// For you in every project, or for everybody who works on this one
    #[arg(long, value_name = "SCOPE", default_value = "user", value_parser = word_of(SCOPES))]
    pub(crate) scope: Scope,

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

const CLIENTS: &[Word<Client>] = &[
    ("claude", "Claude Code: the command /ralph, hooks and the MCP server", Client::Claude),
    ("opencode", "OpenCode: the command /ralph and the MCP server", Client::Opencode),
    ("codex", "Codex: the prompt /ralph and the MCP server", Client::Codex),
    ("gemini", "Gemini CLI: the command /ralph and the MCP server", Client::Gemini),
];
const SCOPES: &[Word<Scope>] =
    &[("user", "Your own settings", Scope::User), ("project", "The settings in the project", Scope::Project)];
