//! Turns a tool call by its meaning into a call of a tool that the client offers. Calls nothing.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Tool;
use super::answer::{Call, Input};
use super::asked::{Kind, Offered};
use super::schema;
use crate::shell_quoted;

/// No tool that is offered fits.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("scripted-model: no tool is offered that could {what}; offered are: {offered}")]
pub(super) struct Unfit {
    what: &'static str,
    offered: String,
}

// Names without the prefix of an MCP server and in lower case; the first that is offered is taken.
const WRITERS: [&str; 4] = ["write", "write_file", "writefile", "create_file"];
const READERS: [&str; 3] = ["read", "read_file", "readfile"];
const SHELLS: [&str; 8] =
    ["bash", "exec_command", "shell", "local_shell", "shell_command", "run_shell_command", "run_command", "terminal"];

const PATH: [&str; 5] = ["file_path", "filePath", "path", "absolute_path", "filename"];
const CONTENT: [&str; 4] = ["content", "contents", "text", "file_text"];
const COMMAND: [&str; 2] = ["command", "cmd"];
const PATCH: [&str; 3] = ["input", "patchText", "patch"];

/// The call that has the meaning of `tool`, with paths made absolute by `folder` where the tool takes a path.
pub(super) fn call(tool: &Tool, offered: &[Offered], folder: Option<&Path>) -> Result<Call, Unfit> {
    let unfit = |what| {
        let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
        Unfit { what, offered: if names.is_empty() { "none".to_owned() } else { names.join(", ") } }
    };
    match tool {
        Tool::Write { path, content } => write(path, content, offered, folder).ok_or_else(|| unfit("write a file")),
        Tool::Shell { command } => shell(command, offered).ok_or_else(|| unfit("run a command")),
        Tool::Read { path } => read(path, offered, folder).ok_or_else(|| unfit("read a file")),
        Tool::Call { name, input } => Ok(verbatim(name, input, offered)),
    }
}

fn write(path: &str, content: &str, offered: &[Offered], folder: Option<&Path>) -> Option<Call> {
    let with_tool = find(offered, &WRITERS).and_then(|tool| {
        let path = absolute(path, folder);
        arguments(tool, &[(&PATH, path.into()), (&CONTENT, content.into())])
    });
    let with_patch = || patch(path, content).and_then(|text| apply(text, offered));
    let with_shell = || {
        let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
        let folders = parent.map(|parent| format!("mkdir -p {} && ", shell_quoted(&parent.to_string_lossy())));
        let line =
            format!("{}printf %s {} > {}", folders.unwrap_or_default(), shell_quoted(content), shell_quoted(path));
        shell(&line, offered)
    };
    with_tool.or_else(with_patch).or_else(with_shell)
}

fn read(path: &str, offered: &[Offered], folder: Option<&Path>) -> Option<Call> {
    let with_tool = find(offered, &READERS).and_then(|tool| arguments(tool, &[(&PATH, absolute(path, folder).into())]));
    with_tool.or_else(|| shell(&format!("cat {}", shell_quoted(path)), offered))
}

fn shell(command: &str, offered: &[Offered]) -> Option<Call> {
    let words = || vec!["bash".to_owned(), "-lc".to_owned(), command.to_owned()];
    let with_tool = find(offered, &SHELLS).and_then(|tool| match &tool.kind {
        Kind::Shell => Some(called(tool, Input::Shell(words()))),
        Kind::Free | Kind::Hosted => None,
        Kind::Function(schema) => {
            let name = named(schema, &COMMAND)?;
            // Some take the words of a program, some a line.
            let as_words = schema::kind(&schema["properties"][name]).as_deref() == Some("array");
            let value = if as_words { json!(words()) } else { json!(command) };
            arguments(tool, &[(&COMMAND, value)])
        }
    });
    with_tool.or_else(|| {
        let line = json!({ "cmd": command });
        javascript(offered, "exec_command", &format!("text((await tools.exec_command({line})).output);"))
    })
}

/// A patch that creates the file, where a patch can say that: each of its lines ends with a line break.
fn patch(path: &str, content: &str) -> Option<String> {
    let lines = content.strip_suffix('\n')?;
    let added: String = lines.split('\n').map(|line| format!("+{line}\n")).collect();
    Some(format!("*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\n"))
}

fn apply(patch: String, offered: &[Offered]) -> Option<Call> {
    let with_tool = find(offered, &["apply_patch"]).and_then(|tool| match &tool.kind {
        Kind::Free => Some(called(tool, Input::Free(patch.clone()))),
        Kind::Function(_) => arguments(tool, &[(&PATCH, patch.clone().into())]),
        Kind::Shell | Kind::Hosted => None,
    });
    with_tool.or_else(|| {
        let code = format!("text(await tools.apply_patch({}));", Value::from(patch));
        javascript(offered, "apply_patch", &code)
    })
}

/// Codex offers some models a single tool that runs JavaScript, in which the others are functions.
fn javascript(offered: &[Offered], function: &str, code: &str) -> Option<Call> {
    let runs = |tool: &&Offered| {
        tool.name == "exec" && tool.kind == Kind::Free && tool.description.contains(&format!("{function}("))
    };
    offered.iter().find(runs).map(|tool| called(tool, Input::Free(code.to_owned())))
}

fn verbatim(name: &str, input: &Value, offered: &[Offered]) -> Call {
    let namespace = offered.iter().find(|tool| tool.name == name).and_then(|tool| tool.namespace.clone());
    let input = match input {
        Value::String(text) => Input::Free(text.clone()),
        other => Input::Json(other.clone()),
    };
    Call { name: name.to_owned(), namespace, input }
}

fn find<'a>(offered: &'a [Offered], names: &[&str]) -> Option<&'a Offered> {
    names.iter().find_map(|name| offered.iter().find(|tool| plain(&tool.name) == *name))
}

/// `mcp__acp__Write` is `write`.
fn plain(name: &str) -> String {
    name.rsplit("__").next().unwrap_or(name).to_lowercase()
}

/// The call with these values, each under whichever of its names the tool has, and samples of whatever else it requires.
fn arguments(tool: &Offered, values: &[(&[&str], Value)]) -> Option<Call> {
    let Kind::Function(schema) = &tool.kind else { return None };
    let mut given = Map::new();
    for (names, value) in values {
        given.insert(named(schema, names)?.to_owned(), value.clone());
    }
    Some(called(tool, Input::Json(Value::Object(schema::object(schema, given)))))
}

fn named<'a>(schema: &Value, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().find(|name| schema["properties"].get(*name).is_some())
}

fn called(tool: &Offered, input: Input) -> Call {
    Call { name: tool.name.clone(), namespace: tool.namespace.clone(), input }
}

fn absolute(path: &str, folder: Option<&Path>) -> String {
    folder.map_or_else(|| path.to_owned(), |folder| folder.join(path).to_string_lossy().into_owned())
}

#[cfg(test)]
#[path = "mapping_tests.rs"]
mod tests;
