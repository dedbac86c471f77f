//! Claude Code, headless: how it is called, and the parser of its event stream.
//!
//! It is kept apart from the user's and the repository's own settings for it (hooks, servers, plugins, skills), unless these are
//! asked for. The login stays, wherever it comes from, and so do the instructions of the repository.

mod answers;
mod kind;
mod parser;
mod refusal;
mod settings;
mod spending;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_model::AgentSpec;
use ralph_process::{Pieces, Stdin};

pub(crate) use self::kind::KIND;
use self::parser::Claude;
use self::settings::RunSettings;
use crate::adapter::{Invocation, Parser};
use crate::files::{Links, MAX_BYTES, read_plain, within, write_private};
use crate::request::{Error, Request};
use crate::text::no_command;

/// Retries of a request. Longer limits are waited out by the loop, which shows that it waits.
const RETRIES: &str = "3";
/// Tools that reach beyond the run: one moves the work out of the workspace, the others keep the program waiting for a later
/// that a run does not have.
const NOT_OFFERED: &str = "CronCreate,EnterWorktree,ScheduleWakeup";
/// Instructions for agents, which it reads by itself only together with the repository's settings.
const INSTRUCTIONS: &str = "AGENTS.md";
const OWN_INSTRUCTIONS: [&str; 2] = ["CLAUDE.md", ".claude/CLAUDE.md"];

/// How it is called for a run.
pub(crate) fn invocation(spec: &AgentSpec, program: &str, request: &Request<'_>) -> Result<Invocation, Error> {
    let settings = RunSettings::new(request.base.prohibited.hook.as_deref(), &request.base.prohibited.globs);
    let settings = if spec.user_settings { settings } else { settings.with_login(user_settings(request).as_deref()) };
    let file = request.base.scratch.join("claude-settings.json");
    write_private(&file, &settings.json)?;

    let mut arguments = Arguments::of(program);
    // Partial messages name the tokens of each answer; without them the tokens of an answer are unknown before its end.
    arguments.add(["--print", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]);
    arguments.add(["--dangerously-skip-permissions", "--settings"]).add([&file]);
    if let Some(server) = &request.base.mcp_server {
        let file = request.base.scratch.join("claude-mcp.json");
        write_private(&file, &server.for_claude().to_string())?;
        // Not last: more words after it would be files of the same kind.
        arguments.add(["--mcp-config"]).add([&file]);
    }
    arguments.add(["--disallowedTools", NOT_OFFERED]);
    if !spec.user_settings {
        arguments.add(["--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands"]);
        arguments.add(["--add-dir"]).add([&request.base.directory]);
        if let Some(instructions) = unread_instructions(&request.base.directory) {
            arguments.add(["--append-system-prompt-file"]).add([&instructions]);
        }
    }
    if let Some(model) = &spec.model {
        arguments.add(["--model", model]);
    }
    if let Some(budget) = request.budget {
        // A second barrier, which holds between two answers even for a model whose price only the program knows.
        arguments.add(["--max-budget-usd", &budget.to_json_number().to_string()]);
    }
    arguments.add(&spec.args);

    Ok(Invocation {
        program: arguments.0,
        environment: environment(spec, unset(settings.environment, request)),
        stdin: Stdin::Bytes(no_command(request.prompt).into_bytes()),
        // A piece of an answer comes whole in a later line; a secret is found there, and not cut into pieces.
        pieces: Some(Pieces::ToldAgain(parser::is_piece)),
        parser: parser(),
    })
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn of(program: &str) -> Self {
        Self(vec![program.into()])
    }

    fn add<T: AsRef<std::ffi::OsStr>>(&mut self, more: impl IntoIterator<Item = T>) -> &mut Self {
        self.0.extend(more.into_iter().map(|one| one.as_ref().to_owned()));
        self
    }
}

/// Those of the user's settings that the real environment does not have: that one weighs more.
fn unset(variables: Vec<(OsString, OsString)>, request: &Request<'_>) -> Vec<(OsString, OsString)> {
    let is_set = |name: &OsString| name.to_str().is_some_and(|name| request.base.variable(name).is_some());
    variables.into_iter().filter(|(name, _)| !is_set(name)).collect()
}

/// The variables of a run, over those that the user's settings name.
fn environment(spec: &AgentSpec, login: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut own = vec![
        // Covers updates, telemetry, error reports and questions to services besides the model's.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", RETRIES),
        // It would not end before everything in the background has: a server that an agent started never does.
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
        // What a check printed must not make it read files: `@name` stays text.
        ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
    ];
    if !spec.user_settings {
        // A fresh context in each iteration; and CLAUDE.md of the added folder, which is the workspace.
        own.push(("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"));
        own.push(("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "1"));
    }
    if rustix::process::geteuid().is_root() {
        // It refuses to work without questions as root, except where somebody vouches for a sandbox.
        own.push(("IS_SANDBOX", "1"));
    }
    let own = own.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    crate::stream::merged(login, own)
}

/// Instructions of the repository that it would not read by itself.
fn unread_instructions(directory: &Path) -> Option<PathBuf> {
    let has_own = OWN_INSTRUCTIONS.iter().any(|name| directory.join(name).is_file());
    within(&directory.canonicalize().ok()?, &directory.join(INSTRUCTIONS)).filter(|_| !has_own)
}

/// The user's settings, found as the program itself finds them.
fn user_settings(request: &Request<'_>) -> Option<String> {
    let moved = request.base.variable("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = moved.or_else(|| request.base.variable("HOME").map(|home| Path::new(home).join(".claude")))?;
    read_plain(&folder.join("settings.json"), Links::Follow, MAX_BYTES).ok()
}

pub(crate) fn parser() -> Box<dyn Parser> {
    Box::<Claude>::default()
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
