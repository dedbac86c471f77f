//! The configuration of a loop and the caps over it. A configuration that breaks a rule never becomes a loop.

mod access;
mod choices;

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

/// How often a failing check may be run again.
const MAX_RETRIES: u32 = 10;

/// Everything that a loop is started with. Written into its journal, so that a resumed loop is the same loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopConfig {
    /// The user's request, byte for byte.
    pub objective: String,
    /// At most this many agent runs.
    pub max_iterations: u32,
    /// At most this much money.
    pub max_cost: Money,
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
    /// Agents may report their cost only after a run: the limit on it is checked between runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_after_run: bool,
    /// Where the cost of agents is counted.
    #[serde(default, skip_serializing_if = "MeterMode::is_stream")]
    pub meter: MeterMode,
    /// Requests and answers of agents are recorded, redacted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record_requests: bool,
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
    /// Paths that they may not read besides the usual ones, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// Paths that they may read although they are usually hidden, absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_read: Vec<String>,
    /// Checks may use the network.
    #[serde(default)]
    pub allow_network: bool,
    /// What agents can reach.
    #[serde(default, skip_serializing_if = "AgentNetwork::is_full")]
    pub agent_network: AgentNetwork,
    /// Hosts that agents reach besides their model services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub allow_hosts: Vec<HostRule>,
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
}

const fn usual_backoff() -> Millis {
    Millis::secs(15)
}

const fn usual_max_wait() -> Millis {
    Millis::minutes(24 * 60)
}

/// Upper bounds that no caller passes; only the user's own configuration moves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Iterations of one loop.
    pub iterations: u32,
    /// Money of one loop.
    pub loop_cost: Money,
    /// Money of all loops of one UTC day.
    pub daily_cost: Money,
}

impl Default for Caps {
    fn default() -> Self {
        Self { iterations: 50, loop_cost: Money::dollars(10), daily_cost: Money::dollars(50) }
    }
}

/// A rule that a configuration breaks: which key, what is wrong, and what is allowed.
///
/// Keys are named as in a file, and as `@key` inside the texts: the edge that talks to the caller writes them as a flag, a key
/// of a file or a field of JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}\n  allowed: {allowed}")]
pub struct ConfigError {
    /// The key, or a phrase that names keys as `@key`.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub allowed: String,
}

impl ConfigError {
    /// A broken rule.
    pub fn new(key: &'static str, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { key, problem: problem.into(), allowed: allowed.into() }
    }
}

/// A configuration that keeps every rule. Made by [`LoopConfig::validate`] alone, so that it is checked once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidLoopConfig(LoopConfig);

impl ValidLoopConfig {
    /// The same with other paths that may be written, which no rule is about.
    #[must_use]
    pub fn with_writable(self, writable: Vec<String>) -> Self {
        Self(LoopConfig { writable, ..self.0 })
    }

    /// The same for a kind of work, which no rule is about.
    #[must_use]
    pub fn with_task_type(self, task_type: String) -> Self {
        Self(LoopConfig { task_type: Some(task_type), ..self.0 })
    }

    /// The configuration, to be changed by the one who runs it.
    #[must_use]
    pub fn into_inner(self) -> LoopConfig {
        self.0
    }
}

impl std::ops::Deref for ValidLoopConfig {
    type Target = LoopConfig;

