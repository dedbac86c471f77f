//! The arguments of `ralph crew`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use ralph_model::Money;

use super::AccessArgs;

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  ralph crew \"Add rate limiting to the API, test it, tell the team\" --max-cost 2
  ralph crew \"Which tests are slow?\" --max-cost 0.50 --json
  ralph crew --max-cost 5

Models: anthropic:MODEL (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL), openai:MODEL
and openai-chat:MODEL (OPENAI_API_KEY, OPENAI_BASE_URL), or the NAME of a
[models.NAME] in your configuration. Exit codes as those of a loop; 18 where a
question or an approval is pending and no terminal can ask it: resume the crew
later.")]
pub(crate) struct CrewArgs {
    /// What the crew should do; without it a conversation opens
    #[arg(value_name = "REQUEST")]
    pub(crate) request: Option<String>,

    /// Maximum cost in US dollars, all agents together
    #[arg(long = "max-cost", value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Money,

    /// The model [default: by the key that is set]
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) model: Option<String>,

    /// The model for agents that need no strong one
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) fast_model: Option<String>,

    /// How often the coordinator is asked at most [default: 20, or 8 for a short question]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) max_rounds: Option<u32>,

    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Who decides about outward actions, such as e-mail
    #[arg(long, value_enum, default_value_t = ApproveWord::Ask)]
    pub(crate) approve: ApproveWord,

    /// What agents may read and reach.
    #[command(flatten)]
    pub(crate) access: AccessArgs,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Who decides about outward actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApproveWord {
    /// You, each time
    Ask,
    /// Refuse all
    Never,
    /// Allow all
    All,
}
