//! What the agents of a run may read and reach, and where their cost is counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentNetwork, ConfigError, HostRule, MeterMode, Sandboxing};
use crate::named::is_default;

/// What the agents of a run may read and reach, and where their cost is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// Where the cost of agents is counted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub meter: MeterMode,
    /// Requests and answers of agents are recorded, redacted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record_requests: bool,
    /// Paths that they may not read besides the usual ones, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// Paths that they may read although they are usually hidden, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_read: Vec<String>,
    /// What agents can reach.
    #[serde(default, skip_serializing_if = "is_default")]
    pub agent_network: AgentNetwork,
    /// Hosts that agents reach besides their model services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub allow_hosts: Vec<HostRule>,
}

impl Access {
    /// Restricting the network of agents is a matter of the sandbox.
    ///
    /// # Errors
    /// Names the key that contradicts another.
    pub fn validate(&self, sandbox: Sandboxing) -> Result<(), ConfigError> {
        if self.agent_network == AgentNetwork::Model && sandbox == Sandboxing::Off {
            let problem = "`model` needs the sandbox: without one nothing restricts an agent";
            return Err(ConfigError::new("agent_network", problem, "@agent_network model with @sandbox on"));
        }
        if self.agent_network == AgentNetwork::Model && self.meter == MeterMode::Stream && self.allow_hosts.is_empty() {
            let problem = "`model` needs the gateway: agents would not reach their model services";
            let allowed = "@agent_network model with @meter auto or @allow_host";
            return Err(ConfigError::new("agent_network", problem, allowed));
        }
        if self.agent_network == AgentNetwork::Full && !self.allow_hosts.is_empty() {
            let problem = "is only for a restricted network: agents reach every host";
            return Err(ConfigError::new("allow_host", problem, "@allow_host together with @agent_network model"));
        }
        Ok(())
    }
}
