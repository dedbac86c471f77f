//! What the process finds around itself: environment, folders, terminal, programs. The one place that reads them.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use ralph_agents::Program;
use ralph_model::{AgentSpec, Caps, ConfigError, Launch, PriceList, Timestamp};
use ralph_process::{Level, ReaperProgram, Supervisor, probe};
use ralph_runtime::{AgentSettings, AgentVariables, CrashPoint, Home, Services, Watcher};
use ralph_store::{Found, LoopEntry, Store};
use ralph_text::Redactor;
use ralph_workspace::repository::Author;

use crate::commands::doctor::{Subject, Terminal};
use crate::environment;
use crate::places::Places;
use crate::settings::Layer;
use crate::settings::listed::{Readiness, preferred};

/// The first argument that makes the program a reaper.
pub(crate) const REAPER: &str = "__reaper";
/// The first argument that makes the program answer an agent that asks before it writes.
pub(crate) const GUARD: &str = "__guard";

/// What the process finds around itself.
pub(crate) struct Host {
    /// Where Ralph keeps things.
    pub(crate) places: Places,
    /// The current folder.
    pub(crate) current: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

impl Host {
    /// Looks around once.
    ///
    /// # Errors
    /// When there is no home directory or no current folder.
    pub(crate) fn look() -> anyhow::Result<Self> {
        let variables: Vec<_> = std::env::vars_os().collect();
        let places = Places::from_variables(|name| std::env::var_os(name))?;
        let current = std::env::current_dir().context("the current folder is gone: change to one that exists")?;
        Ok(Self { places, current, variables })
    }

    /// Where state is kept.
    pub(crate) fn home(&self) -> Home {
        Home::new(self.places.state.clone())
    }

    /// Opens the store, and makes it where there is none.
    ///
    /// # Errors
    /// When it cannot be opened or made.
    pub(crate) async fn store(&self) -> anyhow::Result<Store> {
        Home::make_private(&self.places.state)?;
        Ok(Store::open(&self.places.database()).await?)
    }

    /// Opens the store for a command about loops that exist.
    ///
    /// # Errors
    /// When there is none yet.
    pub(crate) async fn existing_store(&self) -> anyhow::Result<Store> {
        match Store::open_existing(&self.places.database()).await? {
            Some(store) => Ok(store),
            None => bail!("there are no loops yet: start one with `ralph run`, or watch one with `ralph demo`"),
        }
    }

    /// Everything a loop needs from outside.
    ///
    /// # Errors
    /// When git is missing or the program cannot find itself.
    pub(crate) fn services(&self, store: Store, wants: HostOptions, watcher: Watcher) -> anyhow::Result<Services> {
        let chosen = environment::choose(self.variables.iter().cloned(), &wants.env);
        if let Some(name) = chosen.absent.first() {
            let problem = format!("{name} is not set");
            return Err(ConfigError::new("--env", problem, "names of variables that exist").into());
        }
        if wants.writable.is_none() && wants.level.is_some() {
            self.make_caches();
            self.make_settings(&wants.agents);
        }
        let agent_variables = self.agent_variables(chosen.for_agents, &self.written_variables());
        let redactor = self.redactor();
        let git = self.git()?;
        let user = self.user_git(&git);
        Ok(Services {
            home: self.home(),
            store,
            supervisor: Arc::new(Supervisor::new(reaper()?, Arc::clone(&redactor))),
            build_agent: Arc::new(ralph_agents::build),
            redactor,
            global_excludes: user.excludes,
            author: user.author,
            git,
            settings: self.agent_settings(wants.writable.is_none()),
            kept: self.kept_settings(wants.writable.is_none()),
            writable: wants.writable.unwrap_or_else(|| crate::sandbox::writable(|name| self.variable(name))),
            level: wants.level.unwrap_or_else(|| Level::none("not looked for")),
            environment: chosen.variables,
            agent_variables,
            prices: Arc::new(wants.prices),
            hook: Some(vec![own_program()?.into_os_string(), GUARD.into()]),
            caps: wants.caps,
            metrics: wants.metrics,
            notify: wants.notify,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            watcher,
            now,
            crash: crash_point(),
        })
    }

    /// Knows the secrets of this user, as far as they can be found: in the environment, and where agents keep them.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        let mut secrets = environment::choose(self.variables.iter().cloned(), &[]).secrets;
        secrets.extend(environment::secrets(self.written_variables()));
        Arc::new(Redactor::new(secrets))
    }

