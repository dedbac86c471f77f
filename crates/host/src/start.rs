//! Starts a run: the one way in for the command line, the server, workers, MCP and hooks.

use std::path::PathBuf;

use ralph_config::trust::Asking;
use ralph_config::{Layer, Origin, Resolved, RunSettings};
use ralph_model::{AgentSpec, ConfigError, LoopConfig, LoopId, PriceList, RunKind};
use ralph_runtime::{Opened as OpenedLoop, OpenedRace, Resume, Stops, Watcher, begin, begin_race, resume, resume_race};
use ralph_store::StoreHandle;
use ralph_view::RaceResult;

use crate::prepare::workspace;
use crate::{Error, Host, own_models, preflight};

#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// The settings that the caller gives: flags, an HTTP body, the arguments of an MCP call.
    pub settings: Layer,
    /// What the agent has to achieve, byte for byte.
    pub objective: String,
    /// The folder to work in; the current one where none is given.
    pub workspace: Option<PathBuf>,
    /// How many candidates race; none for one loop.
    pub race: Option<u32>,
    /// The agent, where the caller does not choose one but is one.
    pub agent: Option<AgentSpec>,
}

/// A run that can be started: resolved, approved, valid, and possible on this machine.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub resolved: Resolved,
    /// What somebody should know before it runs.
    pub warnings: Vec<String>,
}

/// A run that holds its workspace and waits to be run.
pub enum Opened {
    Loop(Box<OpenedLoop>),
    Race(Box<OpenedRace>),
}

impl Opened {
    pub const fn loop_id(&self) -> Option<LoopId> {
        match self {
            Self::Loop(opened) => Some(opened.loop_id()),
            Self::Race(_) => None,
        }
    }

    pub async fn run(self) -> Result<RaceResult, ralph_runtime::Error> {
        match self {
            Self::Loop(opened) => opened.run().await.map(|result| RaceResult { result, race: Vec::new() }),
            Self::Race(opened) => opened.run().await,
        }
    }
}

impl Host {
    /// Reads the files, asks for approval where it is needed, resolves and checks. Starts nothing.
    pub async fn prepare(&self, request: RunRequest, asking: Asking<'_>) -> Result<Prepared, Error> {
        let workspace = workspace(request.workspace.as_deref(), &self.current)?;
        // Before the store is opened, which would make files there.
        preflight::refuse_state_inside(&workspace, &self.dirs.state)?;
        let store = self.store().await?;
        let mut resolved = self.resolve(&request, &workspace, &store, asking).await?;
        let writable = preflight::existing(&resolved.config.writable, &self.user_home())
            .map_err(|rule| resolved.in_its_place(rule))?;
        resolved.config = resolved.config.with_writable(writable);
        preflight::check(&resolved, self).map_err(|error| match error {
            // A value that comes from a file is shown there.
            Error::Settings(ralph_config::Error::Rule(rule)) => resolved.in_its_place(rule).into(),
            error => error,
        })?;
        own_models::refuse_unpriced(&resolved.config, &resolved.settings.prices, self)
            .await
            .map_err(|rule| resolved.in_its_place(rule))?;
        let mut warnings = preflight::cautions(&resolved.config, &self.git()?, &self.temp_dir());
        warnings.extend(self.agent_warnings(&resolved.config));
        if request.workspace.is_none() && self.current.canonicalize().is_ok_and(|current| current != workspace) {
            let folder = workspace.display();
            warnings.push(format!(
                "the workspace is {folder}, because of its ralph.toml; --workspace . works in this folder"
            ));
        }
        let agents: Vec<String> = resolved.config.agents().map(AgentSpec::title).collect();
        for source in resolved.sources.iter().filter(|source| source.origin != Origin::Default) {
            tracing::debug!(key = source.key.name(), origin = %source.origin, "setting");
        }
        tracing::debug!(?workspace, ?agents, race = resolved.race, warnings = warnings.len(), "the run can start");
        Ok(Prepared { resolved, warnings })
    }

    /// Takes the workspace and records the run. Nothing runs yet.
    ///
    /// # Errors
    /// When another loop works there, or the state cannot be written.
    pub async fn start(
        &self,
        resolved: Resolved,
        store: StoreHandle,
        watcher: Watcher,
        stops: Stops,
    ) -> Result<Opened, Error> {
        let services = self.services(store, &resolved.config, &resolved.settings, watcher)?;
        Ok(match resolved.race {
            Some(candidates) => Opened::Race(Box::new(begin_race(services, resolved.config, candidates, stops).await?)),
            None => Opened::Loop(Box::new(begin(services, resolved.config, stops).await?)),
        })
    }

    /// Continues a loop or a race whose configuration is `config` by now, other agents included.
    ///
    /// # Errors
    /// When the loop is complete, still runs, or would hit its limit again at once.
    #[expect(clippy::too_many_arguments, reason = "three say which loop and how, three who watches and stops it")]
    pub async fn resume(
        &self,
        loop_id: LoopId,
        wanted: Resume,
        config: &LoopConfig,
        user: &Layer,
        store: StoreHandle,
        watcher: Watcher,
        stops: Stops,
    ) -> Result<Opened, Error> {
        // A loop in a worktree is counted where it was started.
        let project = PathBuf::from(config.origin.as_ref().unwrap_or(&config.workspace));
        let settings = RunSettings::new(user, &project)?;
        let kind = store.run(loop_id).await?.kind;
        let services = self.services(store, config, &settings, watcher)?;
        Ok(match kind {
            RunKind::Race => Opened::Race(Box::new(resume_race(services, loop_id, stops).await?)),
            RunKind::Loop | RunKind::Crew => Opened::Loop(Box::new(resume(services, loop_id, wanted, stops).await?)),
        })
    }

    /// Refuses agents of a loop that is continued: those that are not there, and those that no spent budget can stop unless the user
    /// permits it or the loop had them before.
    pub fn check_agents(&self, config: &LoopConfig, before: &[AgentSpec]) -> Result<(), ConfigError> {
        preflight::check_agents(config, before, self)
    }

    /// Refuses agents whose own settings choose a model that has no price.
    pub async fn check_prices(&self, config: &LoopConfig, prices: &PriceList) -> Result<(), ConfigError> {
        own_models::refuse_unpriced(config, prices, self).await
    }

    /// A warning for each agent without a login that can be seen, or that no spent budget stops.
    pub fn agent_warnings(&self, config: &LoopConfig) -> Vec<String> {
        preflight::agent_warnings(config, self)
    }
}
