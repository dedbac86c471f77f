//! A tool call of OpenCode, which is told once, when it has ended.

use ralph_model::FaultKind;
use serde_json::Value;

use crate::transcript::{CallEnd, Transcript};

/// Inputs that say best what a call is about, in this order.
const TELLING: [&str; 8] = ["command", "filePath", "path", "pattern", "url", "query", "name", "description"];
/// Bytes of an output that a summary looks at.
const MAX_OUTPUT: usize = 1000;

/// What matters for the rest of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Denied,
    Other,
}

pub(super) fn tell(part: &Value, transcript: &mut Transcript) -> Outcome {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let state = part.get("state").unwrap_or(&Value::Null);
    let input = state.get("input").unwrap_or(&Value::Null);
    let (id, tool) = (text(part, "callID"), text(part, "tool"));
    if tool == "invalid" {
        // What the model called cannot be called; OpenCode answers in its place.
        let called = text(input, "tool");
        transcript.call(&id, &called, "");
        transcript.call_ended(&id, &called, CallEnd::Failed(text(input, "error")));
        return Outcome::Other;
    }
    let about = TELLING.iter().find_map(|name| input.get(name)?.as_str()).unwrap_or("");
    transcript.call(&id, &tool, about);
    let error = text(state, "error");
    let end = match text(state, "status").as_str() {
        "completed" => completed(state),
        _ if is_denied(&error) => CallEnd::Denied(first_sentence(&error).to_owned()),
        _ => {
            if is_refused(&error) {
                transcript.fault(FaultKind::SandboxRefused, &format!("{tool}: {error}"));
            }
            CallEnd::Failed(error)
        }
    };
    let outcome = if matches!(end, CallEnd::Denied(_)) { Outcome::Denied } else { Outcome::Other };
    transcript.call_ended(&id, &tool, end);
    outcome
}

/// A call that OpenCode carried out. Whether a command failed is in its exit code; none means that it was ended.
fn completed(state: &Value) -> CallEnd {
    let Some(exit) = state.get("metadata").and_then(|metadata| metadata.get("exit")) else { return CallEnd::Done };
    let output = state.get("output").and_then(Value::as_str).unwrap_or("");
    let output = crate::text::bounded(output.to_owned(), MAX_OUTPUT);
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
