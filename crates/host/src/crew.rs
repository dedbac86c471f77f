//! Starts a crew, continues one, and makes native agents: the parts of a crew that depend on this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_config::trust::Asking;
use ralph_config::{Key, Layer, Layers, RunSettings, resolve_access, writable_paths};
use ralph_crew::{
    Approve, BrokenAgent, CrewConfig, NativeAgent, NativeServices, RepositoryAgent, StreamEvent, Tell, ToolOutcome,
    read_agents, repository_agents,
};
use ralph_llm::Provider;
use ralph_model::{Access, AgentSpec, ConfigError, Money, RunId, Sandboxing};
use ralph_runtime::{
    AskPerson, BuildAgent, CrewLimits, CrewParts, OpenedCrew, PushFiles, RunLoop, Stops, begin_crew, read_crew,
    resume_crew,
};
use ralph_store::Database;
use ralph_view::{Progress, Update, What};
use serde_json::{Value, json};

use crate::agents::Readiness;
use crate::host::ServiceParts;
use crate::models::Models;
use crate::prepare::workspace;
use crate::{Error, Host, RunRequest, preflight};

/// From how many tokens on a conversation is compacted, unless the user's configuration says otherwise, and the least that
/// leaves room for a request and a summary.
const COMPACT_AT: u64 = 160_000;
const MIN_COMPACT_AT: u64 = 1000;
/// Rounds of a request, and of one that is only a short question.
const ROUNDS: u32 = 20;
const ROUNDS_OF_TRIVIAL: u32 = 8;

#[derive(Debug, Clone)]
pub struct CrewRequest {
    /// The request; none opens a conversation.
    pub request: Option<String>,
    /// The folder to work in; the current one where none is given.
    pub workspace: Option<PathBuf>,
    pub max_cost: Money,
    pub models: [Option<String>; 2],
    pub max_rounds: Option<u32>,
    pub approve: Approve,
    /// What else the caller says: what tools and programs may read and reach.
    pub settings: Layer,
}

/// Who watches a crew, and who can be asked.
#[derive(Clone)]
pub struct CrewEdges {
    pub tell: Tell,
    /// Somebody who can be asked right now.
    pub person: Option<AskPerson>,
    pub loops: bool,
    /// Is given the files whenever a delegation ended.
    pub push: Option<PushFiles>,
}

impl Host {
    /// Takes the workspace and records a crew. Nothing runs yet.
    ///
    /// # Errors
    /// When the request is wrong, or impossible on this machine.
    pub async fn start_crew(
        &self,
        request: CrewRequest,
        database: &Database,
        asking: Asking<'_>,
        edges: CrewEdges,
        stops: Stops,
    ) -> Result<OpenedCrew, Error> {
        let user = self.user_settings()?;
        let (config, models) = self.crew_config(&request, &user, asking, &edges).await?;
        let (services, parts) = self.crew_run(database, &models, &user, edges, &config)?;
        Ok(begin_crew(services, config, request.request, parts, stops).await?)
    }

    /// Continues a crew whose files were on another machine, as a crew for the same request would work here. Persons are not asked
    /// to approve anything of the repository.
    ///
    /// # Errors
    /// When it answered, is for another request, or is impossible on this machine.
    pub async fn move_crew(
        &self,
        id: RunId,
        request: CrewRequest,
        database: &Database,
        edges: CrewEdges,
        stops: Stops,
    ) -> Result<OpenedCrew, Error> {
        let user = self.user_settings()?;
        if request.request.as_deref() != Some(read_crew(&database.store, id).await?.request()) {
            let allowed = "the request of the crew that it continues";
            return Err(ConfigError::new("request", format!("another one than that of {}", id.short()), allowed).into());
        }
        let (config, models) = self.crew_config(&request, &user, Asking::Nobody, &edges).await?;
        let (services, parts) = self.crew_run(database, &models, &user, edges, &config)?;
        Ok(resume_crew(services, id, CrewLimits::default(), Some(config), parts, stops).await?)
    }

