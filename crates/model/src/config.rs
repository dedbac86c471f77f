//! The configuration of a loop and the caps over it. A configuration that breaks a rule never becomes a loop.

mod access;
mod choices;
mod rules;

pub use rules::{ConfigError, ValidLoopConfig};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentSpec, Expectation, Grade, Millis, Money};
pub use access::Access;
pub use choices::{
    AgentNetwork, HostRule, Isolation, Keep, MeterMode, OnBlocked, Race, Sandboxing, Skill, Turns, Verify,
};

/// What an agent prints when it believes that it is done.
pub const DEFAULT_PROMISE: &str = "<promise>COMPLETE</promise>";

/// Paths that no agent may change unless the user says so. Read like lines of a `.gitignore`.
pub const DEFAULT_PROHIBITED: [&str; 5] = ["src/auth/**", "src/payments/**", "migrations/**", ".env", ".env.*"];

/// Everything that a loop is started with. Written into its journal, so that a resumed loop is the same loop.
// The default could not start: `LoopConfig::new` has the usual settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopConfig {
    /// The user's request, byte for byte.
    pub objective: String,
    /// At most this many agent runs.
    pub max_iterations: u32,
    /// At most this much money.
    pub max_cost: Money,
    /// At most this many tokens, read and written, those from caches included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// At most this much of a plan's allowance, in percent, where the agent reports how much of it is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_window: Option<u32>,
    /// What counts as the agent's claim, as given by the user or the skill.
    pub completion_promise: String,
    /// The user asked for this promise; then passing checks alone do not complete the loop.
    #[serde(default)]
    pub promise_is_explicit: bool,
    /// Commands that decide, in order.
    pub verification_commands: Vec<String>,
    /// What must be observable besides.
    #[serde(default)]
    pub expects: Vec<Expectation>,
    /// Report files of the test runner, as globs.
    #[serde(default)]
    pub junit: Vec<String>,
    /// Instructions that go with the objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<Skill>,
    /// What kind of work it is, where `ralph do` decided on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The skill that a stalled loop switches to; none means that the first stall aborts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deep_debug: Option<Skill>,
    /// Iterations without progress that make a stall.
    pub stall_threshold: u32,
    /// Equal failures in a row that end the loop.
    pub same_error_threshold: u32,
    /// Whether prompts carry the loop's context from the second iteration on.
    pub context_injection: bool,
    /// The rest between two iterations.
    pub pause: Millis,
    /// The time limit of one agent run.
    pub iteration_timeout: Millis,
    /// The time limit of one check.
    pub verification_timeout: Millis,
    /// The time limit of a process that neither prints nor works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Millis>,
    /// The time limit of the whole loop, pauses of the computer aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<Millis>,
    /// Paths that the agent may not change.
    pub prohibited_paths: Vec<String>,
    /// Paths that the checks depend on, besides those that are detected.
    #[serde(default)]
    pub protected_paths: Vec<String>,
    /// Pinned paths that the agent may change all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_test_changes: Vec<String>,
    /// Who works, or begins to.
    pub agent: AgentSpec,
    /// Who else works, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_agents: Vec<AgentSpec>,
    /// Whose turn it is, where there are several.
    #[serde(default)]
    pub turns: Turns,
    /// Who takes over, one after the other, when a service is unavailable for longer than `max_wait`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failover: Vec<AgentSpec>,
    /// Agents may report their cost only after a run: the limit on it is checked between runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_after_run: bool,
    #[serde(flatten)]
    pub access: Access,
    /// How long to wait for a service that refuses and does not say how long: the first time; twice as long each time after.
    #[serde(default = "usual_backoff")]
    pub backoff: Millis,
    /// The longest time to wait for a service at once; a longer wait ends the loop.
    #[serde(default = "usual_max_wait")]
    pub max_wait: Millis,
    /// The race that the loop takes part in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
    /// The folder that is worked in, absolute.
    pub workspace: String,
    /// The folder that the loop was started for, where it works in a worktree of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Where in the user's repository the work happens.
    pub isolation: Isolation,
    /// Where the checks run.
    #[serde(default)]
    pub verify: Verify,
    /// Commands that prepare the folder of isolated checks: the first time, and when a lock file changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// How often a failing check is run again, to tell a flake from a failure.
    #[serde(default)]
    pub retries: u32,
    /// Before the loop completes, the checks have to show that they can still fail. A journal from before there was such
    /// a thing does without.
    #[serde(default)]
    pub tripwire: bool,
    /// What a verified result has to be worth to complete the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Grade>,
    /// Whether agent and checks are kept inside a sandbox.
    #[serde(default)]
    pub sandbox: Sandboxing,
    /// Paths that they may write besides the usual ones, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Checks may use the network.
    #[serde(default)]
    pub allow_network: bool,
    /// What an agent's `<blocked>` does.
    #[serde(default)]
    pub on_blocked: OnBlocked,
    /// Which state the workspace keeps when the loop ends without success.
    #[serde(default)]
    pub keep: Keep,
    /// Undo an iteration that made things worse.
    #[serde(default)]
    pub ratchet: bool,
    /// Commit verified work on the current branch.
    #[serde(default)]
    pub commit: bool,
    /// Environment variables that agent and checks get beyond the usual ones, by name.
    #[serde(default)]
    pub env: Vec<String>,
    /// How much of one output is kept on disk, in bytes.
    pub log_limit: u64,
    /// Files that take more bytes of the disk are left out of snapshots.
    #[serde(default = "usual_max_file_size", skip_serializing_if = "is_usual_max_file_size")]
    pub max_file_size: u64,
}

