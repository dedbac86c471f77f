//! The words that people type, as types. Says what can be said; reads no file, no environment and does nothing.
//!
//! Only what works is listed: a word that is not in these types is an error with exit code 2, never a silent no-op.

mod history;
mod layer;
mod run;
mod setup;

use clap::{Parser, Subcommand};

pub(crate) use history::{
    DiffArgs, ListArgs, LogsArgs, ReportArgs, ResumeArgs, RewindArgs, RewindTarget, ShowArgs, StatusWord, StopArgs,
    VerifyRunArgs,
};
pub(crate) use run::{RunArgs, ScreenArgs};
pub(crate) use setup::{
    AgentsArgs, CompletionsArgs, CompletionsTarget, DemoArgs, DoctorArgs, InitArgs, TrustAction, TrustArgs,
};

/// Makes coding agents finish: verifies from outside, feeds the failure back, and goes on until it is fixed.
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "Examples:
  ralph demo
  ralph init
  ralph run \"Fix the failing tests\" --max 10 --max-cost 5 \\
      --criteria \"npm test\" --agent claude

Exit codes of `run` and `resume`:
  0 completed, 1 error, 2 usage or configuration, 10 MAX_ITERATIONS,
  11 COST_LIMIT, 12 DAILY_BUDGET, 13 MAX_DURATION, 14 STALL, 15 SAME_ERROR_5X,
  16 PROHIBITED_PATH, 17 TAMPERED, 18 BLOCKED, 19 CANCELLED,
  130 cancelled from the keyboard"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a loop: run an agent again and again until the checks pass or a limit is hit
    Run(Box<RunArgs>),
    /// Go on with a loop that was interrupted or that hit a limit
    Resume(ResumeArgs),
    /// List loops, newest first
    List(ListArgs),
    /// Show one loop: its limits, its iterations and its verdicts
    Show(ShowArgs),
    /// Print what the agent or a check printed
    Logs(LogsArgs),
    /// Print what a loop, or one iteration of it, changed in the workspace
    Diff(DiffArgs),
    /// Put the workspace back to how an iteration left it
    Rewind(RewindArgs),
    /// Ask a running loop to stop
    Stop(StopArgs),
    /// Summarise finished loops: completion rate, cost, stalls
    Report(ReportArgs),
    /// Check a loop's journal offline and say what its verdict rests on
    VerifyRun(VerifyRunArgs),
    /// Show and approve what a repository's own configuration asks for
    Trust(TrustArgs),
    /// Write a ralph.toml that fits the project
    Init(InitArgs),
    /// List the agents that can be used here, how they are called and what is missing
    Agents(AgentsArgs),
    /// Check that everything a loop needs is there
    Doctor(DoctorArgs),
    /// Watch a complete loop in a throwaway repository, with a scripted agent
    Demo(DemoArgs),
    /// Print shell completions or the manual page
    Completions(CompletionsArgs),
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
