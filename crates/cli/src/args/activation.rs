//! The arguments of `ralph do`.

use clap::Args;

use super::RunArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph do \"fix the crash in the CSV export\"
  ralph do \"add dark mode to the settings page\" --dry-run --json
  ralph do \"improve the parser\" --persist --max 5 --max-cost 2 \\
      --criteria \"cargo test\"")]
pub(crate) struct DoArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Show the decision and start nothing
    #[arg(long, help_heading = "Decision")]
    pub(crate) dry_run: bool,

    /// Run a loop whatever the decision is
    #[arg(long, conflicts_with = "no_ralph", help_heading = "Decision")]
    pub(crate) persist: bool,

    /// Run the agent once whatever the decision is
    #[arg(long, help_heading = "Decision")]
    pub(crate) no_ralph: bool,
}
