//! What the program finds around itself, and the services of a run that are made from it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use ralph_agents::{McpServer, Program, has_key_in_settings};
use ralph_config::{Layer, Links, RunSettings, read, read_user};
use ralph_llm::Egress;
use ralph_model::{AgentSpec, Caps, ConfigError, Launch, LoopConfig, Timestamp};
use ralph_process::{Level, ReaperProgram, Supervisor};
use ralph_runtime::{
    AgentSettings, AgentSignals, AgentVariables, CrashPoint, HiddenPaths, Home, Ledger, Services, UserGit, Watcher,
};
use ralph_store::{Machine, StoreHandle};
use ralph_text::Redactor;
use ralph_workspace::repository::Author;

use crate::agents::{Readiness, preferred};
use crate::traces::TraceSetting;
use crate::{Dirs, Error, NoHome, database, environment, sandbox};

/// The first argument that makes the program a reaper.
pub const REAPER: &str = "__reaper";
/// The first argument that makes the program answer an agent that asks before it writes.
pub const GUARD: &str = "__guard";

/// What the program found when it started.
#[derive(Debug, Clone)]
pub struct HostInput {
    pub variables: Vec<(OsString, OsString)>,
    pub current: PathBuf,
    /// The running program, which is also the reaper of what it runs and answers agents that ask before they write.
    pub program: PathBuf,
    pub version: String,
    pub machine: Machine,
    pub now: fn() -> Timestamp,
    pub crash: Option<CrashPoint>,
}

/// This machine, as one program sees it.
#[derive(Debug, Clone)]
pub struct Host {
    pub dirs: Dirs,
    pub current: PathBuf,
    /// What agents and checks may write besides the workspace; none means what they usually need.
    pub writable: Option<Vec<PathBuf>>,
    pub for_agents: ForAgents,
    pub(crate) ledger: Ledger,
    input: HostInput,
    traces: TraceSetting,
}

/// What a program gives to the agents that it runs, besides what agents usually get. Checks get nothing of it.
#[derive(Debug, Clone, Default)]
pub struct ForAgents {
    /// Variables. Values of those that look like secrets are redacted.
    pub variables: Vec<(String, String)>,
    pub writable: Vec<PathBuf>,
    pub mcp_server: Option<McpServer>,
    pub signals: AgentSignals,
}

/// What is made anew where it is not there yet.
#[derive(Default)]
pub(crate) struct ServiceParts {
    pub(crate) supervisor: Option<Arc<Supervisor>>,
    /// What git knows of the user.
    pub(crate) user_git: Option<UserGit>,
}

impl Host {
    /// A host from what the program found.
    pub fn new(input: HostInput) -> Result<Self, NoHome> {
        let variable = |name: &str| value_of(&input.variables, name);
        let (dirs, current) = (Dirs::from_variables(variable)?, input.current.clone());
        let traces = TraceSetting::from_variables(|name| variable(name)?.into_string().ok());
        Ok(Self {
            dirs,
            current,
            writable: None,
            for_agents: ForAgents::default(),
            ledger: Ledger::Written,
            input,
            traces,
        })
    }

    pub fn user_settings(&self) -> Result<Layer, ralph_config::Error> {
        read_user(&self.dirs.config_file())
    }

    /// The workspace that commands without one are about.
    pub fn folder(&self) -> Result<PathBuf, Error> {
        crate::workspace(None, &self.current)
    }

    pub fn caps(&self) -> Result<Caps, ralph_config::Error> {
        self.user_settings().map(|user| ralph_config::caps(&user))
    }

    pub fn version(&self) -> &str {
        &self.input.version
    }

    /// This program as a server of tools for an agent, which finds these variables in its environment.
    pub fn mcp_server(&self, variables: Vec<String>) -> McpServer {
        McpServer { program: self.input.program.clone(), arguments: vec!["mcp".to_owned()], variables }
    }

    /// Waits a moment for traces of runs that are on their way. Does nothing where none are sent.
    pub async fn flush_traces(&self) {
        self.traces.flush().await;
    }

    pub fn home(&self) -> Home {
        Home::new(self.dirs.state.clone())
    }

    /// Opens the store, and makes it where there is none.
    pub async fn store(&self) -> Result<StoreHandle, Error> {
        database::open(&self.dirs).await
    }

    /// Opens the store for a command about loops that exist.
    pub async fn existing_store(&self) -> Result<StoreHandle, Error> {
        database::open_existing(&self.dirs).await?.ok_or(Error::NoLoops)
    }