    async fn crew_config(
        &self,
        request: &CrewRequest,
        user: &Layer,
        mut asking: Asking<'_>,
        edges: &CrewEdges,
    ) -> Result<(CrewConfig, Models), Error> {
        let root = workspace(request.workspace.as_deref(), &self.current)?;
        preflight::refuse_state_inside(&root, &self.dirs.state)?;
        let cap = ralph_config::caps(user).loop_cost;
        if request.max_cost == Money::ZERO || request.max_cost > cap {
            let allowed = format!("more than $0.00 and at most {cap}, the cap of one run ([caps] loop_cost_usd)");
            return Err(ConfigError::new("max_cost_usd", format!("{}", request.max_cost), allowed).into());
        }
        let models = Models::new(self, user, request.models.clone())?;
        let mut agents = read_agents(&self.dirs.agents()).map_err(broken)?;
        for added in repository_agents(&root, &agents) {
            let RepositoryAgent { question, agent } = added.map_err(broken)?;
            // Approvals are kept on this machine, wherever the journal is.
            question.ensure(&self.store().await?, &mut asking, self.now()).await?;
            agents.push(agent);
        }
        let sandbox = user.sandbox.unwrap_or(Sandboxing::On);
        let layers = Layers { caller: &request.settings, repository: None, user };
        let access = resolve_access(layers, &self.user_home(), &self.current, sandbox)?;
        let targets = self.check_access(&access, sandbox, user, &edges.tell)?;
        let trivial = request.request.as_deref().is_some_and(is_trivial);
        let usual = if trivial { ROUNDS_OF_TRIVIAL } else { ROUNDS };
        let config = CrewConfig {
            workspace: root.to_string_lossy().into_owned(),
            max_cost: Some(request.max_cost),
            max_rounds: request.max_rounds.unwrap_or(usual),
            approve: request.approve,
            compact_at: compact_at(user)?,
            agents,
            root: "chapo".to_owned(),
            tools: std::collections::BTreeMap::new(),
            targets,
            models: models.names.to_vec(),
            access,
        };
        Ok((config, models))
    }

    /// Continues a crew.
    ///
    /// # Errors
    /// When it answered, still runs, or its models cannot be asked.
    pub async fn resume_crew(
        &self,
        id: RunId,
        limits: CrewLimits,
        database: &Database,
        edges: CrewEdges,
        stops: Stops,
    ) -> Result<OpenedCrew, Error> {
        let user = self.user_settings()?;
        let config = read_crew(&database.store, id).await?.config().clone();
        let mut names = config.models.iter().cloned();
        let models = Models::new(self, &user, [names.next(), names.next()])?;
        let (services, parts) = self.crew_run(database, &models, &user, edges, &config)?;
        Ok(resume_crew(services, id, limits, None, parts, stops).await?)
    }

    /// Refuses what the sandbox of this machine cannot do and the user requires, and warns of what it cannot do besides. A
    /// program that would not reach its model service is no target, nor is one that no spent budget stops unless the user permits it.
    fn check_access(
        &self,
        access: &Access,
        sandbox: Sandboxing,
        user: &Layer,
        tell: &Tell,
    ) -> Result<Vec<String>, Error> {
        preflight::refuse_open_network(access, sandbox, self)?;
        let mut warnings = preflight::sandbox_warnings(access, sandbox, self);
        let env = user.env.clone().unwrap_or_default();
        let mut targets = self.installed(user);
        targets.retain(|name| {
            let Some(spec) = ralph_config::agents::ready_made(name) else { return false };
            if let Some(why) = preflight::unreachable_service(access, &spec, &env, self) {
                warnings.push(format!("--agent-network model: {why}, so it is no target"));
                return false;
            }
            let is_unseen = preflight::spends_unseen(access.meter, &env, &spec, self) && user.cost_after_run != Some(true);
            if is_unseen {
                warnings.push(format!(
                    "{name} is no target: it reports its cost only after a run; an API key for it, or `cost_after_run = true` in your configuration, \
                     permits it"
                ));
            }
            !is_unseen
        });
        warnings.into_iter().for_each(|text| tell(StreamEvent::Warning { text }));
        Ok(targets)
    }

