//! What the agents of a run may read and reach, and where their cost is counted.

use serde::{Deserialize, Serialize};

use super::{AgentNetwork, ConfigError, HostRule, LoopConfig, MeterMode, Sandboxing};

/// What the agents of a run may read and reach, and where their cost is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Access {
    pub meter: MeterMode,
    /// Requests and answers are recorded, redacted.
    pub record_requests: bool,
    /// Paths that they may not read besides the usual ones, absolute.
    pub hide: Vec<String>,
    /// Paths that they may read although they are usually hidden, absolute.
    pub allow_read: Vec<String>,
    pub agent_network: AgentNetwork,
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

impl LoopConfig {
    /// What its agents may read and reach.
    #[must_use]
    pub fn access(&self) -> Access {
        Access {
            meter: self.meter,
            record_requests: self.record_requests,
            hide: self.hide.clone(),
            allow_read: self.allow_read.clone(),
            agent_network: self.agent_network,
            allow_hosts: self.allow_hosts.clone(),
        }
    }
}
