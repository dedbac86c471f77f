//! Answers an agent that asks before it uses a tool: a prohibited path is refused before it is written. Whatever it cannot
//! understand it lets pass, because every change is looked at afterwards anyway, and a broken hook would break the agent.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_workspace::Guard;
use serde::Deserialize;
use serde_json::{Value, json};

/// The list that Ralph writes for one run of an agent.
#[derive(Deserialize)]
struct List {
    root: PathBuf,
    globs: Vec<String>,
}

/// The event of a `PreToolUse` hook of Claude Code, as far as it matters.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    tool_input: Value,
}

/// A file that an event larger than this writes is looked at afterwards only.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads the event, answers if it has to, and never fails.
pub(crate) fn guard(list: Option<OsString>, input: &mut dyn Read, out: &mut dyn Write) -> ExitCode {
    if let Some(answer) = list.and_then(|list| answer(Path::new(&list), input)) {
        let _ = writeln!(out, "{answer}");
    }
    ExitCode::SUCCESS
}

fn answer(list: &Path, input: &mut dyn Read) -> Option<Value> {
    let List { root, globs } = serde_json::from_slice(&std::fs::read(list).ok()?).ok()?;
    let mut event = Vec::new();
    input.take(MAX_BYTES).read_to_end(&mut event).ok()?;
    let asked: Asked = serde_json::from_slice(&event).ok()?;
    refusal(&root, &globs, &asked.tool_input)
}

/// The answer that refuses a tool call, where it names a path that is prohibited.
pub(crate) fn refusal(root: &Path, globs: &[String], tool_input: &Value) -> Option<Value> {
    let guard = Guard::new(globs).ok()?;
    let (path, glob) = paths(tool_input).find_map(|path| Some((path, guard.forbids(root, Path::new(path))?)))?;
    Some(denial(&format!("{path} is prohibited in this loop ({glob}): leave it as it is")))
}

/// The paths that a tool call would write.
pub(crate) fn paths(tool_input: &Value) -> impl Iterator<Item = &str> {
    ["file_path", "notebook_path"].into_iter().filter_map(|name| tool_input.get(name)?.as_str())
}

/// The answer that refuses a tool call.
pub(crate) fn denial(reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    })
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