    /// What a crew runs with on this machine.
    fn crew_run(
        &self,
        database: &Database,
        models: &Models,
        user: &Layer,
        edges: CrewEdges,
        config: &CrewConfig,
    ) -> Result<(ralph_runtime::Services, CrewParts), Error> {
        let settings = RunSettings::new(user, Path::new(&config.workspace))?;
        let tell = Arc::clone(&edges.tell);
        let watcher = Arc::new(move |update: Update| {
            if let What::Progress { progress: Progress::Warning { text } } = update.what {
                tell(StreamEvent::Warning { text });
            }
        });
        let env = user.env.clone().unwrap_or_default();
        let store = database.store.clone();
        let mut services =
            self.services_of(store, &env, std::iter::empty(), &settings, watcher, ServiceParts::default())?;
        let home = self.user_home();
        let more = writable_paths(user.sandbox_writable.as_deref().unwrap_or_default(), &home, &home)?;
        services.writable.extend(preflight::existing(&more, &home)?.into_iter().map(PathBuf::from));
        let parts = CrewParts {
            board: database.board.clone(),
            ask: models.asking(),
            model_name: models.priced(),
            extend_tools: self.extend_tools(user, Some(database.board.clone()), &config.access)?,
            sandbox: user.sandbox.unwrap_or(Sandboxing::On),
            mcp_servers: self.mcp_servers(user)?,
            person: edges.person,
            run_loop: edges.loops.then(|| self.run_loop(database.clone(), config)),
            push: edges.push,
            tell: edges.tell,
        };
        Ok((services, parts))
    }

    /// Whether a crew could ask a model here: the one that is named, or a usual one for which there is a key.
    pub fn has_models(&self, model: Option<&str>) -> bool {
        let user = self.user_settings();
        user.is_ok_and(|user| Models::new(self, &user, [model.map(str::to_owned), None]).is_ok())
    }

    /// Whether there is a key for one of the models that are known by name, or a model of the user's own.
    pub(crate) fn models_readiness(&self) -> Readiness {
        let has_key = |name: &str| self.variable(name).is_some_and(|value| !value.is_empty());
        let is_known = Provider::ALL.iter().any(|provider| has_key(provider.key_variable()));
        let has_own = || self.user_settings().is_ok_and(|user| !user.models.is_empty());
        if is_known || has_own() { Readiness::Usable } else { Readiness::Missing }
    }

    /// Programs on this machine that work can be handed to.
    fn installed(&self, user: &Layer) -> Vec<String> {
        let usable = self.usable_agents(user);
        let is_program = |name: &String| {
            let spec = ralph_config::agents::ready_made(name);
            spec.is_some_and(|spec| spec.launch.is_some() && self.readiness(&spec) == Readiness::Usable)
        };
        usable.into_iter().filter(is_program).collect()
    }

    /// Runs a loop for a crew, as `ralph run` does.
    fn run_loop(&self, database: Database, config: &CrewConfig) -> RunLoop {
        let (host, root, access) = (self.clone(), PathBuf::from(&config.workspace), config.access.clone());
        Arc::new(move |arguments, most, stops| {
            let (host, store, root) = (host.clone(), database.store.clone(), root.clone());
            let access = access.clone();
            Box::pin(async move {
                let started = async {
                    let (settings, objective) = loop_settings(&arguments, most, access)?;
                    let workspace = Some(root);
                    let request = RunRequest { settings, objective, workspace, ..RunRequest::default() };
                    let prepared = host.prepare(request, Asking::Nobody).await.map_err(|error| error.to_string())?;
                    let opened = host.start(prepared.resolved, store, Arc::new(|_| {}), stops).await;
                    let result = opened.map_err(|error| error.to_string())?.run().await;
                    result.map_err(|error| error.chain())
                };
                match started.await {
                    Ok(ended) => {
                        let result = ended.result;
                        let summary = format!("loop {}: {}", result.loop_id.short(), result.headline());
                        let success = result.exit_code == ralph_model::exit_code::COMPLETED;
                        let text = format!("{summary}\n{}", result.details);
                        let external_id = Some(result.loop_id.to_string());
                        (ToolOutcome { success, text, summary, external_id, next_step: None }, result.cost)
                    }
                    Err(why) => (ToolOutcome::failed(why), Money::ZERO),
                }
            })
        })
    }

