//! Checks before anything is recorded or costs money, and warnings about what is allowed and may surprise.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ralph_agents::files::{Links, open_plain};
use ralph_agents::{Kind, Program, REPORT_VARIABLE, Route, foreign_code, route};
use ralph_checks::first_word_missing;
use ralph_config::Resolved;
use ralph_config::agents::{refuse_late_cost, reports_cost_late};
use ralph_model::{
    Access, AgentNetwork, AgentSpec, ConfigError, Expectation, Isolation, Launch, LoopConfig, MeterMode, Sandboxing,
};
use ralph_process::{Files, NetworkLevel, ReadLevel};
use ralph_workspace::{Guard, Repository};

use crate::agents::{Readiness, advice};
use crate::{Error, Host, find_program};

/// As much of a script as is read to see whether it reports its cost.
const MAX_SCRIPT: u64 = 256 * 1024;

/// Refuses a run that cannot work on this machine.
pub(crate) fn check(resolved: &Resolved, host: &Host) -> Result<(), Error> {
    let config = &resolved.config;
    let workspace = Path::new(&config.workspace);
    refuse_unwritable(workspace)?;
    refuse_missing_programs(config, workspace, host)?;
    refuse_plugins(config, workspace, &host.user_home())?;
    refuse_broken_globs(config)?;
    refuse_unreachable_services(config, host)?;
    refuse_broken_commands(config, resolved.settings.notify.command.as_deref())?;
    refuse_missing_git(config, resolved.race.is_some(), &host.git()?, &host.temp_dir())?;
    Ok(refuse_late_cost(config, |agent| shows_cost(config, agent, host))?)
}

/// Agents that cannot write their work would be paid for nothing.
fn refuse_unwritable(workspace: &Path) -> Result<(), ConfigError> {
    rustix::fs::access(workspace, rustix::fs::Access::WRITE_OK).map_err(|error| {
        let problem = format!("{} cannot be written: {}", workspace.display(), std::io::Error::from(error));
        ConfigError::new("workspace", problem, "a folder in which agents can write")
    })
}

/// Refuses agents of a loop that is continued: those that are not there, and those that no spent budget can stop. A command that the
/// loop had before was permitted when it started.
pub(crate) fn check_agents(config: &LoopConfig, before: &[AgentSpec], host: &Host) -> Result<(), ConfigError> {
    let path = host.search_path();
    for agent in config.agents() {
        refuse_missing_agent(agent, Path::new(&config.workspace), &path.to_string_lossy())?;
    }
    let is_permitted = |agent: &AgentSpec| agent.kind == AgentSpec::COMMAND && before.contains(agent);
    refuse_late_cost(config, |agent| is_permitted(agent) || shows_cost(config, agent, host))
}

fn shows_cost(config: &LoopConfig, agent: &AgentSpec, host: &Host) -> bool {
    is_counted(config.access.meter, &config.env, agent, host) || names_report(agent, Path::new(&config.workspace))
}

/// Whether a command shows by itself that it reports its cost: its line, or a script on it, names the variable with the file for that.
fn names_report(agent: &AgentSpec, workspace: &Path) -> bool {
    let Some(line) = agent.shell_line().filter(|_| agent.kind == AgentSpec::COMMAND) else { return false };
    let is_named = |text: &[u8]| String::from_utf8_lossy(text).contains(REPORT_VARIABLE);
    let is_script = |word: &str| {
        let mut text = Vec::new();
        let file = open_plain(&workspace.join(word.trim_matches(['"', '\''])), Links::Follow);
        file.and_then(|file| file.take(MAX_SCRIPT).read_to_end(&mut text)).is_ok()
            && !text.contains(&0)
            && is_named(&text)
    };
    is_named(line.as_bytes()) || line.split_whitespace().any(is_script)
}

/// Whether the requests of an agent are counted on their way to its service.
fn is_counted(meter: MeterMode, env: &[String], agent: &AgentSpec, host: &Host) -> bool {
    meter == MeterMode::Auto && matches!(route(agent, &host.once_environment(agent, env)), Route::Through(_))
}

/// Whether nothing shows what an agent spends while it runs.
pub(crate) fn spends_unseen(meter: MeterMode, env: &[String], agent: &AgentSpec, host: &Host) -> bool {
    reports_cost_late(agent) && !is_counted(meter, env, agent, host)
}