    /// Variables in files that agents read by themselves. A file that cannot be read hands nobody a secret.
    fn written_variables(&self) -> Vec<(String, String)> {
        let read = |path: PathBuf| {
            let bytes = crate::settings::read(&path, crate::settings::Links::Follow).ok().flatten()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let home = self.user_home();
        let claude = self.variable("CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), PathBuf::from);
        let homes = self.variable("GEMINI_CLI_HOME").map(PathBuf::from).into_iter().chain([home]);
        let files = homes.flat_map(|home| [home.join(".gemini/.env"), home.join(".env")]);
        let gemini: Vec<String> = files.filter_map(read).collect();
        environment::written(read(claude.join("settings.json")).as_deref(), &gemini)
    }

    /// Makes the usual caches in the user's home where they are missing. Whatever needs one that cannot be made says so itself.
    fn make_caches(&self) {
        let home = self.user_home();
        let is_home = home.is_absolute() && home.parent().is_some() && home.is_dir();
        for name in crate::sandbox::MADE_BEFORE.iter().filter(|_| is_home) {
            let _ = std::fs::create_dir(home.join(name));
        }
    }

    /// Makes the folders in which an agent keeps its own things, because inside the sandbox it could not. One that cannot be
    /// made is the agent's to tell of.
    fn make_settings(&self, agents: &[AgentSpec]) {
        let home = self.user_home();
        if !home.is_absolute() || home.parent().is_none() || !home.is_dir() {
            return;
        }
        let folders = agents.iter().filter_map(Program::of).flat_map(|program| program.made);
        for folder in folders {
            let _ = std::fs::create_dir_all(home.join(folder));
        }
    }

    /// What each kind of agent may write besides what all may; nothing where the caller says itself what may be written.
    fn agent_settings(&self, usual: bool) -> AgentSettings {
        let variables = self.variables.clone();
        Arc::new(move |agent| {
            let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            if usual { crate::sandbox::settings(agent, value) } else { Vec::new() }
        })
    }

    /// What of that says how the agent works.
    fn kept_settings(&self, usual: bool) -> AgentSettings {
        let variables = self.variables.clone();
        Arc::new(move |agent| {
            let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            if usual { crate::sandbox::kept(agent, value) } else { Vec::new() }
        })
    }

    /// What each kind of agent finds in its environment besides what all processes have: secrets that the user named, and what is
    /// its program's own. A cloud can be chosen in a file of the program, too.
    fn agent_variables(&self, named: Vec<(OsString, OsString)>, written: &[(String, String)]) -> AgentVariables {
        let variables = self.variables.clone();
        let written: Vec<(OsString, OsString)> =
            written.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Arc::new(move |agent| {
            let Some(program) = Program::of(agent) else { return named.clone() };
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
    pub(crate) fn usable_agents(&self, user: &Layer) -> Vec<String> {
        preferred(user, |spec| self.readiness(spec))
    }

    /// How usable an agent is here.
    pub(crate) fn readiness(&self, spec: &AgentSpec) -> Readiness {
        match (self.program_of(spec), Program::of(spec)) {
            (None, _) if spec.launch.is_some() => Readiness::Missing,
            (_, Some(program)) if !self.is_logged_in(program) => Readiness::NoLogin,
            (_, _) => Readiness::Usable,
        }
    }

    /// The program behind an agent; for a line of shell, the one that it begins with.
    pub(crate) fn program_of(&self, spec: &AgentSpec) -> Option<PathBuf> {
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
        program.keys.iter().any(|name| key(&name)) || program.logins.iter().any(login)
    }

    /// What `ralph doctor` looks at.
    ///
    /// # Errors
    /// When the program cannot find itself.
    pub(crate) fn subject(&self) -> anyhow::Result<Subject<'_>> {
        let (input, output) = (std::io::stdin().is_terminal(), std::io::stderr().is_terminal());
        Ok(Subject {
            places: &self.places,
            current: &self.current,
            path: self.search_path(),
            reaper: reaper()?,
            level: self.level()?,
            environment: environment::choose(self.variables.iter().cloned(), &[]).variables,
            readiness: Box::new(|spec| self.readiness(spec)),
            terminal: match (input, output) {
                (true, true) => Terminal::Whole,
                (false, true) => Terminal::OutputOnly,
                (_, false) => Terminal::None,
            },
        })
    }

    /// The git program.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn git(&self) -> anyhow::Result<PathBuf> {
        find_program("git", &self.search_path())
            .context("git is not installed: install it (Debian: apt-get install git) and try again")
    }

    /// How this machine can keep agents and checks inside, found out by trying.
    ///
    /// # Errors
    /// When the program cannot find itself.
    pub(crate) fn level(&self) -> anyhow::Result<Level> {
        let bubblewrap = find_program("bwrap", &self.search_path());
        Ok(probe(&reaper()?, bubblewrap.as_deref()))
    }

    /// The user's home folder; the root folder for a user who has none.
    pub(crate) fn user_home(&self) -> PathBuf {
        self.variable("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
    }

    /// What checks find in their environment.
    pub(crate) fn check_environment(&self, named: &[String]) -> Vec<(OsString, OsString)> {
        environment::choose(self.variables.iter().cloned(), named).variables
    }

    /// The value of `PATH`.
    pub(crate) fn search_path(&self) -> OsString {
        self.variable("PATH").unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// The user's own file of ignored paths.
    pub(crate) fn global_excludes(&self, git: &Path) -> Option<PathBuf> {
        self.user_git(git).excludes
    }

    /// What git knows of the user: asked with the user's configuration alone, never a repository's.
    fn user_git(&self, git: &Path) -> UserGit {
        let asked = Command::new(git)
            .args(["config", "--global", "--null", "--get-regexp", r"^(user\.(name|email)|core\.excludesfile)$"])
            .current_dir("/")
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

struct UserGit {
    excludes: Option<PathBuf>,
    author: Option<Author>,
}

/// What differs between the commands that run loops.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostOptions {
    /// Variables that agent and checks get besides the usual ones; secrets among them only the agent.
    pub(crate) env: Vec<String>,
    /// Upper bounds.
    pub(crate) caps: Caps,
    /// Where finished loops are counted.
    pub(crate) metrics: Option<PathBuf>,
    /// Who is told.
    pub(crate) notify: Option<String>,
    /// How agent and checks can be kept inside; none where nobody asked.
    pub(crate) level: Option<Level>,
    /// What they may write besides the workspace; none means what agents usually need.
    pub(crate) writable: Option<Vec<PathBuf>>,
    /// What tokens cost.
    pub(crate) prices: PriceList,
    /// Who will work.
    pub(crate) agents: Vec<AgentSpec>,
}

/// The running program, as the reaper of what it runs.
fn reaper() -> anyhow::Result<ReaperProgram> {
    Ok(ReaperProgram { program: own_program()?, arguments: vec![REAPER.into()] })
}

fn own_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("the ralph program cannot find its own file")
}

/// Whether somebody can be asked: both the question and the answer need a terminal.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now.saturating_add(clock_offset(now)))
}

/// Tests of what a day costs name the time at which the program starts, as milliseconds since 1970. Not in a released program.
fn clock_offset(now: i64) -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    if !cfg!(debug_assertions) {
        return 0;
    }
    let wanted = || std::env::var("RALPH_TEST_CLOCK").ok()?.parse::<i64>().ok();
    *OFFSET.get_or_init(|| wanted().map_or(0, |start| start.saturating_sub(now)))
}

/// The loop that a person means.
///
/// # Errors
/// When nobody or more than one answers to the name.
pub(crate) async fn find_loop(store: &Store, name: &str) -> anyhow::Result<LoopEntry> {
    match store.find(name).await? {
        Found::One(entry) => Ok(*entry),
        Found::None if name.chars().filter(char::is_ascii_alphanumeric).count() < 4 => {
            bail!("`{name}` is too short: give four or more characters of a loop's id, `ralph list --all` shows them")
        }
        Found::None => bail!("no loop answers to `{name}`: `ralph list --all` shows them"),
        Found::Several(entries) => {
            let ids: Vec<String> = entries.iter().map(|entry| entry.id.to_string()).collect();
            bail!("`{name}` may mean any of these, give more characters:\n  {}", ids.join("\n  "))
        }
    }
}

/// Looks a program up, in absolute folders only: a relative one would mean another program in every workspace.
pub(crate) fn find_program(name: &str, search_path: &OsString) -> Option<PathBuf> {
    std::env::split_paths(search_path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(
        |candidate| candidate.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0),
    )
}

/// Tests of durability name the append at which the program dies. Not in a released program.
fn crash_point() -> Option<CrashPoint> {
    if !cfg!(debug_assertions) {
        return None;
    }
    let wanted = std::env::var("RALPH_TEST_CRASH").ok()?;
    let (side, number) = wanted.split_once(':')?;
    let number = number.parse().ok()?;
    match side {
        "before" => Some(CrashPoint::Before(number)),
        "after" => Some(CrashPoint::After(number)),
        _ => None,
    }
}