    /// Everything a loop needs from outside.
    pub(crate) fn services(
        &self,
        store: StoreHandle,
        config: &LoopConfig,
        settings: &RunSettings,
        watcher: Watcher,
    ) -> Result<Services, Error> {
        self.services_of(store, &config.env, config.agents(), settings, watcher, ServiceParts::default())
    }

    /// The same for a run that names the variables and agents that it uses.
    pub(crate) fn services_of<'a>(
        &self,
        store: StoreHandle,
        env: &[String],
        agents: impl Iterator<Item = &'a AgentSpec>,
        settings: &RunSettings,
        watcher: Watcher,
        prepared: ServiceParts,
    ) -> Result<Services, Error> {
        let chosen = environment::choose(self.input.variables.iter().cloned(), env);
        if let Some(name) = chosen.absent.first() {
            let problem = format!("{name} is not set");
            return Err(ConfigError::new("env", problem, "names of variables that exist").into());
        }
        let usual = self.writable.is_none();
        if usual {
            self.make_caches();
            self.make_settings(agents);
        }
        let given = self.for_agents.variables.iter().map(|(name, value)| (name.into(), value.into()));
        let named = chosen.for_agents.into_iter().chain(given).collect();
        let agent_variables = self.agent_variables(named, &self.written_variables());
        let supervisor = prepared.supervisor.unwrap_or_else(|| self.supervisor());
        let git = self.git()?;
        let user_git = prepared.user_git.unwrap_or_else(|| self.user_git(&git));
        Ok(Services {
            home: self.home(),
            store,
            machine: self.input.machine.clone(),
            redactor: Arc::clone(supervisor.redactor()),
            supervisor,
            build_agent: self.build_agent()?,
            user_git,
            git,
            settings: self.agent_settings(usual),
            kept: self.kept_settings(usual),
            hidden: self.hidden_paths(usual),
            writable: self.writable.clone().unwrap_or_else(|| sandbox::writable(|name| self.variable(name))),
            level: self.level(),
            environment: chosen.variables,
            agent_variables,
            prices: Arc::new(settings.prices.clone()),
            egress: self.egress(),
            ledger: self.ledger,
            mcp_server: self.for_agents.mcp_server.clone(),
            hook: Some(vec![self.input.program.clone().into_os_string(), GUARD.into()]),
            caps: settings.caps,
            metrics: Some(settings.metrics_path.clone()),
            notify: settings.notify.command.clone(),
            notifier: self.notifier(&settings.notify)?,
            version: self.input.version.clone(),
            watcher: self.traces.watched_by(watcher),
            signals: self.for_agents.signals.clone(),
            now: self.input.now,
            crash: self.input.crash,
        })
    }

    fn supervisor(&self) -> Arc<Supervisor> {
        Arc::new(Supervisor::new(self.reaper(), self.redactor()))
    }

    /// What runs programs, for a loop whose checks are about to run: it starts while the loop is opened.
    pub fn prepare_supervisor(&self) -> Arc<Supervisor> {
        let supervisor = self.supervisor();
        let preparing = Arc::clone(&supervisor);
        // It waits until a program is executed.
        tokio::task::spawn_blocking(move || preparing.prepare());
        supervisor
    }

    /// Knows the secrets of this user, as far as they can be found: in the environment, and where agents keep them.
    pub fn redactor(&self) -> Arc<Redactor> {
        let mut secrets = environment::choose(self.input.variables.iter().cloned(), &[]).secrets;
        secrets.extend(environment::secrets(self.written_variables()));
        secrets.extend(environment::secrets(self.for_agents.variables.clone()));
        // Anyone who knows the address of a webhook can write there.
        let webhook = self.user_settings().ok().and_then(|user| user.notify.webhook);
        secrets.extend(webhook.map(|url| ("notify.webhook".to_owned(), url)));
        let password = database::url(&self.dirs).ok().flatten().and_then(|url| database::password(&url));
        secrets.extend(password.map(|password| (database::VARIABLE.to_owned(), password)));
        Arc::new(Redactor::new(secrets))
    }

    /// Variables in files that agents read by themselves. A file that cannot be read hands out no secret.
    pub(crate) fn written_variables(&self) -> Vec<(String, String)> {
        let read = |path: PathBuf| {
            let bytes = read(&path, Links::Follow).ok().flatten()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let home = self.user_home();
        let claude = self.variable("CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), PathBuf::from);
        let homes = self.variable("GEMINI_CLI_HOME").map(PathBuf::from).into_iter().chain([home]);
        let files = homes.flat_map(|home| [home.join(".gemini/.env"), home.join(".env")]);
        let gemini: Vec<String> = files.filter_map(read).collect();
        environment::written(read(claude.join("settings.json")).as_deref(), &gemini)
    }

    /// How requests to model services leave this machine.
    pub(crate) fn egress(&self) -> Egress {
        Egress::from_variables(|name| self.variable(name)?.into_string().ok())
    }

    /// Makes the usual caches in the user's home where they are missing. Whatever needs one that cannot be made says so itself.
    fn make_caches(&self) {
        let home = self.user_home();
        let is_home = home.is_absolute() && home.parent().is_some() && home.is_dir();
        for name in sandbox::MADE_BEFORE.iter().filter(|_| is_home) {
            match std::fs::create_dir(home.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    tracing::debug!(%error, name, "a cache could not be made");
                }
                Ok(()) | Err(_) => {}
            }
        }
    }

    /// Makes the folders in which an agent keeps its own things, because inside the sandbox it could not. One that cannot be
    /// made is the agent's to tell of.
    fn make_settings<'a>(&self, agents: impl Iterator<Item = &'a AgentSpec>) {
        let home = self.user_home();
        if !home.is_absolute() || home.parent().is_none() || !home.is_dir() {
            return;
        }
        let folders = agents.filter_map(Program::of).flat_map(|program| program.made);
        for folder in folders {
            if let Err(error) = std::fs::create_dir_all(home.join(folder)) {
                tracing::debug!(%error, folder, "a folder for an agent's settings could not be made");
            }
        }
    }

    /// What each kind of agent may write besides what all may; nothing where the caller says itself what may be written.
    fn agent_settings(&self, usual: bool) -> AgentSettings {
        let (variables, given) = (self.input.variables.clone(), self.for_agents.writable.clone());
        Arc::new(move |agent| {
            let value = |name: &str| value_of(&variables, name);
            let own = if usual { sandbox::settings(agent, value) } else { Vec::new() };
            own.into_iter().chain(given.iter().cloned()).collect()
        })
    }

    /// What of that says how the agent works.
    fn kept_settings(&self, usual: bool) -> AgentSettings {
        let variables = self.input.variables.clone();
        Arc::new(move |agent| {
            let value = |name: &str| value_of(&variables, name);
            if usual { sandbox::kept(agent, value) } else { Vec::new() }
        })
    }

    /// What agents and checks may not read.
    fn hidden_paths(&self, usual: bool) -> HiddenPaths {
        let variables = self.input.variables.clone();
        Arc::new(move |who, environment| {
            let value = |name: &str| value_of(&variables, name);
            if usual { sandbox::hidden(who, environment, value) } else { Vec::new() }
        })
    }

    /// What each kind of agent finds in its environment besides what all processes have: secrets that the user named, and what is
    /// its program's own. A cloud can be chosen in a file of the program, too.
    pub(crate) fn agent_variables(
        &self,
        named: Vec<(OsString, OsString)>,
        written: &[(String, String)],
    ) -> AgentVariables {
        let variables = self.input.variables.clone();
        let written: Vec<(OsString, OsString)> =
            written.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Arc::new(move |agent| {
            let Some(program) = Program::of(agent) else {
                let keys = named.iter().filter_map(|(name, _)| name.to_str());
                let addresses: Vec<&str> = keys.flat_map(ralph_agents::addresses_of_key).copied().collect();
                let goes_along = |name: &OsString| addresses.iter().any(|address| name == address);
                return named.iter().chain(variables.iter().filter(|(name, _)| goes_along(name))).cloned().collect();
            };
            let is_set = |switch: &str| {
                let value = variables.iter().chain(&written).find(|(name, _)| name == switch).map(|(_, value)| value);
                value.and_then(|value| value.to_str()).is_some_and(|value| !["", "0", "false"].contains(&value))
            };
            let own = |name: &OsString| {
                let is_named = named.iter().any(|(known, _)| known == name);
                !is_named && name.to_str().is_some_and(|name| program.owns(name) || program.reaches(name, is_set))
            };
            named.iter().chain(variables.iter().filter(|(name, _)| own(name))).cloned().collect()
        })
    }

    /// The agents whose program is here, in the user's order, first those that somebody is logged in to.
    pub fn usable_agents(&self, user: &Layer) -> Vec<String> {
        preferred(user, |spec| self.readiness(spec))
    }

    pub fn readiness(&self, spec: &AgentSpec) -> Readiness {
        match (self.program_of(spec), Program::of(spec)) {
            (None, _) if spec.kind == AgentSpec::NATIVE => self.models_readiness(),
            (None, _) if spec.launch.is_some() => Readiness::Missing,
            (_, Some(program)) if !self.is_logged_in(program) => Readiness::NoLogin,
            (_, _) => Readiness::Usable,
        }
    }

    /// The program behind an agent; for a line of shell, the one that it begins with.
    pub fn program_of(&self, spec: &AgentSpec) -> Option<PathBuf> {
        let name = match spec.launch.as_ref()? {
            Launch::Command(line) => line.split_whitespace().next()?,
            Launch::Program(program) => program.as_str(),
        };
        if name.contains('/') {
            return Some(self.current.join(name)).filter(|path| path.is_file());
        }
        find_program(name, &self.search_path())
    }

    /// Whether a key or the trace of a login is there. Whether it is still good only the service knows.
    fn is_logged_in(&self, program: &Program) -> bool {
        let key = |name: &&&str| self.variable(name).is_some_and(|value| !value.is_empty());
        let home = self.user_home();
        let login = |(folder, file): &(Option<&str>, &str)| match folder {
            Some(variable) => self.variable(variable).is_some_and(|folder| PathBuf::from(folder).join(file).is_file()),
            None => home.join(file).is_file(),
        };
        let is_known = program.keys.iter().any(|name| key(&name)) || program.logins.iter().any(login);
        is_known || has_key_in_settings(program, &self.input.variables)
    }

    pub fn git(&self) -> Result<PathBuf, Error> {
        find_program("git", &self.search_path()).ok_or(Error::NoGit)
    }

    /// How this machine can keep agents and checks inside, found out by trying.
    pub fn level(&self) -> Level {
        let bubblewrap = find_program("bwrap", &self.search_path());
        crate::level::level(&self.dirs.state, &self.reaper(), bubblewrap.as_deref())
    }

    /// The running program, as the reaper of what it runs.
    pub fn reaper(&self) -> ReaperProgram {
        ReaperProgram { program: self.input.program.clone(), arguments: vec![REAPER.into()] }
    }

    /// The user's home folder; the root folder for a user who has none.
    pub fn user_home(&self) -> PathBuf {
        self.variable("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
    }

    /// A folder for files of a moment.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        self.variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    pub const fn machine(&self) -> &Machine {
        &self.input.machine
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.input.now)()
    }

    pub(crate) const fn clock(&self) -> fn() -> Timestamp {
        self.input.now
    }

    pub fn check_environment(&self, named: &[String]) -> Vec<(OsString, OsString)> {
        environment::choose(self.input.variables.iter().cloned(), named).variables
    }

    pub fn search_path(&self) -> OsString {
        self.variable("PATH").unwrap_or_default()
    }

    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.input.variables
    }

    pub fn variable(&self, name: &str) -> Option<OsString> {
        value_of(&self.input.variables, name)
    }

    /// The user's own file of ignored paths.
    pub fn global_excludes(&self, git: &Path) -> Option<PathBuf> {
        self.user_git(git).excludes
    }

    /// What git knows of the user: asked with the user's configuration alone, never a repository's.
    pub(crate) fn user_git(&self, git: &Path) -> UserGit {
        let asked = Command::new(git)
            .args(["config", "--global", "--null", "--get-regexp", r"^(user\.(name|email)|core\.excludesfile)$"])
            .current_dir("/")
            .env_clear()
            .envs(self.input.variables.iter().cloned())
            .stderr(Stdio::null())
            .output();
        let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        // One entry is `key\nvalue\0`; of several with one key the last counts.
        let value = |key: &str| {
            let entries = text.split('\0').filter_map(|entry| entry.split_once('\n'));
            entries.rev().find(|(found, _)| *found == key).map(|(_, value)| value.to_owned())
        };
        let home = self.variable("HOME").map(PathBuf::from);
        let named = value("core.excludesfile").and_then(|path| match path.strip_prefix("~/") {
            Some(rest) => home.as_ref().map(|home| home.join(rest)),
            None => Some(PathBuf::from(path)),
        });
        let usual = || {
            let folder = self.variable("XDG_CONFIG_HOME").map(PathBuf::from);
            folder.or_else(|| home.as_ref().map(|home| home.join(".config"))).map(|folder| folder.join("git/ignore"))
        };
        let author = match (value("user.name"), value("user.email")) {
            (Some(name), Some(email)) => Some(Author { name, email }),
            _ => None,
        };
        UserGit { excludes: named.or_else(usual).filter(|path| path.is_absolute() && path.is_file()), author }
    }
}

/// This machine, by what the kernel calls it.
pub fn this_machine() -> Machine {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    Machine { host: read("hostname").trim().to_owned(), boot: read("random/boot_id").trim().to_owned() }
}

fn value_of(variables: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

/// Looks a program up, in absolute folders only: a relative one would mean another program in every workspace.
pub fn find_program(name: &str, search_path: &OsString) -> Option<PathBuf> {
    std::env::split_paths(search_path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(
        |candidate| candidate.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0),
    )
}
