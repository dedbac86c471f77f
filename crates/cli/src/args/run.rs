//! The arguments of `ralph run`. A value that is not given here comes from the configuration files, so hardly anything
//! has a default in clap.

use std::num::{IntErrorKind, ParseIntError};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, ValueHint};
use ralph_agents::Kind;
use ralph_config::{Key, ValueKind};
use ralph_model::{Expectation, Grade, Keep, MeterMode, Millis, Money, OnBlocked, Sandboxing, Verify};
use serde::de::value::{Error as ValueError, StringDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer as _};

use super::AccessArgs;

#[derive(Debug, Clone, Default, Args)]
#[command(mut_args = only_in_long_help, after_help = "Examples:
  ralph run \"Fix tests in src/utils\" --max 10 --max-cost 5 \\
      --criteria \"npm test src/utils\"
  ralph run --objective-file TASK.md --max 20 --max-cost 8 \\
      --agent claude:haiku --agent claude:opus --escalate-after 2 --worktree
  git diff | ralph run - --max 5 --max-cost 2 --criteria \"cargo test\" \\
      --agent-command ./my-agent --unmetered --json")]
pub(crate) struct RunArgs {
    /// What the agent should achieve; `-` reads it from standard input
    #[arg(value_name = "OBJECTIVE", required_unless_present = "objective_file", conflicts_with = "objective_file")]
    pub(crate) objective: Option<String>,

    /// Maximum number of agent runs; `ralph run` requires it, here or in a configuration file
    #[arg(long = "max", alias = "max-iterations", value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) max_iterations: Option<u32>,

    /// Maximum cost in US dollars; `ralph run` requires it, here or in a configuration file
    #[arg(long = "max-cost", alias = "max-cost-usd", value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<Money>,

    /// Command that passes only when the work is done; repeatable, all must pass
    #[arg(long = "criteria", visible_alias = "verification-command", value_name = "CMD")]
    pub(crate) criteria: Vec<String>,

    #[arg(long, help = agent_help(), value_name = "NAME", conflicts_with = "agent_command")]
    pub(crate) agent: Vec<String>,

    /// Command to run as the agent; it reads the prompt from standard input, or from the file {prompt_file}
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub(crate) agent_command: Option<String>,

    /// Do not count the cost of the agent
    #[arg(long)]
    pub(crate) unmetered: bool,

    /// Maximum duration of the loop, such as 2h
    #[arg(long, allow_negative_numbers = true, value_name = "DURATION")]
    pub(crate) max_duration: Option<Millis>,

