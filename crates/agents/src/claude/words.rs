//! Short texts for people out of the values of events: what a call is about, why it failed. Decides nothing.

use serde_json::Value;

use crate::text::{is_refused_by_sandbox, list, text};

/// Bytes of a text that are looked at, and kept of it.
pub(super) const MAX: usize = 2000;

pub(super) fn called_with(input: &Value) -> String {
    const TELLING: [&str; 9] =
        ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "prompt"];
    let telling = TELLING.iter().map(|name| text(&input[*name])).find(|value| !value.is_empty());
    let any = || input.as_object()?.values().find_map(Value::as_str);
    beginning(telling.or_else(any).unwrap_or_default()).to_owned()
}

/// Whether a call was refused before it ran.
pub(super) fn is_rejected(meta: &Value, id: &str) -> bool {
    let of_call = list(meta).iter().find(|one| text(&one["id"]) == id);
    of_call.is_some_and(|one| text(&one["permission_decision"]["decision"]) == "reject")
}

/// The texts of a tool's result.
fn pieces(content: &Value) -> impl Iterator<Item = &str> {
    content.as_str().into_iter().chain(list(content).iter().map(|block| text(&block["text"])))
}

/// The words of a failed call, without what the program puts around them.
pub(super) fn error_words(content: &Value) -> String {
    let words = pieces(content).find(|piece| !piece.trim().is_empty()).unwrap_or_default();
    let words = beginning(words).trim_start_matches("<tool_use_error>");
    let words = words.trim_end_matches("</tool_use_error>");
    let hook = words.strip_prefix("PreToolUse:").and_then(|rest| rest.split_once(" hook error: "));
    hook.map_or(words, |(_, reason)| reason).to_owned()
}

/// The line of a failed call that shows a sandbox at work.
pub(super) fn refused_by_sandbox(content: &Value) -> Option<&str> {
    let is_sign = |line: &&str| is_refused_by_sandbox(beginning(line)) || line.contains("<sandbox_violations>");
    pieces(content).flat_map(str::lines).find(is_sign).map(beginning)
}

/// As much of a text as anybody reads.
pub(super) fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX)).unwrap_or(text)
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
