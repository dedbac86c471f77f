//! The arguments of `ralph mcp`.

use clap::Args;

use super::ConnectionArgs;

/// The arguments of `ralph mcp`.
#[derive(Debug, Args)]
#[command(
    after_help = "An agent starts this program itself and speaks the Model Context Protocol with it. Loops work in the current
folder, with your configuration; what a repository's ralph.toml needs approval for is refused until `ralph trust` has
approved it. The tools for tasks need a server: --server and --token, or RALPH_SERVER and RALPH_TOKEN.

Examples:
  claude mcp add ralph -- ralph mcp
  codex mcp add ralph -- ralph mcp
  gemini mcp add ralph ralph mcp"
)]
pub(crate) struct McpArgs {
    /// Which server.
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}
