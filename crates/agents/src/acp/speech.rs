//! Which messages of a server are pieces of what the agent says or thinks. Nothing else tells those words.

use ralph_process::{Piece, Said, Speech};
use serde_json::Value;

use super::calls::text;
use super::rpc::{self, Message};

/// How words come.
pub(super) const SPEECH: Speech = Speech { read, with };

/// The kinds of pieces, which are told beside each other.
const VOICES: [&str; 3] = ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"];
const WORDS: &str = "/content/text";

fn read(line: &str) -> Said<'_> {
    match rpc::read(line) {
        Some(Message::Notification { method, params }) if method == "session/update" => {
            params.get("update").map_or(Said::Beside, update)
        }
        Some(Message::Request { method, .. }) if method == "session/request_permission" => Said::End,
        Some(Message::Answer { .. }) => Said::End,
        Some(Message::Notification { .. } | Message::Request { .. }) | None => Said::Beside,
    }
}

fn update(update: &Value) -> Said<'static> {
    let kind = text(update, "sessionUpdate").unwrap_or_default();
    // Where the client takes the words so far for a message, and nowhere else.
    if matches!(kind, "tool_call" | "tool_call_update") {
        return Said::End;
    }
    let voice = VOICES.into_iter().find(|voice| *voice == kind);
    match (voice, update.pointer(WORDS).and_then(Value::as_str)) {
        (Some(voice), Some(words)) => {
            let message = text(update, "messageId").unwrap_or_default().to_owned().into();
            Said::Piece(Piece { voice, message, words: words.to_owned().into() })
        }
        _ => Said::Beside,
    }
}

fn with(line: &str, words: &str) -> String {
    let mut message: Value = serde_json::from_str(line).unwrap_or_default();
    if let Some(text) = message.pointer_mut("/params/update").and_then(|update| update.pointer_mut(WORDS)) {
        *text = words.into();
    }
    message.to_string()
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
