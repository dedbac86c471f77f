//! The arguments of the commands that show and control loops.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueHint};
use jiff::civil::Date;
use ralph_model::{Millis, Money};
use ralph_view::RunStatus;

use super::ScreenArgs;
use super::run::{Word, count, tokens, within, word_of};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph resume
  ralph resume 9a8057b3 --max 20 --max-cost 8
  ralph resume --answer \"The key is in .env.example\"
  ralph resume --agent codex:gpt-6-sol")]
pub(crate) struct ResumeArgs {
    /// The loop: its id or the start of it [default: the newest unfinished loop of this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// New limit on agent runs, counted from the start of the loop
    #[arg(long = "max", value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) max_iterations: Option<u32>,

    /// New limit on cost in US dollars, counted from the start of the loop
    #[arg(long = "max-cost", value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<Money>,

    /// New limit on tokens, counted from the start of the loop
    #[arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u64>,

    /// New limit on the duration, such as 3h, counted from the start of the loop; time between runs does not count
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    pub(crate) max_duration: Option<Millis>,

    /// Agents that take over when a service is unavailable for longer than --max-wait
    #[arg(long, value_name = "NAME[:MODEL]", value_delimiter = ',')]
    pub(crate) failover: Vec<String>,

    /// Do not count the cost of the agent
    #[arg(long)]
    pub(crate) unmetered: bool,

    /// Permit an agent that shows its cost only after a run: the cost limit is checked between runs
    #[arg(long)]
    pub(crate) cost_after_run: bool,

    /// Continue with another agent; repeatable: several take turns as at the start
    #[arg(long, value_name = "NAME[:MODEL]", conflicts_with = "agent_command")]
    pub(crate) agent: Vec<String>,

    /// Continue with this command as the agent: it reads the prompt on standard input
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub(crate) agent_command: Option<String>,

    /// Continue with another model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Answer an agent that is blocked, or tell it something else: its next prompts contain the text
    #[arg(long, visible_alias = "tell", value_name = "TEXT")]
    pub(crate) answer: Option<String>,

    /// Discard every journal entry after this number and continue from there, if the journal is damaged
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) discard_after: Option<u64>,

    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
}

impl ResumeArgs {
    /// Whether something is to change that only a loop has: anything but `--max` and `--max-cost`.
    pub(crate) fn changes_a_loop(&self) -> bool {
        self.max_tokens.is_some()
            || self.max_duration.is_some()
            || !self.failover.is_empty()
            || self.unmetered
            || self.cost_after_run
            || self.discard_after.is_some()
            || self.model.is_some()
            || !self.agent.is_empty()
            || self.agent_command.is_some()
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph list
  ralph list --all --status aborted --limit 5 --json")]
pub(crate) struct ListArgs {
    /// List the loops of every workspace, not only this one
    #[arg(long)]
    pub(crate) all: bool,

    /// List only loops in this state
    #[arg(long, value_name = "STATUS", value_parser = word_of(STATUSES))]
    pub(crate) status: Option<RunStatus>,

    /// Maximum number of loops
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = within(1..=u32::MAX))]
    pub(crate) limit: u32,

    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only short ids and what they are about, with a tab between: for shell completions
    #[arg(long, hide = true)]
    pub(crate) ids: bool,
}

const STATUSES: &[Word<RunStatus>] = &[
    ("running", "Running now", RunStatus::Running),
    ("interrupted", "Marked as running, but its process is gone", RunStatus::Interrupted),
    ("waiting", "A crew that waits for an answer or an approval", RunStatus::Waiting),
    ("completed", "Completed", RunStatus::Completed),
    ("aborted", "Ended by a limit or cancelled", RunStatus::Aborted),
    ("error", "Ended with an error", RunStatus::Error),
];

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph show
  ralph show 9a80
  ralph show 9a8057b3 --prompt 2")]
pub(crate) struct ShowArgs {
    /// The loop: its id or the start of it [default: the newest of this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// Print only the prompt of this iteration
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "json")]
    pub(crate) prompt: Option<u32>,

    /// List the requests of its agents to their model services that passed Ralph's gateway
    #[arg(long, conflicts_with = "prompt")]
    pub(crate) requests: bool,

    /// Print a JSON object; with --requests, an array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph logs
  ralph logs 2 --check 1
  ralph logs 9a8057b3 2
  ralph logs --follow")]