/// Agents without a login that can be seen, and those that no spent budget stops. They are started all the same: there are
/// logins that cannot be seen from here, and the user permitted the others.
pub(crate) fn agent_warnings(config: &LoopConfig, host: &Host) -> Vec<String> {
    let mut warnings = sandbox_warnings(&config.access, config.sandbox, host);
    let mut warn = |caution: String| {
        if !warnings.contains(&caution) {
            warnings.push(caution);
        }
    };
    for agent in config.agents().filter(|agent| spends_unseen(config.access.meter, &config.env, agent, host)) {
        let name = &agent.name;
        warn(if agent.kind == AgentSpec::COMMAND {
            format!(
                "the cost of {name} is known when it writes {{\"costUSD\": 0.12}} to $RALPH_RESULT_FILE, and --max-cost is checked then; a \
                 run that writes none is charged the whole remaining budget"
            )
        } else {
            format!("{name} reports its cost only after a run: --max-cost is checked between runs")
        });
    }
    for agent in config.agents().filter(|agent| config.access.meter == MeterMode::Auto && !agent.unmetered) {
        let is_ready = host.readiness(agent) == Readiness::Usable;
        if let (true, Route::Beside(why)) = (is_ready, route(agent, &host.once_environment(agent, &config.env))) {
            let name = &agent.name;
            warn(format!("{name}: {why}, so its requests do not pass Ralph; its cost is read from its own output"));
        }
    }
    for agent in config.agents().filter(|agent| host.readiness(agent) == Readiness::NoLogin) {
        let login = advice(agent, Readiness::NoLogin).unwrap_or_default();
        warn(format!("{}: no login was found; {login}", agent.name));
    }
    warnings
}

/// An agent that cannot go through the gateway reaches nothing in a network that has nothing else.
fn refuse_unreachable_services(config: &LoopConfig, host: &Host) -> Result<(), Error> {
    let access = &config.access;
    refuse_open_network(access, config.sandbox, host)?;
    match config.agents().find_map(|agent| unreachable_service(access, agent, &config.env, host)) {
        Some(why) => {
            let allowed = "an API key for the agent, or its service as @allow_host";
            Err(ConfigError::new("agent_network", format!("`model`: {why}"), allowed).into())
        }
        None => Ok(()),
    }
}

/// Refuses a restricted network that is required and cannot be enforced.
pub(crate) fn refuse_open_network(access: &Access, sandbox: Sandboxing, host: &Host) -> Result<(), Error> {
    match (access.agent_network, sandbox, host.level().network) {
        (AgentNetwork::Model, Sandboxing::Require, NetworkLevel::Open { why }) => {
            let problem = format!("`model` cannot be enforced on this machine: {why}");
            let allowed = "a machine with network namespaces; @sandbox on starts without them";
            Err(ConfigError::new("agent_network", problem, allowed).into())
        }
        _ => Ok(()),
    }
}

/// Why an agent would not reach its model service in a restricted network.
pub(crate) fn unreachable_service(access: &Access, agent: &AgentSpec, env: &[String], host: &Host) -> Option<String> {
    if access.agent_network == AgentNetwork::Full || !access.allow_hosts.is_empty() {
        return None;
    }
    match route(agent, &host.once_environment(agent, env)) {
        Route::Beside(why) if agent.kind != AgentSpec::COMMAND => {
            Some(format!("{} would not reach its model service: {why}", agent.name))
        }
        _ => None,
    }
}

/// What the sandbox of this machine cannot do of what was asked for.
pub(crate) fn sandbox_warnings(access: &Access, sandbox: Sandboxing, host: &Host) -> Vec<String> {
    let mut warnings = Vec::new();
    if sandbox == Sandboxing::Off {
        warnings.extend((!access.hide.is_empty()).then(|| "--hide: without a sandbox nothing is hidden".to_owned()));
        return warnings;
    }
    let level = host.level();
    if let (AgentNetwork::Model, NetworkLevel::Open { why }) = (access.agent_network, &level.network) {
        warnings.push(format!("--agent-network model is not enforced on this machine: {why}"));
    }
    for path in access.hide.iter().filter(|path| !Path::new(path.as_str()).exists()) {
        warnings.push(format!("--hide: {path} is not there, so nothing is hidden"));
    }
    if let ReadLevel::Open { why } = &level.reads
        && (!access.hide.is_empty() || !matches!(level.files, Files::Open { .. }))
    {
        let named = if access.hide.is_empty() { "" } else { " (--hide)" };
        warnings.push(format!(
            "files cannot be hidden on this machine{named}: agents and checks can read keys, logins and Ralph's own state: {why}"
        ));
    }
    warnings
}

/// Whether the tool calls of an agent are seen.
fn is_seen(agent: &AgentSpec) -> bool {
    Kind::of(agent).is_some_and(|kind| kind.capabilities.streams_tool_calls)
}