    /// Read the objective from a file, unchanged; while it has open items (`- [ ]`), the loop does not complete
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) objective_file: Option<PathBuf>,

    /// Work in a new git worktree on its own branch
    #[arg(long)]
    pub(crate) worktree: bool,

    /// Commit verified work to the current branch, as one commit
    #[arg(long)]
    pub(crate) commit: bool,

    /// Run in the background and print the loop's id; `ralph attach` watches it
    #[arg(long, help_heading = "Output", hide_short_help = true, conflicts_with_all = ["explain", "events"])]
    pub(crate) detach: bool,

    /// This is the process in the background
    #[arg(long, hide = true)]
    pub(crate) detached: bool,

    /// Maximum number of tokens, read and written, cached ones included; such as 2000000 or 2M
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = tokens, help_heading = "Limits")]
    pub(crate) max_tokens: Option<u64>,

    /// Stop when this percentage of the plan's allowance is used, for agents that report it; checked between runs
    #[arg(long, allow_negative_numbers = true, value_name = "PERCENT", value_parser = percent, help_heading = "Limits")]
    pub(crate) max_window: Option<u32>,

    /// Leave files that take more than this of the disk out of snapshots, such as 100M [default: 1G]
    #[arg(long, allow_negative_numbers = true, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub(crate) max_file_size: Option<u64>,

    /// Maximum duration of one agent run [default: 30m]
    #[arg(long, allow_negative_numbers = true, value_name = "DURATION", help_heading = "Limits")]
    pub(crate) iteration_timeout: Option<Millis>,

    /// Maximum duration of one check [default: 10m]
    #[arg(
        long = "verify-timeout",
        alias = "verification-timeout",
        allow_negative_numbers = true,
        value_name = "DURATION",
        help_heading = "Limits"
    )]
    pub(crate) verification_timeout: Option<Millis>,

    /// Stop a process that is idle for this long; 0 disables it [default: 10m]
    #[arg(long, allow_negative_numbers = true, value_name = "DURATION", help_heading = "Limits")]
    pub(crate) idle_timeout: Option<Millis>,

    /// Longest single wait for a rate-limited service; 0 disables waiting [default: 24h, 10m with --failover]
    #[arg(long, allow_negative_numbers = true, value_name = "DURATION", help_heading = "Limits")]
    pub(crate) max_wait: Option<Millis>,

    /// Number of iterations without progress that count as a stall [default: 5]
    #[arg(long = "stall", alias = "stall-detection-threshold", allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Limits")]
    pub(crate) stall_threshold: Option<u32>,

    /// Number of identical failures in a row that end the loop [default: 5]
    #[arg(long = "same-error", alias = "same-error-threshold", allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Limits")]
    pub(crate) same_error_threshold: Option<u32>,

    /// Require an observable result: tool:NAME, commit, file:GLOB, command:CMD, clean-tree or checklist:FILE; repeatable
    #[arg(long = "expect", alias = "expects", value_name = "EXPECTATION", help_heading = "Checks")]
    pub(crate) expects: Vec<Expectation>,

    /// Complete although the file of --objective-file has open items (`- [ ]`)
    #[arg(long, help_heading = "Checks")]
    pub(crate) no_checklist: bool,

    /// Report files of the test runner (JUnit XML), relative to the workspace; repeatable
    #[arg(long, value_name = "GLOB", help_heading = "Checks")]
    pub(crate) junit: Vec<String>,

    /// Text that the agent prints when it is done; if given, passing checks alone do not complete the loop
    #[arg(long, alias = "completion-promise", value_name = "TEXT", help_heading = "Checks")]
    pub(crate) promise: Option<String>,

    /// Protect paths that the checks depend on, in addition to the detected ones; repeatable
    #[arg(long = "protect", alias = "protected-paths", value_name = "GLOB", help_heading = "Checks")]
    pub(crate) protect: Vec<String>,

    /// Permit the agent to change these files although the checks depend on them; repeatable
    #[arg(long = "allow-test-change", value_name = "GLOB", help_heading = "Checks")]
    pub(crate) allow_test_change: Vec<String>,

    /// Where the checks run: in the workspace with protected files restored, or in a folder that the agent cannot write
    /// [default: guarded]
    #[arg(long, value_name = "WHERE", value_parser = one_of::<Verify>(Key::Verify), help_heading = "Checks")]
    pub(crate) verify: Option<Verify>,

    /// Command that prepares the folder of isolated checks, the first time and after a lock file changes; repeatable
    #[arg(long, value_name = "CMD", help_heading = "Checks")]
    pub(crate) setup: Vec<String>,

    /// Run a failing check again, up to N times, to distinguish a flaky check from a failure [default: 0]
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Checks")]
    pub(crate) retries: Option<u32>,

    /// Do not change tests to confirm that the checks still catch failures
    #[arg(long, help_heading = "Checks")]
    pub(crate) no_tripwire: bool,

    /// Do not complete for a result that is worth less: `weak`, `standard` or `strong`; see docs/verified.md
    #[arg(long, value_name = "GRADE", value_parser = one_of::<Grade>(Key::Require), help_heading = "Checks")]
    pub(crate) require: Option<Grade>,

    /// Model for the agent
    #[arg(long, value_name = "MODEL", help_heading = "Agent")]
    pub(crate) model: Option<String>,

    /// More arguments for the agent's program, quoted as in a shell; repeatable
    #[arg(long, value_name = "ARGS", value_parser = words, allow_hyphen_values = true, help_heading = "Agent")]
    pub(crate) agent_args: Vec<Words>,

    /// Switch to the next agent after this many failed iterations [default: 2]
    #[arg(long, allow_negative_numbers = true, value_name = "K", value_parser = count, conflicts_with = "rotate", help_heading = "Agent")]
    pub(crate) escalate_after: Option<u32>,

    /// Switch to the next agent on each iteration
    #[arg(long, help_heading = "Agent")]
    pub(crate) rotate: bool,

    /// Agents that take over, one after the other, when a service is unavailable for longer than --max-wait
    #[arg(long, value_name = "NAME[:MODEL]", value_delimiter = ',', help_heading = "Agent")]
    pub(crate) failover: Vec<String>,

    /// Run N candidates at once, each in its own git worktree, under one budget; the first to verify wins
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = count, help_heading = "Agent")]
    pub(crate) race: Option<u32>,

    /// Permit an agent that shows its cost only after a run: the cost limit is checked between runs
    #[arg(long, help_heading = "Agent")]
    pub(crate) cost_after_run: bool,

    /// Where to count the cost of agents: `auto` on the way to their model service where address and key can be set, `stream` in
    /// what they report [default: auto]
    #[arg(long, help_heading = "Agent", value_name = "WHERE", value_parser = one_of::<MeterMode>(Key::Meter))]
    pub(crate) meter: Option<MeterMode>,

    /// Record the agent's requests to its model service and the answers, without secrets
    #[arg(long, help_heading = "Agent")]
    pub(crate) record_requests: bool,

    /// Instructions to add to the objective: tdd, systematic-debugging, code-cleanup or your own
    #[arg(long, value_name = "NAME", help_heading = "Agent")]
    pub(crate) skill: Option<String>,

    /// On the first stall, continue with the systematic-debugging skill
    #[arg(long, alias = "escalate-to-deep-debug", help_heading = "Agent")]
    pub(crate) deep_debug: bool,

    /// Prompt with the objective alone, without the results of earlier iterations
    #[arg(long, alias = "no-context-injection", help_heading = "Agent")]
    pub(crate) no_context: bool,

    /// What to do when the agent reports `<blocked>` [default: stop]
    #[arg(long, value_name = "HOW", value_parser = one_of::<OnBlocked>(Key::OnBlocked), help_heading = "Agent")]
    pub(crate) on_blocked: Option<OnBlocked>,

    /// Pass an environment variable to the agent and the checks, a secret only to the agent; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Agent")]
    pub(crate) env: Vec<String>,

    /// Pause between iterations, in milliseconds or as a duration [default: 500]
    #[arg(long, alias = "pause-ms", allow_negative_numbers = true, value_name = "MS", value_parser = pause, help_heading = "Agent")]
    pub(crate) pause: Option<Millis>,

    /// Folder to work in [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Workspace")]
    pub(crate) workspace: Option<PathBuf>,

    /// Prohibit changes to these paths, in addition to the configured ones; `!GLOB` permits them again; repeatable
    #[arg(long = "prohibit", alias = "prohibited-paths", value_name = "GLOB", help_heading = "Workspace")]
    pub(crate) prohibit: Vec<String>,

    /// Which state of the workspace to keep if the loop does not complete [default: last]
    #[arg(long, value_name = "WHICH", value_parser = one_of::<Keep>(Key::Keep), help_heading = "Workspace")]
    pub(crate) keep: Option<Keep>,

    /// Undo an iteration that made things worse
    #[arg(long, help_heading = "Workspace")]
    pub(crate) ratchet: bool,

    /// Run agent and checks in a sandbox: `on` uses what this machine supports, `require` refuses to start without one
    /// [default: on]
    #[arg(long, value_name = "HOW", value_parser = one_of::<Sandboxing>(Key::Sandbox), help_heading = "Sandbox")]
    pub(crate) sandbox: Option<Sandboxing>,

    /// Let agent and checks write to this path too; repeatable
    #[arg(long = "allow-write", alias = "sandbox-writable", value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = "Sandbox")]
    pub(crate) allow_write: Vec<String>,

    /// Let the checks use the network
    #[arg(long, help_heading = "Sandbox")]
    pub(crate) allow_network: bool,

    #[command(flatten)]
    pub(crate) access: AccessArgs,

    /// Show what would run, what the verdict would depend on, and the sandbox; start no agent and no check
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) explain: bool,

    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
}