pub(crate) struct LogsArgs {
    /// The loop: its id or the start of it; up to three digits alone are an iteration [default: the newest of this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// The iteration; 0 is the baseline [default: the newest]
    #[arg(value_name = "N", value_parser = count)]
    pub(crate) iteration: Option<u32>,

    /// Print the output of this check, counted from 1, instead of the agent's
    #[arg(long, value_name = "K", value_parser = within(1..=u32::MAX))]
    pub(crate) check: Option<u32>,

    /// Print every output of the loop in order, and follow it while it runs
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Print the agent's output unchanged, even if it is JSON
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph diff
  ralph diff 9a8057b3 2 | git apply --reverse")]
pub(crate) struct DiffArgs {
    /// The loop: its id or the start of it; up to three digits alone are an iteration [default: the newest of this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// Print only the changes of this iteration
    #[arg(value_name = "N", value_parser = count)]
    pub(crate) iteration: Option<u32>,
}

/// The loop and the iteration that are meant by the words of `ralph logs` and `ralph diff`: `2` alone is an iteration of the
/// newest loop.
pub(crate) fn loop_and_iteration(loop_name: Option<&str>, iteration: Option<u32>) -> (Option<&str>, Option<u32>) {
    match (loop_name, iteration) {
        (Some(number), None) if number.len() <= 3 && number.parse::<u32>().is_ok() => (None, number.parse().ok()),
        given => given,
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rewind --to start
  ralph rewind 9a8057b3 --to 2
  ralph rewind 9a8057b3 --to undo")]
pub(crate) struct RewindArgs {
    /// The loop: its id or the start of it [default: the newest of this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// The state to restore: after iteration N, `start` for before the loop, `undo` for before the last rewind (again:
    /// before the one before it), `redo` for before the last undo
    #[arg(long, value_name = "N|start|undo|redo")]
    pub(crate) to: RewindTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RewindTarget {
    /// Before the loop.
    Start,
    /// Before the last rewind that was not undone.
    Undo,
    /// Before the last undo that was not redone.
    Redo,
    /// After this iteration.
    Iteration(u32),
}

impl FromStr for RewindTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "start" => Ok(Self::Start),
            "undo" => Ok(Self::Undo),
            "redo" => Ok(Self::Redo),
            number => match number.parse() {
                Ok(0) => Err("iterations are counted from 1; use `start` for the state before the first".to_owned()),
                Ok(iteration) => Ok(Self::Iteration(iteration)),
                Err(_) => Err("expected an iteration number, `start`, `undo` or `redo`".to_owned()),
            },
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph stop
  ralph stop 9a8057b3 --now")]
pub(crate) struct StopArgs {
    /// The loop: its id or the start of it [default: the newest that runs in this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// Stop the running agent at once instead of after the iteration
    #[arg(long)]
    pub(crate) now: bool,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph attach
  ralph attach 9a80")]
pub(crate) struct AttachArgs {
    /// The loop: its id or the start of it [default: the newest that runs in this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
}

#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = "Examples:
  ralph tell \"The tests need the fixture in tests/data\"
  ralph tell 9a80 \"Do not change the parser\""
)]
pub(crate) struct TellArgs {
    /// The loop: its id or the start of it [default: the newest that runs in this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// What the agent should know; its next prompts contain it
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: String,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph report
  ralph report --since 2026-11-01 --json")]
pub(crate) struct ReportArgs {
    /// Last UTC day of the report, which also names it [default: today]
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) date: Option<Date>,

    /// First UTC day of the report [default: 29 days before the last one; with --date that day itself]
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) since: Option<Date>,

    /// The metrics file to read [default: that of the workspace]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) metrics: Option<PathBuf>,

    /// Print the figures as a JSON object and write no file
    #[arg(long)]
    pub(crate) json: bool,
}

fn day(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "expected a date, such as 2026-11-15".to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph verify-run 9a8057b3 --json")]
pub(crate) struct VerifyRunArgs {
    /// The loop: its id or the start of it [default: the newest of this workspace]
    #[arg(value_name = "LOOP")]
    pub(crate) loop_name: Option<String>,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