const fn usual_backoff() -> Millis {
    Millis::secs(15)
}

const fn usual_max_wait() -> Millis {
    Millis::minutes(24 * 60)
}

const fn usual_max_file_size() -> u64 {
    1 << 30
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the attribute passes a reference")]
const fn is_usual_max_file_size(bytes: &u64) -> bool {
    *bytes == usual_max_file_size()
}

/// Upper bounds that no caller passes; only the user's own configuration moves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub iterations: u32,
    pub loop_cost: Money,
    /// Money of all loops of one UTC day.
    pub daily_cost: Money,
}

impl Default for Caps {
    fn default() -> Self {
        Self { iterations: 50, loop_cost: Money::dollars(10), daily_cost: Money::dollars(50) }
    }
}

impl LoopConfig {
    /// A loop with the usual settings. What has no usual value has to be given.
    #[must_use]
    pub fn new(objective: String, max_iterations: u32, max_cost: Money, agent: AgentSpec, workspace: String) -> Self {
        Self {
            objective,
            max_iterations,
            max_cost,
            completion_promise: DEFAULT_PROMISE.to_owned(),
            stall_threshold: 5,
            same_error_threshold: 5,
            context_injection: true,
            pause: Millis(500),
            iteration_timeout: Millis::minutes(30),
            verification_timeout: Millis::minutes(10),
            idle_timeout: Some(Millis::minutes(10)),
            prohibited_paths: DEFAULT_PROHIBITED.map(str::to_owned).to_vec(),
            agent,
            backoff: usual_backoff(),
            max_wait: usual_max_wait(),
            workspace,
            tripwire: true,
            sandbox: Sandboxing::On,
            log_limit: 64 * 1024 * 1024,
            max_file_size: usual_max_file_size(),
            ..Self::default()
        }
    }

    /// All agents, in their order, and those that take over when a service is unavailable.
    pub fn agents(&self) -> impl Iterator<Item = &AgentSpec> {
        self.usual_agents().chain(&self.failover)
    }

    /// The agents that work while their services are available, in their order.
    pub fn usual_agents(&self) -> impl Iterator<Item = &AgentSpec> {
        std::iter::once(&self.agent).chain(&self.more_agents)
    }

    /// The agents with their models, for people: `claude:haiku, claude:opus; failover: codex`.
    pub fn agent_titles(&self) -> String {
        let titles = |agents: Vec<&AgentSpec>| agents.into_iter().map(AgentSpec::title).collect::<Vec<_>>().join(", ");
        let usual = titles(self.usual_agents().collect());
        match self.failover.as_slice() {
            [] => usual,
            standby => format!("{usual}; failover: {}", titles(standby.iter().collect())),
        }
    }

    /// Declares that no agent costs anything that is counted.
    pub fn set_unmetered(&mut self) {
        let more = self.more_agents.iter_mut().chain(&mut self.failover);
        std::iter::once(&mut self.agent).chain(more).for_each(|agent| agent.unmetered = true);
    }

    pub fn agent_at(&self, place: usize) -> &AgentSpec {
        place.checked_sub(1).and_then(|place| self.more_agents.get(place)).unwrap_or(&self.agent)
    }

    /// Whether no run costs anything that Ralph has to count.
    pub fn is_unmetered(&self) -> bool {
        self.agents().all(|agent| agent.unmetered)
    }

    /// The promise as the tag that prompts ask for: a bare word is put into the tag, JSON is not.
    pub fn promise_tag(&self) -> String {
        let promise = self.completion_promise.trim();
        if promise.contains('<') || promise.starts_with('{') {
            promise.to_owned()
        } else {
            format!("<promise>{promise}</promise>")
        }
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