/// What somebody should know before this loop runs.
pub(crate) fn cautions(config: &LoopConfig, git: &Path, scratch: &Path) -> Vec<String> {
    let mut cautions = Vec::new();
    let workspace = Path::new(&config.workspace);
    if config.agents().any(is_seen) {
        for name in ["CLAUDE.md", "AGENTS.md", "GEMINI.md"] {
            let real = workspace.join(name).canonicalize().ok().filter(|real| !real.starts_with(workspace));
            if let Some(real) = real {
                let real = real.display();
                cautions.push(format!("{name} leads to {real}, which agents read and send to their service"));
            }
        }
    }
    // Nothing keeps the settings of a server that could be any program away from it.
    for agent in config.agents().filter(|agent| is_seen(agent) && agent.shell_line().is_some()) {
        let name = &agent.name;
        cautions.push(format!("{name} is a server: it may follow the repository's settings for it"));
    }
    if config.isolation == Isolation::Worktree {
        let repository = Repository::find(workspace, git, scratch);
        if repository.is_some_and(|repository| repository.is_clean().is_ok_and(|clean| !clean)) {
            cautions.push("what is not committed here is not in the worktree that the loop works in".to_owned());
        }
    }
    cautions
}

/// Paths that may be written besides, without links in them. One that does not exist cannot be allowed, and the user who named it
/// should know.
pub(crate) fn existing(paths: &[String], home: &Path) -> Result<Vec<String>, ConfigError> {
    let wrong = |problem: String| {
        let allowed = "a file or folder that exists, and neither the root nor your whole home: make it first";
        Err(ConfigError::new("sandbox_writable", problem, allowed))
    };
    let mut found = Vec::new();
    for path in paths {
        let Ok(real) = Path::new(path).canonicalize() else { return wrong(format!("{path} is not there")) };
        if home.starts_with(&real) {
            return wrong(format!("{path} would disable the sandbox"));
        }
        found.push(real.to_string_lossy().into_owned());
    }
    Ok(found)
}

/// Ralph's state must lie where the agent does not write; inside the workspace it would also be part of every snapshot.
pub(crate) fn refuse_state_inside(workspace: &Path, state: &Path) -> Result<(), ConfigError> {
    // The folder may not exist yet, and links lead where they lead.
    let place = state.ancestors().find_map(|existing| {
        let rest = state.strip_prefix(existing).ok()?;
        existing.canonicalize().ok().map(|real| real.join(rest))
    });
    if place.is_some_and(|place| place.starts_with(workspace)) {
        let problem = format!("{} is inside the workspace {}", state.display(), workspace.display());
        return Err(ConfigError::new("state_home", problem, "a folder that no agent works in: set RALPH_HOME to one"));
    }
    Ok(())
}

/// A misspelt program would fail in every iteration; it is refused before anything costs money.
fn refuse_missing_programs(config: &LoopConfig, workspace: &Path, host: &Host) -> Result<(), ConfigError> {
    let path = host.search_path();
    let path = path.to_string_lossy();
    for command in &config.verification_commands {
        if let Some(program) = first_word_missing(command, &path, workspace) {
            let place = if program.program == *command { String::new() } else { format!(" (in `{command}`)") };
            let problem = format!("{program}{place}");
            return Err(ConfigError::new(
                "verification_command",
                problem,
                "a command that can be run in the workspace",
            ));
        }
    }
    for agent in config.agents() {
        refuse_missing_agent(agent, workspace, &path)?;
    }
    Ok(())
}

fn refuse_missing_agent(agent: &AgentSpec, workspace: &Path, path: &str) -> Result<(), ConfigError> {
    let command = match &agent.launch {
        None => return Ok(()),
        Some(Launch::Command(command)) => command.as_str(),
        Some(Launch::Program(program)) => {
            let missing = if program.contains('/') {
                !workspace.join(program).exists()
            } else {
                find_program(program, &path.into()).is_none()
            };
            if !missing {
                return Ok(());
            }
            let install = Program::of(agent).map(|known| known.install).unwrap_or_default();
            let problem = format!("`{program}` is not installed");
            let allowed =
                format!("an agent that is installed: `{install}` gets this one, `ralph agents` shows them all");
            return Err(ConfigError::new("agent", problem, allowed));
        }
    };
    let first = command.split_whitespace().next().unwrap_or_default();
    let is_path = first.contains('/') && first.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c));
    let missing = first_word_missing(command, path, workspace).map(|missing| missing.to_string()).or_else(|| {
        (is_path && !workspace.join(first).exists()).then(|| match first.starts_with('/') {
            true => format!("`{first}` does not exist"),
            false => format!("`{first}` does not exist in {}", workspace.display()),
        })
    });
    let Some(problem) = missing else { return Ok(()) };
    let allowed = match is_seen(agent) {
        true => "a program that speaks the Agent Client Protocol",
        false => "a program that reads its prompt from standard input",
    };
    // Without a name of its own it is the command of the flag or of the key of that name.
    if agent.name == "command" {
        return Err(ConfigError::new("agent_command", problem, allowed));
    }
    let key = format!("`command` in [agents.{}]", agent.name);
    Err(ConfigError::new("agent", format!("{key}: {problem}"), format!("{allowed}: fix {key}")))
}

