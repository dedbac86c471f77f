//! What a tool call is about and how it ended, from what the program and its record say about it.

use ralph_model::FaultKind;
use serde_json::Value;

use crate::text::{field, one_line, short};
use crate::transcript::{CallEnd, Transcript};

/// Characters of a call's input, and of its own words about its end.
const MAX_INPUT: usize = 2000;
const MAX_WORDS: usize = 500;
/// The tool that runs commands. Its result is told as good whatever the command's exit code was.
pub(super) const SHELL: &str = "run_shell_command";
/// Tools that are always there, unless somebody forbade them: then the program says that it does not know them.
const ALWAYS_THERE: [&str; 4] = [SHELL, "write_file", "replace", "edit"];
/// Parameters that say what a call is about, the more telling ones first.
const TELLING: [&str; 11] =
    ["command", "file_path", "dir_path", "path", "pattern", "query", "url", "prompt", "objective", "name", "title"];

pub(super) fn failure(tool: &str, kind: &str, words: &str, transcript: &mut Transcript) -> CallEnd {
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    if matches!(kind, "policy_violation")
        || has(&["denied by policy", "requires user confirmation"])
        || (kind == "tool_not_registered" && ALWAYS_THERE.contains(&tool))
    {
        return CallEnd::Denied(words.to_owned());
    }
    if matches!(kind, "permission_denied" | "sandbox_expansion_required") || has(&["EACCES", "EPERM", "EROFS"]) {
        transcript.fault(FaultKind::SandboxRefused, &format!("{tool}: {words}"));
    }
    CallEnd::Failed(words.to_owned())
}

/// How a call ended that the program takes for a success, which it also does where a command failed.
pub(super) fn command_end(call: &Value, transcript: &mut Transcript) -> CallEnd {
    let Some(why) = exit_of(call) else { return CallEnd::Done };
    transcript.failed_with(response(call).map_or("", |answer| field(answer, "output")));
    CallEnd::Failed(why)
}

/// What a tool answered, as the record has it.
pub(super) fn response(call: &Value) -> Option<&Value> {
    call.pointer("/result/0/functionResponse/response")
}

/// How a command failed, from the lines that the tool adds to its output.
fn exit_of(call: &Value) -> Option<String> {
    if field(call, "name") != SHELL {
        return None;
    }
    let output = field(response(call)?, "output");
    if output.starts_with("Command was ") {
        return Some(one_line(output, MAX_WORDS));
    }
    // From the end: further up is what the command printed, which may look the same.
    let added = ["</untrusted_context>", "Process Group PGID: ", "Background PIDs: "];
    let last = output.trim_end().lines().rev().find(|line| !added.iter().any(|word| line.starts_with(word)))?;
    let (what, value) = last.split_once(": ")?;
    matches!(what, "Exit Code" | "Signal").then(|| format!("{} {value}", what.to_lowercase()))
}

pub(super) fn about(parameters: Option<&Value>) -> String {
    let Some(Value::Object(parameters)) = parameters else { return String::new() };
    let telling = TELLING.iter().find_map(|name| parameters.get(*name).and_then(Value::as_str));
    match telling {
        Some(text) => short(text.to_owned(), MAX_INPUT),
        None if parameters.is_empty() => String::new(),
        None => short(Value::Object(parameters.clone()).to_string(), MAX_INPUT),
    }
}
