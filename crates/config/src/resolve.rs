//! Puts flags, an approved repository file, the user's file and the defaults together, in that order of weight, and
//! remembers where each value came from. Pure.

use std::fmt;
use std::path::{Path, PathBuf};

use ralph_model::{
    Access, AgentSpec, Caps, ConfigError, DEFAULT_PROMISE, Isolation, LoopConfig, Millis, PriceList, Sandboxing, Skill,
    Turns, ValidLoopConfig,
};

use super::agents::{self, Agents};
use super::choose::{Chooser, Layers};
use super::{Error, Key, Layer, Location, NotifyTable};
use crate::skills::Found;

/// Where metrics go by default, relative to the workspace.
pub(crate) const DEFAULT_METRICS: &str = ".ralph/metrics/ralph-loops.jsonl";

/// What a resolution needs besides flags and files.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    pub objective: String,
    /// The folder to work in, absolute.
    pub workspace: &'a Path,
    /// The user's home folder, for `~/`.
    pub home: &'a Path,
    /// The folder that relative paths on the command line start at.
    pub current: &'a Path,
    /// The skill that [`Layers::skill`] named.
    pub skill: Option<Found>,
    /// The skill for a stall, when [`Layers::wants_deep_debug`].
    pub deep_debug: Option<Skill>,
    /// How many candidates race; none for one loop.
    pub race: Option<u32>,
    /// The agent, where the caller does not choose one but is one.
    pub agent: Option<AgentSpec>,
    /// Agents that were found on this computer, in the order in which they are preferred.
    pub installed: &'a [String],
}

/// A configuration that is complete, and what goes with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub config: ValidLoopConfig,
    /// How many candidates race; none where one loop runs.
    pub race: Option<u32>,
    pub settings: RunSettings,
    /// Where each value came from, in the order of the fields.
    pub sources: Vec<Source>,
    /// Where in a file the values are that come from one.
    pub places: Vec<(Key, Location)>,
}

impl Resolved {
    /// A rule that this machine breaks, with the place of its key where a file has it.
    pub fn in_its_place(&self, rule: ConfigError) -> Error {
        match self.places.iter().find(|(key, _)| key.name() == rule.key) {
            Some((_, at)) => Error::RuleInAFile { at: at.clone(), rule },
            None => Error::Rule(rule),
        }
    }
}

/// What the user's own configuration adds to every run. No part of the journal: a resumed loop gets it anew.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    pub caps: Caps,
    pub notify: NotifyTable,
    /// Where metrics go, absolute.
    pub metrics_path: PathBuf,
    pub prices: PriceList,
}

impl RunSettings {
    /// What the user's file says for runs of a project.
    pub fn new(user: &Layer, project: &Path) -> Result<Self, ConfigError> {
        Ok(Self {
            caps: caps(user),
            notify: user.notify.clone(),
            metrics_path: metrics_path(user, project),
            prices: agents::prices(user)?,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub key: Key,
    pub origin: Origin,
}

/// From where a value can come, the weightiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Flag,
    /// A request: an HTTP body or an MCP call.
    Request,
    Repository,
    User,
    Skill,
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flag => "command line",
            Self::Request => "request",
            Self::Repository => "ralph.toml",
            Self::User => "your configuration",
            Self::Skill => "skill",
            Self::Default => "default",
        })
    }
}

/// The caps of the installation: only the user's own file moves them.
pub fn caps(user: &Layer) -> Caps {
    let default = Caps::default();
    Caps {
        iterations: user.caps.iterations.unwrap_or(default.iterations),
        loop_cost: user.caps.loop_cost_usd.map_or(default.loop_cost, |dollars| dollars.0),
        daily_cost: user.caps.daily_cost_usd.map_or(default.daily_cost, |dollars| dollars.0),
    }
}

/// Where metrics of a workspace go: absolute paths as they are, others relative to the workspace.
pub fn metrics_path(user: &Layer, workspace: &Path) -> PathBuf {
    workspace.join(user.metrics_path.as_deref().unwrap_or(DEFAULT_METRICS))
}

pub fn resolve(layers: Layers<'_>, inputs: Inputs<'_>) -> Result<Resolved, Error> {
    let mut from = Chooser::new(layers);
    match choose(&mut from, inputs) {
        Err(Error::Rule(rule)) => Err(from.in_its_place(rule)),
        chosen => chosen,
    }
}

/// The longest wait for a service by default, where another agent stands by.
const MAX_WAIT_WITH_FAILOVER: Millis = Millis::minutes(10);

/// What the agents of a crew may read and reach: what the caller says, and the user's own file.
///
/// # Errors
/// Names the key and what is allowed.
pub fn resolve_access(layers: Layers<'_>, home: &Path, current: &Path, sandbox: Sandboxing) -> Result<Access, Error> {
    let mut from = Chooser::new(layers);
    let chosen = from.access(home, current).and_then(|access| access.validate(sandbox).map(|()| access));
    chosen.map_err(|rule| from.in_its_place(rule))
}

