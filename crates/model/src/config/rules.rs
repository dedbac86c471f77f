//! The rules of a configuration, and what is said of one that is broken.

use super::{Caps, DEFAULT_PROMISE, LoopConfig, Turns, Verify};
use crate::{AgentSpec, Grade, Millis, Money};

/// How often a failing check may be run again.
const MAX_RETRIES: u32 = 10;

/// A rule that a configuration breaks: which key, what is wrong, and what is allowed.
///
/// Keys are named as in a file, and as `@key` inside the texts: the edge that talks to the caller writes them as a flag, a key
/// of a file or a field of JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}\n  allowed: {allowed}", self.sentence(self.key))]
pub struct ConfigError {
    /// The key, or a phrase that names keys as `@key`.
    pub key: &'static str,
    pub problem: String,
    pub allowed: String,
}

impl ConfigError {
    pub fn new(key: &'static str, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { key, problem: problem.into(), allowed: allowed.into() }
    }

    /// What is wrong, with the name that the caller knows the key by. A problem that begins with a verb has it as its subject.
    pub fn sentence(&self, name: &str) -> String {
        let is_verb = ["is ", "are ", "needs "].iter().any(|verb| self.problem.starts_with(verb));
        format!("{name}{} {}", if is_verb { "" } else { ":" }, self.problem)
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
        if self.max_tokens == Some(0) {
            return broken("max_tokens", "0 tokens do nothing".into(), "1 or more tokens, such as 2000000".into());
        }
        if let Some(percent) = self.max_window.filter(|percent| !(1..=100).contains(percent)) {
            return broken("max_window", format!("is {percent} percent"), "1 to 100 percent of the allowance".into());
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
        if !(1 << 20..=1 << 30).contains(&self.max_file_size) {
            let problem = format!("{} bytes cannot be the limit", self.max_file_size);
            return broken("max_file_size", problem, "1 MiB to 1 GiB: larger files are never read".into());
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
        self.access.validate(self.sandbox)?;
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
}
