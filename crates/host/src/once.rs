//! One pass of an agent without a loop: no journal, no snapshot, no checks. For a request that must not fail because Ralph's
//! own machinery did.

use std::path::PathBuf;
use std::sync::Arc;

use ralph_agents::{AgentServices, AgentTask, Observed, ProcessBase, Prohibited, StopSignal};
use ralph_config::agents::refuse_late_cost;
use ralph_config::{Inputs, Layers, RunSettings, resolve};
use ralph_model::{AgentEvent, AgentNetwork, AgentSpec, ConfigError, LoopConfig, Sandboxing, TestListing};
use ralph_process::{Files, Network, ReadLevel, Sandbox, Supervisor};
use ralph_runtime::{Asking, list_tests};
use ralph_workspace::StopFlag;

use crate::{Error, Host, RunRequest, environment, sandbox, workspace};

pub struct OnePass {
    config: LoopConfig,
    settings: RunSettings,
}

impl OnePass {
    pub fn agent(&self) -> String {
        self.config.agent.title()
    }
}

impl Host {
    /// Finds out who works, from the caller's settings and the user's own: a repository's need approval, which may be what failed.
    ///
    /// # Errors
    /// When the settings are wrong, or ask for a sandbox that only a loop has.
    pub fn one_pass(&self, request: &RunRequest) -> Result<OnePass, Error> {
        let folder = workspace(request.workspace.as_deref(), &self.current)?;
        let user = self.user_settings()?;
        let installed = self.usable_agents(&user);
        let inputs = Inputs {
            objective: request.objective.clone(),
            workspace: &folder,
            home: &self.user_home(),
            current: &self.current,
            skill: None,
            deep_debug: None,
            race: None,
            agent: None,
            installed: &installed,
        };
        let layers = Layers { caller: &request.settings, repository: None, user: &user };
        let resolved = resolve(layers, inputs)?;
        refuse_late_cost(&resolved.config, |_| false)?;
        if resolved.config.sandbox == Sandboxing::Require && matches!(self.level().files, Files::Open { .. }) {
            return Err(ConfigError::new("sandbox", "this machine has none", "on, or off").into());
        }
        if resolved.config.access.agent_network == AgentNetwork::Model {
            let problem = "without a loop nothing restricts the network of an agent";
            return Err(ConfigError::new("agent_network", problem, "@agent_network full").into());
        }
        Ok(OnePass { config: resolved.config.into_inner(), settings: resolved.settings })
    }

    pub async fn run_once(
        &self,
        pass: &OnePass,
        stop: StopSignal,
        events: &mut (dyn FnMut(AgentEvent) + Send),
    ) -> Result<Observed, ralph_agents::Error> {
        let OnePass { config, settings } = pass;
        let agent = &config.agent;
        let redactor = self.redactor();
        let scratch = tempfile::Builder::new()
            .prefix("ralph-once-")
            .tempdir_in(self.temp_dir())
            .map_err(|source| ralph_agents::Error::Scratch { path: self.temp_dir(), source })?;
        let base = ProcessBase {
            directory: PathBuf::from(&config.workspace),
            environment: self.once_environment(agent, &config.env),
            scratch: scratch.path().to_owned(),
            log: scratch.path().join("agent.log"),
            log_limit: config.log_limit,
            idle: config.idle_timeout,
            sandbox: self.once_sandbox(config, Some(agent), scratch.path().to_owned(), Network::Allowed),
            hold: Vec::new(),
            redactor: Arc::clone(&redactor),
            prices: Arc::new(settings.prices.clone()),
            prohibited: Prohibited { globs: config.prohibited_paths.clone(), ..Prohibited::default() },
            mcp_server: None,
            counted: Arc::default(),
            now: self.clock(),
        };
        let supervisor = Arc::new(Supervisor::new(self.reaper(), redactor));
        let agent = ralph_agents::build(agent, AgentServices { supervisor, base })?;
        let task = AgentTask {
            delegation: ralph_engine::delegation(config, &config.agent),
            prompt: config.objective.clone(),
            budget: (!config.agent.unmetered).then_some(config.max_cost),
            timeout: config.iteration_timeout,
        };
        agent.run(&task, stop, events).await
    }

    pub(crate) fn once_environment(
        &self,
        agent: &AgentSpec,
        named: &[String],
    ) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        let chosen = environment::choose(self.variables().iter().cloned(), named);
        let own = self.agent_variables(chosen.for_agents, &self.written_variables())(agent);
        chosen.variables.into_iter().chain(own).collect()
    }

    /// What the test runners of a loop with this configuration say of their tests.
    pub async fn list_tests(&self, config: &LoopConfig) -> Vec<TestListing> {
        let Ok(scratch) = tempfile::Builder::new().prefix("ralph-tests-").tempdir_in(self.temp_dir()) else {
            return Vec::new();
        };
        let supervisor = Supervisor::new(self.reaper(), self.redactor());
        let network = if config.allow_network { Network::Allowed } else { Network::Loopback };
        let sandbox = self.once_sandbox(config, None, scratch.path().to_owned(), network);
        let (environment, stop) = (self.check_environment(&config.env), StopFlag::default());
        let asking =
            Asking { supervisor: &supervisor, environment: &environment, sandbox, logs: scratch.path(), stop: &stop };
        list_tests(config, asking).await
    }

    /// How one agent, or a check where there is none, is kept inside.
    fn once_sandbox(
        &self,
        config: &LoopConfig,
        who: Option<&AgentSpec>,
        scratch: PathBuf,
        network: Network,
    ) -> Option<Sandbox> {
        if config.sandbox == Sandboxing::Off {
            return None;
        }
        let mut writable = vec![PathBuf::from(&config.workspace), scratch];
        writable.extend(sandbox::writable(|name| self.variable(name)));
        writable.extend(who.into_iter().flat_map(|agent| sandbox::settings(agent, |name| self.variable(name))));
        writable.extend(config.writable.iter().map(PathBuf::from));
        let writable = writable.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut hidden = vec![self.dirs.state.clone()];
        let level = self.level();
        if level.reads == ReadLevel::Hidden {
            let environment = match who {
                Some(agent) => self.once_environment(agent, &config.env),
                None => self.check_environment(&config.env),
            };
            hidden.extend(sandbox::hidden(who, &environment, |name| self.variable(name)));
            hidden.extend(config.access.hide.iter().map(PathBuf::from));
            hidden.retain(|path| !config.access.allow_read.iter().any(|allowed| path.starts_with(allowed)));
        }
        let sandbox = Sandbox { writable, hidden, network, level };
        // As in a loop: where the state lies below something that is writable, it cannot be hidden.
        let is_kept = config.sandbox == Sandboxing::Require || sandbox.check().is_ok();
        Some(if is_kept { sandbox } else { Sandbox { hidden: Vec::new(), ..sandbox } })
    }
}
