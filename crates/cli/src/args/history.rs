//! The words of the commands that look at loops and steer them.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use jiff::civil::Date;
use ralph_model::Money;

use super::ScreenArgs;
use super::run::count;

/// The words of `ralph resume`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph resume
  ralph resume 9a8057b3 --max 20 --max-cost 8
  ralph resume --agent codex:gpt-6-sol")]
pub(crate) struct ResumeArgs {
    /// The loop, by its id or by four or more characters from either end; without it, the newest unfinished one of
    /// this workspace
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// A new limit of agent runs, counted from the loop's start
    #[arg(long = "max", value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) max_iterations: Option<u32>,

    /// A new limit of money in US dollars, counted from the loop's start
    #[arg(long = "max-cost", value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<Money>,

    /// The agent costs nothing that Ralph has to count
    #[arg(long)]
    pub(crate) unmetered: bool,

    /// Go on with another agent; with several, in turns as at the start
    #[arg(long, value_name = "NAME[:MODEL]")]
    pub(crate) agent: Vec<String>,

    /// Go on with another model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Set aside every journal entry after this number and go on from there, when the journal is broken
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) discard_after: Option<u64>,

    /// How it is shown.
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
}

/// The words of `ralph list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph list
  ralph list --all --status aborted --limit 5 --json")]
pub(crate) struct ListArgs {
    /// Loops of every workspace, not only of this one
    #[arg(long)]
    pub(crate) all: bool,

    /// Only loops in this state
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<StatusWord>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,

    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

/// The state of a loop, as people ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusWord {
    /// Working now
    Running,
    /// Marked as running, but its process is gone
    Interrupted,
    /// Done
    Completed,
    /// Ended by a limit or by somebody
    Aborted,
    /// Ended because Ralph itself failed
    Error,
}

/// The words of `ralph show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph show 9a8057b3
  ralph show 9a8057b3 --prompt 2")]
pub(crate) struct ShowArgs {
    /// The loop, by its id or by four or more characters from either end
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: String,

    /// Print the prompt of this iteration instead
    #[arg(long, value_name = "N", conflicts_with = "json")]
    pub(crate) prompt: Option<u32>,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The words of `ralph logs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph logs 9a8057b3
  ralph logs 9a8057b3 2 --check 1
  ralph logs 9a8057b3 --follow")]
pub(crate) struct LogsArgs {
    /// The loop, by its id or by four or more characters from either end
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: String,

    /// The iteration; 0 is the baseline; without it, the newest
    #[arg(value_name = "N")]
    pub(crate) iteration: Option<u32>,

    /// The output of this check, counted from 1, instead of the agent's
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) check: Option<u32>,

    /// Print every output of the loop in order, and go on while it runs
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Print the agent's own lines as they came, also where they are JSON
    #[arg(long)]
    pub(crate) raw: bool,
}

/// The words of `ralph diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph diff 9a8057b3
  ralph diff 9a8057b3 2 | git apply --reverse")]
pub(crate) struct DiffArgs {
    /// The loop, by its id or by four or more characters from either end
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: String,

    /// Only what this iteration changed
    #[arg(value_name = "N")]
    pub(crate) iteration: Option<u32>,
}

/// The words of `ralph rewind`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rewind 9a8057b3 --to start
  ralph rewind 9a8057b3 --to 2
  ralph rewind 9a8057b3 --to undo")]
pub(crate) struct RewindArgs {
    /// The loop, by its id or by four or more characters from either end
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: String,

    /// The iteration whose end state comes back, `start` for the state before the loop, `undo` for the state before
    /// the last rewind
    #[arg(long, value_name = "N|start|undo")]
    pub(crate) to: RewindTarget,
}

/// The state that a rewind brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RewindTarget {
    /// Before the loop.
    Start,
    /// Before the last rewind.
    Undo,
    /// After this iteration.
    Iteration(u32),
}

impl FromStr for RewindTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "start" => Ok(Self::Start),
            "undo" => Ok(Self::Undo),
            number => match number.parse() {
                Ok(0) => Err("iterations are counted from 1; the state before the first is `start`".to_owned()),
                Ok(iteration) => Ok(Self::Iteration(iteration)),
                Err(_) => Err("expected the number of an iteration, `start` or `undo`".to_owned()),
            },
        }
    }
}

/// The words of `ralph stop`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph stop 9a8057b3
  ralph stop 9a8057b3 --now")]
pub(crate) struct StopArgs {
    /// The loop, by its id or by four or more characters from either end
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: String,

    /// End the running agent at once instead of after its iteration
    #[arg(long)]
    pub(crate) now: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The words of `ralph report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph report
  ralph report --since 2026-11-01 --json")]
pub(crate) struct ReportArgs {
    /// The UTC day that the report is named after and that it ends with [default: today]
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) date: Option<Date>,

    /// The first UTC day that counts [default: the day of the report]
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) since: Option<Date>,

    /// The metrics file to read [default: the workspace's own]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) metrics: Option<PathBuf>,

    /// Print the figures as a JSON object and write no file
    #[arg(long)]
    pub(crate) json: bool,
}

fn day(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "write a day of the calendar like 2026-11-15".to_owned())
}

/// The words of `ralph verify-run`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph verify-run 9a8057b3 --json")]
pub(crate) struct VerifyRunArgs {
    /// The loop, by its id or by four or more characters from either end
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: String,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
