//! A tool call of OpenCode, which is told once, when it has ended.

use ralph_model::FaultKind;
use serde_json::Value;

use crate::text::{bounded, field};
use crate::transcript::{CallEnd, Transcript};

/// Inputs that say best what a call is about, in this order.
const TELLING: [&str; 8] = ["command", "filePath", "path", "pattern", "url", "query", "name", "description"];
/// Bytes of an output that a summary looks at.
const MAX_OUTPUT: usize = 1000;

/// Notes the call, and says whether it was denied.
pub(super) fn tell(part: &Value, transcript: &mut Transcript) -> bool {
    let state = &part["state"];
    let input = &state["input"];
    let (id, tool) = (field(part, "callID"), field(part, "tool"));
    if tool == "invalid" {
        // What the model called cannot be called; OpenCode answers in its place.
        let called = field(input, "tool");
        transcript.call(id, called, "");
        transcript.call_ended(id, called, CallEnd::Failed(field(input, "error").to_owned()));
        return false;
    }
    let about = TELLING.iter().find_map(|name| input.get(name)?.as_str()).unwrap_or("");
    transcript.call(id, tool, about);
    let error = field(state, "error");
    let end = match field(state, "status") {
        "completed" => completed(state),
        _ if is_denied(error) => CallEnd::Denied(first_sentence(error).to_owned()),
        _ => {
            if is_refused(error) {
                transcript.fault(FaultKind::SandboxRefused, &format!("{tool}: {error}"));
            }
            CallEnd::Failed(error.to_owned())
        }
    };
    let is_denied = matches!(end, CallEnd::Denied(_));
    transcript.call_ended(id, tool, end);
    is_denied
}

/// A call that OpenCode carried out. Whether a command failed is in its exit code; none means that it was ended.
fn completed(state: &Value) -> CallEnd {
    let Some(exit) = state.get("metadata").and_then(|metadata| metadata.get("exit")) else { return CallEnd::Done };
    let output = bounded(field(state, "output").to_owned(), MAX_OUTPUT);
    match exit.as_i64() {
        Some(0) => CallEnd::Done,
        Some(code) => CallEnd::Failed(format!("exit code {code}: {output}")),
        None => CallEnd::Failed(format!("it was ended: {output}")),
    }
}

fn is_denied(error: &str) -> bool {
    ["rejected permission", "specified a rule which prevents", "user dismissed"]
        .iter()
        .any(|words| error.contains(words))
}

/// Whether the operating system said no, which for a file tool means a sandbox or another user's file.
fn is_refused(error: &str) -> bool {
    ["PermissionDenied:", "EACCES", "EROFS", "EPERM"].iter().any(|words| error.contains(words))
}

/// What comes after it are all rules, as JSON.
fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}
