//! The words of `ralph run`. A value that is not given here is looked for in the configuration files, so that hardly
//! anything has a default at this place.

use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use ralph_agents::Kind;
use ralph_model::{Expectation, Keep, Millis, Money, OnBlocked, Sandboxing, Verify};

/// The words of `ralph run`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "Examples:
  ralph run \"Fix tests in src/utils\" --max 10 --max-cost 5 \\
      --criteria \"npm test src/utils\"
  ralph run --objective-file TASK.md --max 20 --max-cost 8 \\
      --agent claude:haiku --agent claude:opus --escalate-after 2 --worktree
  git diff | ralph run - --max 5 --max-cost 2 --criteria \"cargo test\" \\
      --agent-command ./my-agent --unmetered --json")]
pub(crate) struct RunArgs {
    /// What the agent has to achieve, in words; `-` reads it from standard input
    #[arg(value_name = "OBJECTIVE", required_unless_present = "objective_file", conflicts_with = "objective_file")]
    pub(crate) objective: Option<String>,

    /// Read the objective from a file, byte for byte
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) objective_file: Option<PathBuf>,

    /// At most this many agent runs; required here or in a configuration file
    #[arg(long = "max", value_name = "N", value_parser = count, allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) max_iterations: Option<u32>,

    /// At most this much money in US dollars; required here or in a configuration file
    #[arg(long = "max-cost", value_name = "USD", allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) max_cost: Option<Money>,

    /// At most this much time for the whole loop, such as 2h
    #[arg(long, allow_negative_numbers = true, value_name = "SPAN", help_heading = "Limits")]
    pub(crate) max_duration: Option<Millis>,

    /// At most this much time for one agent run [default: 30m]
    #[arg(long, allow_negative_numbers = true, value_name = "SPAN", help_heading = "Limits")]
    pub(crate) iteration_timeout: Option<Millis>,

    /// At most this much time for one check [default: 10m]
    #[arg(long = "verify-timeout", allow_negative_numbers = true, value_name = "SPAN", help_heading = "Limits")]
    pub(crate) verification_timeout: Option<Millis>,

    /// End a process that neither prints nor works for this long; 0 never does [default: 10m]
    #[arg(long, allow_negative_numbers = true, value_name = "SPAN", help_heading = "Limits")]
    pub(crate) idle_timeout: Option<Millis>,

    /// At most this much time to wait for a service that refuses for now, at once; 0 never waits [default: 24h]
    #[arg(long, allow_negative_numbers = true, value_name = "SPAN", help_heading = "Limits")]
    pub(crate) max_wait: Option<Millis>,

    /// Iterations without progress that make a stall [default: 5]
    #[arg(long = "stall", allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Limits")]
    pub(crate) stall_threshold: Option<u32>,

    /// Equal failures in a row that end the loop [default: 5]
    #[arg(long = "same-error", allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Limits")]
    pub(crate) same_error_threshold: Option<u32>,

    /// A command that fails until the work is done; may be repeated, all of them have to pass
    #[arg(long = "criteria", visible_alias = "verification-command", value_name = "CMD", help_heading = "Checks")]
    pub(crate) criteria: Vec<String>,

    /// Something that has to be observable: tool:NAME, commit, file:GLOB, command:CMD or clean-tree; may be repeated
    #[arg(long = "expect", value_name = "EXPECTATION", help_heading = "Checks")]
    pub(crate) expects: Vec<Expectation>,

    /// Report files of the test runner (JUnit XML), relative to the workspace; may be repeated
    #[arg(long, value_name = "GLOB", help_heading = "Checks")]
    pub(crate) junit: Vec<String>,

    /// What the agent prints when it is done; when given, passing checks alone do not complete the loop
    #[arg(long, value_name = "TEXT", help_heading = "Checks")]
    pub(crate) promise: Option<String>,

    #[arg(long, help = agent_help(), value_name = "NAME", conflicts_with = "agent_command", help_heading = "Agent")]
    pub(crate) agent: Vec<String>,

    /// The model that the agent is asked to use
    #[arg(long, value_name = "MODEL", help_heading = "Agent")]
    pub(crate) model: Option<String>,

    /// Arguments that the agent's program gets besides, quoted as in a shell; may be repeated
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true, help_heading = "Agent")]
    pub(crate) agent_args: Vec<String>,

    /// Of several agents, go on with the next one after this many failed iterations [default: 2]
    #[arg(long, allow_negative_numbers = true, value_name = "K", value_parser = count, conflicts_with = "rotate", help_heading = "Agent")]
    pub(crate) escalate_after: Option<u32>,

    /// Of several agents, take another one each iteration
    #[arg(long, help_heading = "Agent")]
    pub(crate) rotate: bool,

    /// Run this many candidates at once, each in a git worktree of its own, under one budget; the first that verifies wins
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Agent")]
    pub(crate) race: Option<u32>,

    /// A program that reads its prompt from standard input, or from the file that {prompt_file} stands for
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString, help_heading = "Agent")]
    pub(crate) agent_command: Option<String>,

    /// The agent costs nothing that Ralph has to count
    #[arg(long, help_heading = "Agent")]
    pub(crate) unmetered: bool,

    /// Instructions that go with the objective: tdd, systematic-debugging, code-cleanup or one of your own
    #[arg(long, value_name = "NAME", help_heading = "Agent")]
    pub(crate) skill: Option<String>,

    /// On the first stall go on with the systematic-debugging skill
    #[arg(long, help_heading = "Agent")]
    pub(crate) deep_debug: bool,

    /// Give every prompt as the objective alone, without what happened before
    #[arg(long, help_heading = "Agent")]
    pub(crate) no_context: bool,

    /// What an agent's `<blocked>` does [default: stop]
    #[arg(long, value_name = "HOW", value_parser = on_blocked(), help_heading = "Agent")]
    pub(crate) on_blocked: Option<OnBlocked>,

    /// An environment variable that agent and checks get besides the usual ones, a secret only the agent; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Agent")]
    pub(crate) env: Vec<String>,

    /// The rest between two iterations, in milliseconds or as a span [default: 500]
    #[arg(long, allow_negative_numbers = true, value_name = "MS", value_parser = pause, help_heading = "Agent")]
    pub(crate) pause: Option<Millis>,

    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Workspace")]
    pub(crate) workspace: Option<PathBuf>,

    /// Work in a git worktree on a branch of its own
    #[arg(long, help_heading = "Workspace")]
    pub(crate) worktree: bool,

    /// Commit verified work on the current branch, as one commit
    #[arg(long, help_heading = "Workspace")]
    pub(crate) commit: bool,

    /// Paths that the agent may not change, besides the configured ones; `!GLOB` allows again; may be repeated
    #[arg(long = "prohibit", value_name = "GLOB", help_heading = "Workspace")]
    pub(crate) prohibit: Vec<String>,

    /// Paths that the checks depend on, besides those that are detected; may be repeated
    #[arg(long = "protect", value_name = "GLOB", help_heading = "Checks")]
    pub(crate) protect: Vec<String>,

    /// Files that the checks depend on and that the agent may change all the same; may be repeated
    #[arg(long = "allow-test-change", value_name = "GLOB", help_heading = "Checks")]
    pub(crate) allow_test_change: Vec<String>,

    /// Where the checks run: in the workspace with protected files put back, or in a folder of their own that the agent
    /// cannot write [default: guarded]
    #[arg(long, value_name = "WHERE", value_parser = verify(), help_heading = "Checks")]
    pub(crate) verify: Option<Verify>,

    /// A command that prepares the folder of isolated checks, the first time and when a lock file changed; may be repeated
    #[arg(long, value_name = "CMD", help_heading = "Checks")]
    pub(crate) setup: Vec<String>,

    /// Run a failing check again, up to N times, to tell a flake from a failure [default: 0]
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Checks")]
    pub(crate) retries: Option<u32>,

    /// Do not plant failing tests to see whether the checks can still fail
    #[arg(long, help_heading = "Checks")]
    pub(crate) no_tripwire: bool,

    /// Keep agent and checks inside a sandbox: `on` as far as this machine can, `require` or not at all [default: on]
    #[arg(long, value_name = "HOW", value_parser = sandbox(), help_heading = "Sandbox")]
    pub(crate) sandbox: Option<Sandboxing>,

    /// A path that agent and checks may write besides the usual ones; may be repeated
    #[arg(long = "allow-write", value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = "Sandbox")]
    pub(crate) allow_write: Vec<String>,

    /// Let the checks use the network
    #[arg(long, help_heading = "Sandbox")]
    pub(crate) allow_network: bool,

    /// Say what would be run, what the verdict would rest on and what is kept out, and start nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) explain: bool,

    /// Which state the workspace keeps when the loop ends without success [default: last]
    #[arg(long, value_name = "WHICH", value_parser = keep(), help_heading = "Workspace")]
    pub(crate) keep: Option<Keep>,

    /// Undo an iteration that made things worse
    #[arg(long, help_heading = "Workspace")]
    pub(crate) ratchet: bool,

    /// How it is shown.
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
}