/// OpenCode starts the plugins of a repository whatever it is told, so that they would run without anybody's approval. Looked for
/// again before each of its runs; a worktree is looked at only then, because it is not there yet.
fn refuse_plugins(config: &LoopConfig, workspace: &Path, home: &Path) -> Result<(), ConfigError> {
    if config.isolation == Isolation::Worktree {
        return Ok(());
    }
    for agent in config.agents() {
        if let Some(place) = foreign_code(agent, workspace, Some(home)) {
            let title = Program::of(agent).map_or(agent.name.as_str(), |program| program.title);
            let problem = format!("{title} would run the code in {} without asking", place.display());
            let allowed = format!(
                "another agent; or, if you trust that code, `settings = \"user\"` in [agents.{}] of your configuration",
                agent.name
            );
            return Err(ConfigError::new("agent", problem, allowed));
        }
    }
    Ok(())
}

fn refuse_broken_globs(config: &LoopConfig) -> Result<(), ConfigError> {
    let expected = config.expects.iter().filter_map(|expectation| match expectation {
        Expectation::File(glob) => Some(glob.clone()),
        _ => None,
    });
    let expected: Vec<String> = expected.collect();
    let lists = [
        ("prohibited_paths", &config.prohibited_paths),
        ("protected_paths", &config.protected_paths),
        ("allow_test_change", &config.allowed_test_changes),
        ("expects", &expected),
        ("junit", &config.junit),
    ];
    let allowed = "globs as in a .gitignore, such as infra/** or *.sql, relative to the workspace and without `..`";
    for (flag, globs) in lists {
        if let Err(error) = Guard::new(globs) {
            return Err(ConfigError::new(flag, error.to_string(), allowed));
        }
        let leaves = |glob: &&String| glob.trim_start_matches('!').split('/').any(|part| part == "..");
        if let Some(glob) = globs.iter().find(leaves) {
            return Err(ConfigError::new(flag, format!("`{glob}` leads out of the workspace"), allowed));
        }
    }
    Ok(())
}

/// A line that the shell cannot read would fail in every iteration. The shell itself is asked, and runs nothing.
fn refuse_broken_commands(config: &LoopConfig, notify: Option<&str>) -> Result<(), ConfigError> {
    let checks = config.verification_commands.iter().map(|command| ("verification_command", command.as_str()));
    let setup = config.setup.iter().map(|command| ("setup", command.as_str()));
    let expects = config.expects.iter().filter_map(|expectation| match expectation {
        Expectation::Command(command) => Some(("expects", command.as_str())),
        _ => None,
    });
    let agents = config.agents().filter_map(|agent| Some(("agent_command", agent.shell_line()?)));
    let notify = notify.map(|command| ("notify.command", command));
    for (flag, command) in checks.chain(setup).chain(expects).chain(agents).chain(notify) {
        // Where the shell cannot be started at all, `ralph doctor` and the loop say so.
        let Ok(read) = Command::new("sh").args(["-n", "-c", command]).stdin(Stdio::null()).output() else { continue };
        if !read.status.success() {
            let said = String::from_utf8_lossy(&read.stderr);
            let problem = format!("the shell cannot read `{command}`: {}", said.lines().next().unwrap_or_default());
            return Err(ConfigError::new(flag, problem, "a line for `sh -c`, with every quote and bracket closed"));
        }
    }
    Ok(())
}

/// Said before anything is recorded: what these two options need cannot be had later.
fn refuse_missing_git(config: &LoopConfig, is_race: bool, git: &Path, scratch: &Path) -> Result<(), Error> {
    let workspace = Path::new(&config.workspace);
    let worktree = config.isolation == Isolation::Worktree;
    let flag = match (worktree, config.commit) {
        (true, _) if is_race => "race",
        (true, _) => "isolation",
        (false, true) => "commit",
        (false, false) => return Ok(()),
    };
    let Some(repository) = Repository::find(workspace, git, scratch) else {
        let problem = format!("{} is not in a git repository", workspace.display());
        let allowed = "a folder in a git repository: run `git init` there, or leave the option out";
        return Err(ConfigError::new(flag, problem, allowed).into());
    };
    if worktree && repository.head()?.commit.is_none() {
        let allowed = "a repository with a commit: make a first one, or leave the option out";
        return Err(ConfigError::new(flag, "the branch has no commit yet", allowed).into());
    }
    Ok(())
}
