//! What an agent can reach, where that is restricted: the gateway of its run, and a proxy that knows the hosts that the user named.

use std::ffi::OsString;

use ralph_agents::ProcessBase;
use ralph_gateway::ForwardProxy;
use ralph_model::{AgentNetwork, HostRule};
use ralph_process::Network;

use super::gateway::Wire;
use crate::error::Error;

/// How programs are made to use a proxy. They differ in which of the two spellings they read.
const PROXIES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

impl Wire<'_> {
    /// Leaves an agent nothing but these ports of its gateway and the hosts that the user named, if that is what the user wants.
    pub(crate) async fn restrict_network(
        self,
        base: &mut ProcessBase,
        mut ports: Vec<u16>,
    ) -> Result<Option<ForwardProxy>, Error> {
        if self.access.agent_network == AgentNetwork::Full {
            return Ok(None);
        }
        let proxy = match self.access.allow_hosts.as_slice() {
            [] => None,
            hosts => {
                let started = ForwardProxy::start(hosts.to_vec(), self.services.egress.clone()).await;
                Some(started.map_err(Error::Proxy)?)
            }
        };
        // Programs ask for what is on their own machine without a proxy.
        for port in self.access.allow_hosts.iter().filter_map(local_port) {
            if !ports.contains(&port) {
                ports.push(port);
            }
        }
        // The user's own way out leads nowhere in a network of the agent's own.
        base.environment.retain(|(name, _)| !PROXIES.iter().chain(&EXCEPTIONS).any(|proxy| name == proxy));
        let mut set = |name: &str, value: String| base.environment.push((name.into(), OsString::from(value)));
        if let Some(proxy) = &proxy {
            ports.push(proxy.address().port());
            // Not `ALL_PROXY`: that is for other protocols, which this proxy does not speak.
            for name in PROXIES.iter().filter(|name| !name.to_ascii_uppercase().starts_with("ALL")) {
                set(name, format!("http://{}", proxy.address()));
            }
        }
        EXCEPTIONS.iter().for_each(|name| set(name, "localhost,127.0.0.1,::1".to_owned()));
        if let Some(sandbox) = &mut base.sandbox {
            sandbox.network = if ports.is_empty() { Network::Loopback } else { Network::Ports(ports) };
        }
        Ok(proxy)
    }
}

/// The port of this machine that a rule names.
fn local_port(rule: &HostRule) -> Option<u16> {
    let text = rule.to_string();
    let port = ["localhost:", "127.0.0.1:"].iter().find_map(|host| text.strip_prefix(host))?;
    port.parse().ok()
}