/// A text, split into words as a shell does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<String>);

// Options for the output of a running loop.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ScreenArgs {
    /// Print the result as one JSON object on standard output; everything else goes to standard error
    #[arg(long)]
    pub(crate) json: bool,

    /// Print what happens as lines of JSON on standard output, and the result as the last of them
    #[arg(long, conflicts_with = "json")]
    pub(crate) events: bool,

    /// Show only the result
    #[arg(long, conflicts_with = "plain")]
    pub(crate) quiet: bool,

    /// Show plain lines instead of the live view
    #[arg(long)]
    pub(crate) plain: bool,
}

/// Leaves the arguments of special subjects to `--help`: `-h` shows the usual ones.
pub(super) fn only_in_long_help(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some("Limits" | "Checks" | "Agent" | "Workspace" | "Sandbox") => arg.hide_short_help(true),
        _ => arg,
    }
}

fn agent_help() -> String {
    let names: Vec<&str> = Kind::ready_made().map(|kind| kind.name).collect();
    format!(
        "Agent to run: {} or a name from a configuration file; NAME:MODEL selects a model; repeatable, see \
         --escalate-after [default: the first installed]",
        names.join(", ")
    )
}

/// Parses a count, with an error that says what to type.
pub(super) fn count(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("too many: the maximum is {}", u32::MAX),
        _ => "expected a whole number, such as 3".to_owned(),
    })
}