/// How a running loop is shown.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ScreenArgs {
    /// Print the result as one JSON object on standard output; everything else goes to standard error
    #[arg(long)]
    pub(crate) json: bool,

    /// Show nothing while the loop runs, only its result
    #[arg(long, conflicts_with = "plain")]
    pub(crate) quiet: bool,

    /// Show plain lines instead of the live view
    #[arg(long)]
    pub(crate) plain: bool,
}

fn agent_help() -> String {
    let names: Vec<&str> = Kind::ready_made().map(|kind| kind.name).collect();
    format!(
        "The agent to run: {} or a name from a configuration file, with a model as NAME:MODEL; may be repeated, see \
         --escalate-after [default: the first that is installed]",
        names.join(", ")
    )
}

/// How many of something: what a person mistypes is said in a person's words.
pub(super) fn count(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("that is too many: at most {}", u32::MAX),
        _ => "expected a whole number, such as 3".to_owned(),
    })
}

/// A bare number counts milliseconds, because that is what `pauseMs` is called after.
fn pause(text: &str) -> Result<Millis, String> {
    match text.trim().parse::<u64>() {
        Ok(millis) => Ok(Millis(millis)),
        Err(_) => text.parse::<Millis>().map_err(|error| error.to_string()),
    }
}

fn keep() -> impl TypedValueParser<Value = Keep> {
    PossibleValuesParser::new(["last", "best"]).map(|word| if word == "best" { Keep::Best } else { Keep::Last })
}

fn on_blocked() -> impl TypedValueParser<Value = OnBlocked> {
    PossibleValuesParser::new(["stop", "continue"])
        .map(|word| if word == "continue" { OnBlocked::Continue } else { OnBlocked::Stop })
}

fn verify() -> impl TypedValueParser<Value = Verify> {
    PossibleValuesParser::new(["guarded", "isolated"])
        .map(|word| if word == "isolated" { Verify::Isolated } else { Verify::Guarded })
}

fn sandbox() -> impl TypedValueParser<Value = Sandboxing> {
    PossibleValuesParser::new(["off", "on", "require"]).map(|word| match word.as_str() {
        "off" => Sandboxing::Off,
        "require" => Sandboxing::Require,
        _ => Sandboxing::On,
    })
}
