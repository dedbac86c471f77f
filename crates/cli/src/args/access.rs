//! The arguments of a run that say what its agents may read and reach.

use clap::{Args, ValueHint};
use ralph_config::{Key, Layer};
use ralph_model::{AgentNetwork, HostRule};

use super::layer::several;
use super::run::{one_of, only_in_long_help};

// What agents and checks may read and reach.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Sandbox", mut_args = only_in_long_help)]
pub(crate) struct AccessArgs {
    /// Hide this path from agent and checks, in addition to keys, cloud logins and browser profiles; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) hide: Vec<String>,

    /// Let agent and checks read this path although it is usually hidden; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) allow_read: Vec<String>,

    /// What agents can reach: `full`, or `model` for their model services and the hosts of --allow-host [default: full]
    #[arg(long, value_name = "WHAT", value_parser = one_of::<AgentNetwork>(Key::AgentNetwork))]
    pub(crate) agent_network: Option<AgentNetwork>,

    /// Let agents with --agent-network model reach this host, as HOST, *.HOST or HOST:PORT; repeatable
    #[arg(long, value_name = "HOST", value_parser = HostRule::parse)]
    pub(crate) allow_host: Vec<HostRule>,
}

impl AccessArgs {
    /// The same settings among others.
    pub(crate) fn onto(&self, layer: Layer) -> Layer {
        Layer {
            agent_network: self.agent_network,
            allow_host: several(&self.allow_host),
            hide: several(&self.hide),
            allow_read: several(&self.allow_read),
            ..layer
        }
    }
}
