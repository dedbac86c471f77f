//! The arguments of `ralph crew`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use ralph_crew::Approve;
use ralph_model::Money;

use super::AccessArgs;
use super::run::{Word, within, word_of};

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  ralph crew \"Add rate limiting to the API, test it, tell the team\" --max-cost 2
  ralph crew \"Which tests are slow?\" --max-cost 0.50 --json
  ralph crew --max-cost 5

Models: anthropic:MODEL (ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL), openai:MODEL
and openai-chat:MODEL (OPENAI_API_KEY, OPENAI_BASE_URL), or the NAME of a
[models.NAME] in your configuration. The exit codes are those of a loop; 18
means that a question or an approval is open and no terminal could show it:
resume the crew in one.")]
pub(crate) struct CrewArgs {
    /// What the crew should do; without it a conversation opens
    #[arg(value_name = "REQUEST")]
    pub(crate) request: Option<String>,

    /// Maximum cost in US dollars, all agents together
    #[arg(long = "max-cost", value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Money,

    /// The model [default: one of the provider whose key is set]
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) model: Option<String>,

    /// A cheaper model, for agents that do simple work
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub(crate) fast_model: Option<String>,

    /// Maximum number of times that the coordinator is asked [default: 20, or 8 for a short question]
    #[arg(long, value_name = "N", value_parser = within(1..=200))]
    pub(crate) max_rounds: Option<u32>,

    /// The folder to work in [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// Who decides about outward actions, such as e-mail
    #[arg(long, default_value = "ask", value_parser = word_of(APPROVE))]
    pub(crate) approve: Approve,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

const APPROVE: &[Word<Approve>] = &[
    ("ask", "You, each time", Approve::Ask),
    ("never", "Refuse all", Approve::Never),
    ("all", "Allow all", Approve::All),
];