fn choose(from: &mut Chooser<'_>, inputs: Inputs<'_>) -> Result<Resolved, Error> {
    let user = from.layers.user;
    let caps = caps(user);
    let max_iterations = from.optional(Key::MaxIterations, |layer| layer.max_iterations);
    let max_cost = from.optional(Key::MaxCostUsd, |layer| layer.max_cost_usd.map(|dollars| dollars.0));
    let (found_skill, skill_verify) = match inputs.skill {
        Some(found) => (Some(found.skill), found.verify),
        None => (None, None),
    };
    let promise = from.optional(Key::CompletionPromise, |layer| layer.completion_promise.clone());
    let promise_is_explicit = promise.is_some();
    let skill_promise = found_skill.as_ref().and_then(|skill| skill.promise.clone());
    let completion_promise = promise.unwrap_or_else(|| match skill_promise {
        Some(promise) => from.note(Key::CompletionPromise, Origin::Skill, promise),
        None => from.note(Key::CompletionPromise, Origin::Default, DEFAULT_PROMISE.to_owned()),
    });
    let commands =
        from.optional(Key::VerificationCommand, |layer| layer.verification_command.clone().map(|commands| commands.0));
    let verification_commands = commands.unwrap_or_else(|| match skill_verify {
        Some(command) => from.note(Key::VerificationCommand, Origin::Skill, vec![command]),
        None => from.note(Key::VerificationCommand, Origin::Default, Vec::new()),
    });
    if found_skill.is_some() {
        from.optional(Key::Skill, |layer| layer.skill.clone());
    }
    let agents = match inputs.agent {
        Some(first) => Ok(Agents { first, more: Vec::new(), turns: Turns::default(), failover: Vec::new() }),
        None => from.agents(inputs.installed),
    };
    // An agent that costs nothing needs no budget.
    let is_unmetered = agents.as_ref().is_ok_and(|agents| agents.all().all(|agent| agent.unmetered));
    let max_cost = max_cost.or(is_unmetered.then_some(caps.loop_cost));
    let (max_iterations, max_cost) = match (max_iterations, max_cost) {
        (Some(iterations), Some(cost)) => (iterations, cost),
        (None, Some(_)) => {
            let limits = if is_unmetered { "this limit" } else { "both limits" };
            let allowed = format!("1 to {} iterations", caps.iterations);
            return Err(missing_limit("max_iterations", limits, allowed).into());
        }
        (Some(_), None) => {
            let allowed = format!("more than $0, up to {}", caps.loop_cost);
            return Err(missing_limit("max_cost_usd", "both limits", allowed).into());
        }
        (None, None) => return Err(both_limits(&caps).into()),
    };
    let Agents { first, more, turns, failover } = agents?;
    let usual = LoopConfig::new(inputs.objective, max_iterations, max_cost, first, utf8(inputs.workspace)?);
    let max_wait = if failover.is_empty() { usual.max_wait } else { MAX_WAIT_WITH_FAILOVER };
    let mut config = LoopConfig {
        more_agents: more,
        turns,
        cost_after_run: from.required(Key::CostAfterRun, |layer| layer.cost_after_run, usual.cost_after_run),
        access: from.access(inputs.home, inputs.current)?,
        max_wait: from.required(Key::MaxWait, |layer| layer.max_wait.map(|span| span.0), max_wait),
        failover,
        max_tokens: from.optional(Key::MaxTokens, |layer| layer.max_tokens),
        max_window: from.optional(Key::MaxWindow, |layer| layer.max_window),
        backoff: from.required(Key::Backoff, |layer| layer.backoff.map(|span| span.0), usual.backoff),
        completion_promise,
        promise_is_explicit,
        verification_commands,
        expects: from.expects(),
        junit: from.required(Key::Junit, |layer| layer.junit.clone(), Vec::new()),
        skill: found_skill,
        deep_debug: {
            let wanted = from.required(Key::EscalateToDeepDebug, |layer| layer.escalate_to_deep_debug, false);
            inputs.deep_debug.filter(|_| wanted)
        },
        stall_threshold: from.required(
            Key::StallDetectionThreshold,
            |layer| layer.stall_detection_threshold,
            usual.stall_threshold,
        ),
        same_error_threshold: from.required(
            Key::SameErrorThreshold,
            |layer| layer.same_error_threshold,
            usual.same_error_threshold,
        ),
        context_injection: from.required(
            Key::ContextInjection,
            |layer| layer.context_injection,
            usual.context_injection,
        ),
        pause: from.required(Key::PauseMs, |layer| layer.pause_ms.map(|pause| pause.0), usual.pause),
        iteration_timeout: from.required(
            Key::IterationTimeout,
            |layer| layer.iteration_timeout.map(|span| span.0),
            usual.iteration_timeout,
        ),
        verification_timeout: from.required(
            Key::VerificationTimeout,
            |layer| layer.verification_timeout.map(|span| span.0),
            usual.verification_timeout,
        ),
        // Zero turns it off.
        idle_timeout: Some(from.required(
            Key::IdleTimeout,
            |layer| layer.idle_timeout.map(|span| span.0),
            usual.idle_timeout.unwrap_or_default(),
        ))
        .filter(|span| *span > Millis(0)),
        max_duration: from.optional(Key::MaxDuration, |layer| layer.max_duration.map(|span| span.0)),
        prohibited_paths: from.prohibited()?,
        protected_paths: from.protected()?,
        allowed_test_changes: from.allowed_test_changes()?,
        verify: from.required(Key::Verify, |layer| layer.verify, usual.verify),
        setup: from.required(Key::Setup, |layer| layer.setup.clone().map(|commands| commands.0), Vec::new()),
        retries: from.required(Key::Retries, |layer| layer.retries, usual.retries),
        tripwire: from.required(Key::Tripwire, |layer| layer.tripwire, usual.tripwire),
        require: from.optional(Key::Require, |layer| layer.require),
        sandbox: from.required(Key::Sandbox, |layer| layer.sandbox, usual.sandbox),
        writable: from.writable(inputs.home, inputs.current)?,
        allow_network: from.required(Key::AllowNetwork, |layer| layer.allow_network, usual.allow_network),
        isolation: from.required(Key::Isolation, |layer| layer.isolation, usual.isolation),
        on_blocked: from.required(Key::OnBlocked, |layer| layer.on_blocked, usual.on_blocked),
        keep: from.required(Key::Keep, |layer| layer.keep, usual.keep),
        ratchet: from.required(Key::Ratchet, |layer| layer.ratchet, false),
        commit: from.required(Key::Commit, |layer| layer.commit, false),
        env: from.env()?,
        log_limit: from.required(Key::LogLimit, |layer| layer.log_limit, usual.log_limit),
        max_file_size: from.required(Key::MaxFileSize, |layer| layer.max_file_size, usual.max_file_size),
        ..usual
    };
    if let Some(candidates) = inputs.race {
        race(&mut config, candidates)?;
    }
    let config = config.validate(&caps)?;
    let settings = RunSettings::new(user, inputs.workspace)?;
    agents::refuse_unpriced(&config.agents().collect::<Vec<_>>(), &settings.prices)?;
    let mut sources = std::mem::take(&mut from.sources);
    sources.sort_by_key(|source| source.key);
    let places = sources.iter().filter_map(|source| Some((source.key, from.place(source)?.clone()))).collect();
    Ok(Resolved { config, race: inputs.race, settings, sources, places })
}

