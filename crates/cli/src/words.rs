//! The words that people type, as types. Says what can be said; reads no file, no environment and does nothing.
//!
//! Only what works is listed: a word that is not in these types is an error with exit code 2, never a silent no-op.

mod history;
mod run;
mod setup;

use clap::{Parser, Subcommand};

pub(crate) use history::{
    DiffWords, ListWords, LogsWords, ReportWords, ResumeWords, RewindTarget, RewindWords, ShowWords, StatusWord,
    StopWords, VerifyRunWords,
};
pub(crate) use run::{RunWords, ScreenWords};
pub(crate) use setup::{
    AgentsWords, CompletionsTarget, CompletionsWords, DemoWords, DoctorWords, InitWords, TrustAction, TrustWords,
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
pub(crate) struct Words {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a loop: run an agent again and again until the checks pass or a limit is hit
    Run(Box<RunWords>),
    /// Go on with a loop that was interrupted or that hit a limit
    Resume(ResumeWords),
    /// List loops, newest first
    List(ListWords),
    /// Show one loop: its limits, its iterations and its verdicts
    Show(ShowWords),
    /// Print what the agent or a check printed
    Logs(LogsWords),
    /// Print what a loop, or one iteration of it, changed in the workspace
    Diff(DiffWords),
    /// Put the workspace back to how an iteration left it
    Rewind(RewindWords),
    /// Ask a running loop to stop
    Stop(StopWords),
    /// Summarise finished loops: completion rate, cost, stalls
    Report(ReportWords),
    /// Check a loop's journal offline and say what its verdict rests on
    VerifyRun(VerifyRunWords),
    /// Show and approve what a repository's own configuration asks for
    Trust(TrustWords),
    /// Write a ralph.toml that fits the project
    Init(InitWords),
    /// List the agents that can be used here, how they are called and what is missing
    Agents(AgentsWords),
    /// Check that everything a loop needs is there
    Doctor(DoctorWords),
    /// Watch a complete loop in a throwaway repository, with a scripted agent
    Demo(DemoWords),
    /// Print shell completions or the manual page
    Completions(CompletionsWords),
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