/// Parses a count within limits.
pub(super) fn within(limits: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| match (count(text)?, limits.end()) {
        (number, _) if limits.contains(&number) => Ok(number),
        (_, &u32::MAX) => Err(format!("expected {} or more", limits.start())),
        (_, end) => Err(format!("expected {} to {end}", limits.start())),
    }
}

/// Parses a number of tokens: `2000000`, `500k` or `2M`.
pub(super) fn tokens(text: &str) -> Result<u64, String> {
    multiple(text, 1000).ok_or_else(|| "expected a number of tokens, such as 2000000, 500k or 2M".to_owned())
}

/// Parses a size in bytes: `500k`, `100M` or `1G`.
fn size(text: &str) -> Result<u64, String> {
    multiple(text, 1024).ok_or_else(|| "expected a size, such as 100M or 1G".to_owned())
}

/// A number with a unit, each of which is so many times the one before.
fn multiple(text: &str, step: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(step.pow(power))
}

/// Parses a percentage, with or without its sign.
fn percent(text: &str) -> Result<u32, String> {
    text.trim().trim_end_matches('%').trim().parse().map_err(|_| "expected a percentage, such as 80".to_owned())
}

fn words(text: &str) -> Result<Words, String> {
    shlex::split(text)
        .map(Words)
        .ok_or_else(|| "unclosed quote; quote arguments as in a shell, such as \"--max-turns 30\"".to_owned())
}

/// A bare number counts milliseconds, as in `pauseMs`.
fn pause(text: &str) -> Result<Millis, String> {
    match text.trim().parse::<u64>() {
        Ok(millis) => Ok(Millis(millis)),
        Err(_) => text.parse::<Millis>().map_err(|error| error.to_string()),
    }
}

/// A word that an argument takes, what `--help` says about it, and the value that it stands for.
pub(super) type Word<T> = (&'static str, &'static str, T);

/// One of these words.
pub(super) fn word_of<T: Copy + Send + Sync>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    let known = words.iter().map(|(word, meaning, _)| PossibleValue::new(word).help(meaning));
    PossibleValuesParser::new(known).try_map(|typed| {
        let found = words.iter().find(|(word, ..)| *word == typed);
        found.map(|(.., value)| *value).ok_or("is no such word")
    })
}

/// One of the words that a key takes in a file, as the value that it stands for there.
pub(super) fn one_of<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    key: Key,
) -> impl TypedValueParser<Value = T> {
    let words = match key.kind() {
        ValueKind::OneOf(words) => words,
        _ => &[],
    };
    PossibleValuesParser::new(words)
        .try_map(|word| T::deserialize::<StringDeserializer<ValueError>>(word.into_deserializer()))
}
