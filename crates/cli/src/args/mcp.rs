//! The arguments of `ralph mcp`.

use clap::Args;

use super::ConnectionArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  claude mcp add ralph -- ralph mcp
  codex mcp add ralph -- ralph mcp
  gemini mcp add ralph ralph mcp
  ralph mcp --server http://127.0.0.1:3013")]
pub(crate) struct McpArgs {
    /// Which server.
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}