fn missing_limit(key: &'static str, limits: &str, allowed: String) -> ConfigError {
    ConfigError::new(key, format!("is required: a loop does not start without {limits}"), allowed)
}

/// The most candidates of one race: each is a worktree and a set of processes.
const MAX_CANDIDATES: u32 = 8;

/// A race needs candidates and a check. Each candidate works in a worktree, and the winner's work is found on its branch.
fn race(config: &mut LoopConfig, candidates: u32) -> Result<(), ConfigError> {
    let problem = match candidates {
        0 | 1 => Some(format!("{candidates} is too few: a race needs at least 2 candidates")),
        2..=MAX_CANDIDATES => None,
        _ => Some(format!("{candidates} is too many: each candidate is a worktree and a set of processes")),
    };
    if let Some(problem) = problem {
        return Err(ConfigError::new("race", problem, format!("2 to {MAX_CANDIDATES}")));
    }
    if config.verification_commands.is_empty() {
        let problem = "needs a check: without one no candidate can win";
        return Err(ConfigError::new("race", problem, "@race together with @verification_command"));
    }
    config.isolation = Isolation::Worktree;
    config.commit = true;
    Ok(())
}

/// All at once: a user who sees one limit at a time types the line three times.
fn both_limits(caps: &Caps) -> ConfigError {
    let allowed = format!("1 to {} iterations, and more than $0, up to {}", caps.iterations, caps.loop_cost);
    ConfigError::new(
        "@max_iterations and @max_cost_usd",
        "are required: a loop does not start without both limits",
        allowed,
    )
}

fn utf8(workspace: &Path) -> Result<String, ConfigError> {
    workspace.to_str().map(str::to_owned).ok_or_else(|| {
        let problem = format!("{} is not UTF-8", workspace.display());
        ConfigError::new("workspace", problem, "a folder whose path is UTF-8 text")
    })
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