    fn deref(&self) -> &LoopConfig {
        &self.0
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
            promise_is_explicit: false,
            verification_commands: Vec::new(),
            expects: Vec::new(),
            junit: Vec::new(),
            skill: None,
            task_type: None,
            deep_debug: None,
            stall_threshold: 5,
            same_error_threshold: 5,
            context_injection: true,
            pause: Millis(500),
            iteration_timeout: Millis::minutes(30),
            verification_timeout: Millis::minutes(10),
            idle_timeout: Some(Millis::minutes(10)),
            max_duration: None,
            prohibited_paths: DEFAULT_PROHIBITED.map(str::to_owned).to_vec(),
            protected_paths: Vec::new(),
            allowed_test_changes: Vec::new(),
            agent,
            more_agents: Vec::new(),
            turns: Turns::default(),
            cost_after_run: false,
            meter: MeterMode::default(),
            record_requests: false,
            backoff: usual_backoff(),
            max_wait: usual_max_wait(),
            race: None,
            workspace,
            origin: None,
            isolation: Isolation::default(),
            verify: Verify::default(),
            setup: Vec::new(),
            retries: 0,
            tripwire: true,
            require: None,
            sandbox: Sandboxing::On,
            writable: Vec::new(),
            hide: Vec::new(),
            allow_read: Vec::new(),
            allow_network: false,
            agent_network: AgentNetwork::default(),
            allow_hosts: Vec::new(),
            on_blocked: OnBlocked::default(),
            keep: Keep::default(),
            ratchet: false,
            commit: false,
            env: Vec::new(),
            log_limit: 64 * 1024 * 1024,
        }
    }

    /// Checks every rule.
    ///
    /// # Errors
    /// Gives the first rule that is broken.
    pub fn validate(self, caps: &Caps) -> Result<ValidLoopConfig, ConfigError> {
        self.check(caps)?;
        Ok(ValidLoopConfig(self))
    }

    fn check(&self, caps: &Caps) -> Result<(), ConfigError> {
        let broken = |field, problem: String, allowed: String| Err(ConfigError::new(field, problem, allowed));
        if self.objective.trim().is_empty() {
            return broken("objective", "is empty".into(), "what the agent should achieve".into());
        }
        self.validate_limits(caps)?;
        for (field, value) in
            [("stall_detection_threshold", self.stall_threshold), ("same_error_threshold", self.same_error_threshold)]
        {
            if value == 0 {
                return broken(field, "is 0".into(), "1 or more iterations; the default is 5".into());
            }
        }
        let spans = [
            ("iteration_timeout", Some(self.iteration_timeout)),
            ("verification_timeout", Some(self.verification_timeout)),
            ("idle_timeout", self.idle_timeout),
            ("max_duration", self.max_duration),
        ];
        for (field, span) in spans {
            if span == Some(Millis(0)) {
                return broken(field, "is 0".into(), "a duration such as 30s, 10m or 2h".into());
            }
        }
        // A pause can be written as a bare number of milliseconds, which no parser of spans has seen.
        if self.pause > Millis::MAX_SETTING {
            return broken("pause_ms", format!("{} is too long", self.pause), "at most 365d, such as 500 or 2s".into());
        }
        if self.verification_commands.iter().any(|command| command.trim().is_empty()) {
            return broken(
                "verification_command",
                "is empty".into(),
                "a command that passes only when the work is done".into(),
            );
        }
        if self.completion_promise.trim().is_empty() {
            return broken("completion_promise", "is empty".into(), format!("a text such as {DEFAULT_PROMISE}"));
        }
        self.validate_agents()?;
        if self.log_limit < 4096 {
            return broken("log_limit", format!("{} bytes is too little", self.log_limit), "4096 bytes or more".into());
        }
        if self.retries > MAX_RETRIES {
            let problem = format!("{} is too many: a check that fails this often is not flaky", self.retries);
            return broken("retries", problem, format!("0 to {MAX_RETRIES}"));
        }
        if self.verify == Verify::Isolated && self.verification_commands.is_empty() {
            let problem = "needs a check: without one nothing is verified";
            return broken(
                "verify",
                format!("`isolated` {problem}"),
                "@verify isolated together with @verification_command".into(),
            );
        }
        if !self.setup.is_empty() && self.verify != Verify::Isolated {
            let problem = "is only for isolated checks: guarded checks run in your workspace, which is set up already";
            return broken("setup", problem.into(), "@setup together with @verify isolated".into());
        }
        if self.setup.iter().any(|command| command.trim().is_empty()) {
            return broken("setup", "is empty".into(), "a command such as \"npm ci\"".into());
        }
        self.validate_grade()?;
        self.access().validate(self.sandbox)?;
        if self.commit && self.verification_commands.is_empty() {
            let problem = "needs a check: only verified work is committed";
            return broken("commit", problem.into(), "@commit together with @verification_command".into());
        }
        if self.ratchet && self.verification_commands.is_empty() {
            let problem = "needs a check: without one no iteration is worse than another";
            return broken("ratchet", problem.into(), "@ratchet together with @verification_command".into());
        }
        Ok(())
    }

    /// A grade that no result of these settings can have is refused at once.
    fn validate_grade(&self) -> Result<(), ConfigError> {
        let Some(required) = self.require else { return Ok(()) };
        let (problem, allowed) = match required {
            _ if self.verification_commands.is_empty() => {
                ("needs a check: without one nothing is verified", "@require together with @verification_command")
            }
            Grade::Standard | Grade::Strong if !self.tripwire => {
                ("needs the tripwire: without it every result is weak", "@require weak, or the tripwire turned on")
            }
            Grade::Strong if self.verify != Verify::Isolated => {
                ("needs isolated checks: in the workspace no result is strong", "@require strong with @verify isolated")
            }
            Grade::Weak | Grade::Standard | Grade::Strong => return Ok(()),
        };
        Err(ConfigError::new("require", format!("`{required}` {problem}"), allowed))
    }

    fn validate_agents(&self) -> Result<(), ConfigError> {
        for agent in self.agents() {
            let is_line = agent.shell_line().is_some();
            if agent.shell_line().is_some_and(|line| line.trim().is_empty()) {
                let allowed = "a program that reads its prompt from standard input";
                return Err(ConfigError::new("agent_command", "is empty", allowed));
            }
            if agent.kind == AgentSpec::COMMAND && (agent.model.is_some() || !agent.args.is_empty()) {
                let problem =
                    format!("`{}` is your own command: Ralph cannot pass it a model or arguments", agent.name);
                let allowed = "the model and the arguments in the command itself";
                return Err(ConfigError::new("agent", problem, allowed));
            }
            if is_line && !agent.args.is_empty() {
                let problem = format!("`{}` is a shell command: Ralph does not add arguments to it", agent.name);
                return Err(ConfigError::new("agent_args", problem, "the arguments in the command itself"));
            }
        }
        if self.turns == (Turns::Escalate { after: 0 }) {
            return Err(ConfigError::new("escalate_after", "is 0", "1 or more failed iterations; the default is 2"));
        }
        if self.backoff == Millis(0) {
            return Err(ConfigError::new("backoff", "is 0", "a duration such as 15s"));
        }
        Ok(())
    }

    /// All agents, in their order.
    pub fn agents(&self) -> impl Iterator<Item = &AgentSpec> {
        std::iter::once(&self.agent).chain(&self.more_agents)
    }

    /// The agent at a place in their order.
    #[must_use]
    pub fn agent_at(&self, place: usize) -> &AgentSpec {
        place.checked_sub(1).and_then(|place| self.more_agents.get(place)).unwrap_or(&self.agent)
    }

    /// Whether no run costs anything that Ralph has to count.
    #[must_use]
    pub fn is_unmetered(&self) -> bool {
        self.agents().all(|agent| agent.unmetered)
    }

    /// Checks the two limits alone, as a resumed loop does with new ones.
    ///
    /// # Errors
    /// Names the limit and the cap over it.
    pub fn validate_limits(&self, caps: &Caps) -> Result<(), ConfigError> {
        if self.max_iterations == 0 || self.max_iterations > caps.iterations {
            let problem = match self.max_iterations {
                0 => "0 iterations do nothing".to_owned(),
                more => format!("{more} is outside the cap of {} iterations per loop", caps.iterations),
            };
            let allowed = format!("1 to {}; the cap is `caps.iterations` in your own configuration", caps.iterations);
            return Err(ConfigError::new("max_iterations", problem, allowed));
        }
        if (self.max_cost == Money::ZERO && !self.is_unmetered()) || self.max_cost > caps.loop_cost {
            let problem = match self.max_cost {
                Money::ZERO => "$0.00 permits no spending; for an agent that costs nothing pass @unmetered".to_owned(),
                more => format!("{more} is outside the cap of {} per loop", caps.loop_cost),
            };
            let allowed = format!(
                "more than $0, up to {}; the cap is `caps.loop_cost_usd` in your own configuration",
                caps.loop_cost
            );
            return Err(ConfigError::new("max_cost_usd", problem, allowed));
        }
        Ok(())
    }

    /// The promise as the tag that prompts ask for: a bare word is put into the tag, JSON is not.
    #[must_use]
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
