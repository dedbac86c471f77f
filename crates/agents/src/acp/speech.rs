//! Which messages of a server are pieces of what the agent says or thinks. Nothing else tells those words.

use ralph_text::{ChunkCodec, MessageChunk, StreamLine};
use serde_json::Value;

use super::calls::text;
use super::rpc::{self, Message};

/// How words come.
pub(super) const SPEECH: ChunkCodec = ChunkCodec { read, with };

/// The kinds of pieces, which are told beside each other.
const VOICES: [&str; 3] = ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"];
const WORDS: &str = "/content/text";

fn read(line: &str) -> StreamLine<'_> {
    match rpc::read(line) {
        Some(Message::Notification { method, params }) if method == "session/update" => {
            params.get("update").map_or(StreamLine::Other, update)
        }
        Some(Message::Request { method, .. }) if method == "session/request_permission" => StreamLine::End,
        Some(Message::Answer { .. }) => StreamLine::End,
        Some(Message::Notification { .. } | Message::Request { .. }) | None => StreamLine::Other,
    }
}

fn update(update: &Value) -> StreamLine<'static> {
    let kind = text(update, "sessionUpdate").unwrap_or_default();
    // Where the client takes the words so far for a message, and nowhere else.
    if matches!(kind, "tool_call" | "tool_call_update") {
        return StreamLine::End;
    }
    let voice = VOICES.into_iter().find(|voice| *voice == kind);
    match (voice, update.pointer(WORDS).and_then(Value::as_str)) {
        (Some(voice), Some(words)) => {
            let message = text(update, "messageId").unwrap_or_default().to_owned().into();
            StreamLine::Chunk(MessageChunk { voice, message, words: words.to_owned().into() })
        }
        _ => StreamLine::Other,
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
