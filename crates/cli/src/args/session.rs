//! The arguments of `ralph session`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use ralph_model::{Isolation, Millis, Money};

use super::layer::several;
use super::run::count;
use ralph_config::{Dollars, Layer, OneOrMore, Pause, Span};

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  ralph session start \"Fix tests in src/utils\" --max 10 \\
      --criteria \"npm test src/utils\"
  ralph session status
  ralph session cancel"
)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) action: SessionAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionAction {
    /// Start a loop in this folder: the agent of your session works, and Ralph checks the work whenever it stops
    Start(Box<SessionStartArgs>),
    /// Show the loop of a session in this folder
    #[command(after_help = "Example:
  ralph session status --json")]
    Status(SessionFolderArgs),
    /// End the loop of a session in this folder
    #[command(after_help = "Example:
  ralph session cancel")]
    Cancel(SessionFolderArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph session start \"Fix tests in src/utils\" --max 10 \\
      --criteria \"npm test src/utils\"
  ralph session start \"Add a --json flag\" --max 5 --max-cost 2 \\
      --criteria \"cargo test\" --promise DONE")]
pub(crate) struct SessionStartArgs {
    /// What the agent should achieve
    #[arg(value_name = "OBJECTIVE")]
    pub(crate) objective: String,

    /// Maximum number of times that the agent may stop; required here or in a configuration file
    #[arg(long = "max", value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) max_iterations: Option<u32>,

    /// Maximum cost in US dollars, as far as the session's transcript shows it [default: no limit]
    #[arg(long = "max-cost", value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<Money>,

    /// Command that passes only when the work is done; repeatable, all must pass
    #[arg(long = "criteria", visible_alias = "verification-command", value_name = "CMD")]
    pub(crate) criteria: Vec<String>,

    /// Text that the agent prints when it is done; if given, passing checks alone do not complete the loop
    #[arg(long, value_name = "TEXT")]
    pub(crate) promise: Option<String>,

    /// The session that the loop belongs to [default: the one that runs this command, else the next one in this folder
    /// that reports through a hook]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// The folder to work in [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Start no loop in this session: print how its agent calls the tool ralph_loop, whose agents begin with a fresh context
    #[arg(long)]
    pub(crate) fresh: bool,

    /// Instructions to add to the objective: tdd, systematic-debugging, code-cleanup or your own
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Option<String>,

    /// Maximum duration of one check [default: 10m]
    #[arg(long = "verify-timeout", allow_negative_numbers = true, value_name = "DURATION")]
    pub(crate) verification_timeout: Option<Millis>,

    /// Number of iterations without progress that count as a stall [default: 5]
    #[arg(long = "stall", allow_negative_numbers = true, value_name = "N", value_parser = count)]
    pub(crate) stall_threshold: Option<u32>,

    /// Number of identical failures in a row that end the loop [default: 5]
    #[arg(long = "same-error", allow_negative_numbers = true, value_name = "N", value_parser = count)]
    pub(crate) same_error_threshold: Option<u32>,

    /// Path that the agent may not change, as in a .gitignore; repeatable
    #[arg(long = "prohibit", value_name = "GLOB")]
    pub(crate) prohibit: Vec<String>,

    /// Path that the checks depend on, in addition to the detected ones; repeatable
    #[arg(long = "protect", value_name = "GLOB")]
    pub(crate) protect: Vec<String>,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionFolderArgs {
    /// The folder of the loop [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl From<&SessionStartArgs> for Layer {
    fn from(args: &SessionStartArgs) -> Self {
        Self {
            max_iterations: args.max_iterations,
            max_cost_usd: args.max_cost.map(Dollars),
            // Ralph cannot stop a turn of the user's own session.
            cost_after_run: Some(true),
            verification_timeout: args.verification_timeout.map(Span),
            // The session waits for its hook.
            pause_ms: Some(Pause(Millis(0))),
            stall_detection_threshold: args.stall_threshold,
            same_error_threshold: args.same_error_threshold,
            verification_command: several(&args.criteria).map(OneOrMore),
            completion_promise: args.promise.clone(),
            skill: args.skill.clone(),
            // The session is where it is.
            isolation: Some(Isolation::InPlace),
            prohibited_paths: several(&args.prohibit),
            protected_paths: several(&args.protect),
            ..Self::default()
        }
    }
}