    /// Makes agents: those of the registry, and native ones with the models of this user.
    pub(crate) fn build_agent(&self) -> Result<BuildAgent, Error> {
        let (host, user) = (self.clone(), self.user_settings()?);
        Ok(Arc::new(move |spec, services| {
            if spec.kind != AgentSpec::NATIVE {
                return ralph_agents::build(spec, services);
            }
            let wrong = |why: String| ralph_agents::Error::NoModel { agent: spec.name.clone(), why };
            let models = Models::new(&host, &user, [spec.model.clone(), None]);
            let models = models.map_err(|error| wrong(error.to_string()))?;
            let agents = read_agents(&host.dirs.agents()).map_err(|error| wrong(error.to_string()))?;
            let (ask, model_name) = (models.asking(), models.priced());
            let compact_at = compact_at(&user).map_err(|error| wrong(error.to_string()))?;
            let native = NativeServices { agents, ask, model_name, unmetered: spec.unmetered, compact_at };
            Ok(Box::new(NativeAgent::new(native, services)))
        }))
    }
}

/// The settings of a loop from the arguments of a call. The limits of the crew are those of its loop.
fn loop_settings(arguments: &Value, most: Money, access: Access) -> Result<(Layer, String), String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let objective = text("objective").ok_or("missing argument `objective`")?.to_owned();
    let command = text("verification_command").ok_or("missing argument `verification_command`")?;
    let known = ["objective", "verification_command", "max_iterations", "max_cost_usd", "agent"];
    let unknown = arguments.as_object().into_iter().flatten().find(|(name, _)| !known.contains(&name.as_str()));
    if let Some((name, _)) = unknown {
        return Err(format!("unknown argument `{name}`: use {}", known.join(", ")));
    }
    let cost = arguments.get("max_cost_usd").and_then(Value::as_f64).and_then(|own| Money::from_number(own).ok());
    let cost = cost.map_or(most, |cost| cost.min(most));
    let mut object = json!({ "verificationCommand": command, "maxCostUsd": cost.to_json_number() });
    object["maxIterations"] = arguments.get("max_iterations").cloned().unwrap_or_else(|| json!(10));
    if let Some(agent) = text("agent") {
        object["agent"] = json!(agent);
    }
    let object = object.as_object().cloned().unwrap_or_default();
    let layer = Layer::from_json(&object).map_err(|error| error.to_string())?;
    let layer = Layer {
        meter: Some(access.meter),
        record_requests: Some(access.record_requests),
        hide: Some(access.hide),
        allow_read: Some(access.allow_read),
        agent_network: Some(access.agent_network),
        allow_host: Some(access.allow_hosts),
        ..layer
    };
    Ok((layer, objective))
}

fn broken(error: BrokenAgent) -> ConfigError {
    ConfigError::new("agents", error.to_string(), "an agent file as in docs/crew.md")
}

/// From how many tokens on a conversation is compacted.
fn compact_at(user: &Layer) -> Result<u64, ConfigError> {
    let wanted = user.crew.compact_at.unwrap_or(COMPACT_AT);
    match wanted >= MIN_COMPACT_AT {
        true => Ok(wanted),
        false => {
            Err(ConfigError::new(Key::CrewCompactAt.name(), wanted.to_string(), format!("{MIN_COMPACT_AT} or more")))
        }
    }
}

/// A short question needs no plan.
fn is_trivial(request: &str) -> bool {
    let request = request.trim();
    request.ends_with('?') && request.lines().count() == 1 && request.split_whitespace().count() <= 12
}

#[cfg(test)]
#[path = "crew_tests.rs"]
mod tests;
