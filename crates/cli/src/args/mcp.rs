//! The arguments of `ralph mcp`.

use clap::Args;

use super::ConnectionArgs;

/// The arguments of `ralph mcp`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  claude mcp add ralph -- ralph mcp
  codex mcp add ralph -- ralph mcp
  gemini mcp add ralph ralph mcp")]
pub(crate) struct McpArgs {
    /// Which server.
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}
