//! Codex (`codex exec --json`): how it is called. What it prints is read in `events`; decides nothing.
//!
//! Left alone, Codex takes the user's and the repository's settings (servers, hooks, plugins), retries a dead connection for ever,
//! and writes "trusted" for the workspace into the user's settings. Here it does none of that, unless the user wants their own
//! settings; the login stays in either case.

mod events;
mod instructions;
mod kind;
mod refusal;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ralph_model::AgentSpec;
use ralph_process::Stdin;
use serde_json::Value;

pub(crate) use self::kind::KIND;
use crate::adapter::{Invocation, Parser};
use crate::git::written_by_commits;
use crate::request::Request;

/// Tries of a request, and of a stream, where they can be chosen: Ralph waits out what lasts longer.
const RETRIES: u32 = 2;
/// The name of the provider that stands for the variables of the environment.
const PROVIDER: &str = "environment";

/// Beginnings of arguments that choose a sandbox.
const SANDBOX_WORDS: [&str; 5] = ["--sandbox", "-s", "--dangerously-bypass", "--yolo", "--approve-for-me"];

/// Who keeps the commands of the agent inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Ralph, around all of it, as far as the machine can; one sandbox in another cannot be had.
    Outer,
    /// Codex itself, around each command.
    Own,
}

pub(crate) fn invocation(spec: &AgentSpec, program: &str, request: &Request<'_>) -> Invocation {
    let guard = if request.base.is_confined() { Guard::Outer } else { Guard::Own };
    let mut line = Line(vec![program.into()]);
    line.words(&["exec", "--json", "--skip-git-repo-check", "--color", "never"]);
    match guard {
        // The user's own choice, where Codex's sandbox does not work, say: it takes only one.
        _ if spec.args.iter().any(|word| SANDBOX_WORDS.iter().any(|known| word.starts_with(known))) => {}
        Guard::Outer => line.words(&["--dangerously-bypass-approvals-and-sandbox"]),
        Guard::Own => {
            line.words(&["--sandbox", "workspace-write"]);
            line.set("approval_policy", "\"never\"");
            // Agents of all kinds have the network; only checks do without.
            line.set("sandbox_workspace_write.network_access", "true");
            // Without this nothing can be committed.
            let git: Vec<String> = written_by_commits(&request.base.directory)
                .iter()
                .map(|folder| quoted(&folder.to_string_lossy()))
                .collect();
            if !git.is_empty() {
                line.set("sandbox_workspace_write.writable_roots", &format!("[{}]", git.join(",")));
            }
        }
    }
    // Not `--disable`, which ends a version that does not know the feature.
    line.set("features.unbounded_connection_retries", "false");
    line.set("analytics.enabled", "false");
    if !spec.user_settings {
        line.words(&["--ignore-user-config"]);
        for feature in ["plugins", "apps", "hooks", "goals"] {
            line.set(&format!("features.{feature}"), "false");
        }
        line.distrust(&request.base.directory);
    }
    for (key, value) in request.base.mcp_server.iter().flat_map(|server| server.for_codex(quoted)) {
        line.set(&key, &value);
    }
    let environment = log_in(&mut line, spec, request);
    if let Some(model) = &spec.model {
        line.words(&["--model", model]);
    }
    line.0.extend(spec.args.iter().map(OsString::from));
    line.words(&["-"]);
    Invocation {
        program: line.0,
        environment,
        stdin: Stdin::Bytes(request.prompt.as_bytes().to_vec()),
        pieces: None,
        parser: parser(guard),
    }
}

pub(crate) fn parser(guard: Guard) -> Box<dyn Parser> {
    Box::new(events::Codex::new(guard))
}

/// The arguments so far.
struct Line(Vec<OsString>);

impl Line {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    /// Sets a key of the configuration to a value in TOML.
    fn set(&mut self, key: &str, value: &str) {
        self.0.extend(["-c".into(), format!("{key}={value}").into()]);
    }

    /// Keeps it from the settings of the workspace, and gives it the instructions of the project, which go with them. A workspace
    /// that is neither trusted nor untrusted is written into the user's settings as a trusted one.
    fn distrust(&mut self, directory: &Path) {
        self.set("projects", &untrusted(directory));
        if let Some(text) = instructions::of(directory) {
            self.set("developer_instructions", &quoted(&text));
        }
    }
}

