//! Which lines of the stream are pieces of what the agent says. Nothing else tells those words.

use ralph_text::{ChunkCodec, MessageChunk, StreamLine};
use serde_json::Value;

use crate::text::field;

/// How words come in the stream.
pub(super) const SPEECH: ChunkCodec = ChunkCodec { read, with };

fn read(line: &str) -> StreamLine<'_> {
    let Ok(event) = serde_json::from_str::<Value>(line.trim()) else { return StreamLine::Other };
    match field(&event, "type") {
        "message" if field(&event, "role") == "assistant" => StreamLine::Chunk(MessageChunk {
            voice: "assistant",
            message: "".into(),
            words: field(&event, "content").to_owned().into(),
        }),
        // Where the parser takes the words so far for a message, and nowhere else.
        "tool_use" | "result" => StreamLine::End,
        _ => StreamLine::Other,
    }
}

fn with(line: &str, words: &str) -> String {
    let mut event: Value = serde_json::from_str(line.trim()).unwrap_or_default();
    if let Some(content) = event.get_mut("content") {
        *content = words.into();
    }
    event.to_string()
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
