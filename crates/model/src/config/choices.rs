//! What a configuration chooses between, and the small values in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Money;

/// Whose turn it is among several agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "rule", rename_all = "camelCase")]
pub enum Turns {
    /// The first until it has failed so often, then the next as often, and so on; the last goes on to the end.
    Escalate {
        /// Failed iterations of one agent.
        after: u32,
    },
    /// One after the other, iteration by iteration.
    Rotate,
}

impl Default for Turns {
    fn default() -> Self {
        Self::Escalate { after: 2 }
    }
}

/// Several loops with one objective and one budget; the first that is verified wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Race {
    /// What the loops of one race have in common.
    pub id: String,
    /// How many they are.
    pub candidates: u32,
    /// What they may spend together.
    pub cap: Money,
}

impl Race {
    /// What one of them may hold at a time, so that all of them can begin. Rounded up: a rest of a micro-dollar that no agent
    /// holds would be enough to start an agent once more.
    pub const fn share(&self) -> Money {
        let candidates = if self.candidates == 0 { 1 } else { self.candidates as i64 };
        Money::from_micros(self.cap.micros().saturating_add(candidates - 1) / candidates)
    }
}

/// Instructions that go with an objective.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Its text, without front matter.
    pub text: String,
    /// The promise that its text asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
}

/// Where in the user's repository the work happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// In the folder itself.
    #[default]
    InPlace,
    /// In a git worktree on a branch of its own.
    Worktree,
}

/// Where the checks run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// In the workspace, with pinned files put back for as long as they run.
    #[default]
    Guarded,
    /// In a folder of the loop's own that the agent cannot write, with an environment made anew.
    Isolated,
}

/// Whether agent and checks are kept inside a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sandboxing {
    /// No. Also what a journal from before there was one means.
    #[default]
    Off,
    /// As far as this machine can.
    On,
    /// Or the loop does not start.
    Require,
}

/// What agents can reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentNetwork {
    /// Everything.
    #[default]
    Full,
    /// Their model services, through Ralph, and the hosts that are named.
    Model,
}

/// A host that may be reached: `registry.example.com`, `*.example.com`, `10.0.0.7:8080`, `[::1]:8080`. Without a port those of
/// HTTP and HTTPS are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostRule {
    /// A name or an address, in lower case and without brackets; `*.` at its beginning stands for every name below.
    host: String,
    port: Option<u16>,
}

impl HostRule {
    pub fn parse(text: &str) -> Result<Self, String> {
        let broken = || format!("{text:?} is not a host");
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, rest)) => (address, rest.strip_prefix(':').or((!rest.is_empty()).then_some("none"))),
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map(|port| port.parse().ok().filter(|port| *port > 0).ok_or_else(broken)).transpose()?;
        let name = host.strip_prefix("*.").unwrap_or(host);
        let is_word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        if name.parse::<core::net::IpAddr>().is_err() && !name.split('.').all(is_word) {
            return Err(broken());
        }
        Ok(Self { host: host.to_ascii_lowercase(), port })
    }

    /// Whether it names this port of this host, which is written without brackets.
    pub fn permits(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_host = match self.host.strip_prefix('*') {
            Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
            None => host == self.host,
        };
        is_host && self.port.map_or(matches!(port, 80 | 443), |own| own == port)
    }

    /// Whether this machine itself is meant.
    pub fn is_local(&self) -> bool {
        self.host == "localhost" || self.host.parse::<core::net::IpAddr>().is_ok()
    }
}

impl std::fmt::Display for HostRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (_, None) => f.write_str(&self.host),
        }
    }
}

impl TryFrom<String> for HostRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<HostRule> for String {
    fn from(rule: HostRule) -> Self {
        rule.to_string()
    }
}

/// Where the cost of agents is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeterMode {
    /// On the wire, for every agent whose address and key can be set; else as with [`MeterMode::Stream`].
    Auto,
    /// In what the program itself reports. Loops of versions without a gateway did this.
    #[default]
    Stream,
}

/// What an agent's `<blocked>` does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnBlocked {
    /// It ends the loop.
    #[default]
    Stop,
    /// It is noted and the loop goes on.
    Continue,
}

/// Which state the workspace keeps when a loop ends without success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// As the last iteration left it.
    #[default]
    Last,
    /// As the iteration with the fewest failures left it.
    Best,
}

#[cfg(test)]
#[path = "choices_tests.rs"]
mod tests;