/// Where Codex keeps its login, settings and sessions.
fn home(request: &Request<'_>) -> Option<PathBuf> {
    let set = |name: &str| request.base.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CODEX_HOME").or_else(|| set("HOME").map(|home| home.join(".codex")))
}

/// Where Codex sends its requests, unless it is told another address.
pub(crate) const SERVICE: &str = "https://api.openai.com/v1";

/// The variable with the key of the environment that counts, and its value.
fn key(request: &Request<'_>, home: Option<&Path>) -> Option<(&'static str, OsString)> {
    let set = |name: &str| request.base.variable(name).filter(|value| !value.is_empty()).map(OsStr::to_owned);
    let has_login = set("CODEX_ACCESS_TOKEN").is_some() || home.is_some_and(|home| home.join("auth.json").exists());
    let own = set("CODEX_API_KEY").map(|key| ("CODEX_API_KEY", key));
    // Somebody who is logged in may have this key for other programs, and pays for it apart.
    own.or_else(|| set("OPENAI_API_KEY").filter(|_| !has_login).map(|key| ("OPENAI_API_KEY", key)))
}

fn address<'a>(request: &'a Request<'_>) -> Option<&'a str> {
    request.base.variable("OPENAI_BASE_URL").and_then(OsStr::to_str).filter(|address| !address.is_empty())
}

/// Makes it use the key of the environment, and what that is a key for: Codex takes only a variable of its own, and no address at all.
fn log_in(line: &mut Line, spec: &AgentSpec, request: &Request<'_>) -> Vec<(OsString, OsString)> {
    let Some((name, value)) = key(request, home(request).as_deref()) else { return Vec::new() };
    // An address only together with a key: the token of a login is for OpenAI alone.
    match address(request) {
        Some(address) if !spec.user_settings => {
            provider(line, name, address);
            Vec::new()
        }
        // The key is for that address, which the user's settings know or not: OpenAI is not to see it.
        Some(_) => Vec::new(),
        None => vec![("CODEX_API_KEY".into(), value)],
    }
}

/// Its server wants a login, unless it is told about a provider that needs none. What a command line says about providers stays.
pub(crate) fn server_words(spec: &AgentSpec, request: &Request<'_>) -> Vec<OsString> {
    let mut line = Line(Vec::new());
    line.distrust(&request.base.directory);
    if request.base.is_confined() {
        // Whoever chooses this mode in the session is remembered in the user's settings as one who trusts the workspace.
        line.set("approval_policy", "\"never\"");
        line.set("sandbox_mode", "\"danger-full-access\"");
    }
    let has_provider = spec.shell_line().is_some_and(|line| line.contains("model_provider"));
    if let Some((name, _)) = key(request, home(request).as_deref()).filter(|_| !has_provider) {
        provider(&mut line, name, address(request).unwrap_or(SERVICE));
        // A server offers the models that it knows, and takes any other one only here.
        if let Some(model) = &spec.model {
            line.set("model", &quoted(model));
        }
    }
    line.0
}

/// A provider at this address, whose key is in the variable with this name.
fn provider(line: &mut Line, variable: &str, address: &str) {
    line.set("model_provider", &quoted(PROVIDER));
    let fields = [
        ("name", quoted(PROVIDER)),
        ("base_url", quoted(address)),
        ("wire_api", quoted("responses")),
        ("env_key", quoted(variable)),
        ("request_max_retries", RETRIES.to_string()),
        ("stream_max_retries", RETRIES.to_string()),
    ];
    for (field, value) in fields {
        line.set(&format!("model_providers.{PROVIDER}.{field}"), &value);
    }
}

/// A table of projects that distrusts this folder, by each of its names.
fn untrusted(directory: &Path) -> String {
    let mut names = vec![directory.to_owned()];
    names.extend(directory.canonicalize().ok().filter(|real| real != directory));
    let entries: Vec<String> =
        names.iter().map(|name| format!("{}={{trust_level=\"untrusted\"}}", quoted(&name.to_string_lossy()))).collect();
    format!("{{{}}}", entries.join(","))
}

/// A string in TOML, which quotes as JSON does. Control characters are left out: not all of them may stand in one.
fn quoted(text: &str) -> String {
    let printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    Value::from(text.chars().filter(printable).collect::<String>()).to_string()
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod tests;
