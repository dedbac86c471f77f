//! The agent's words, which come in pieces: shown as they come, joined into messages.

use serde_json::Value;

use super::calls::text;
use crate::text::bounded;
use crate::transcript::Transcript;

/// Bytes of a message that are kept, from its end: that is where an agent says that it is done.
const MAX: usize = 64 * 1024;

/// Messages in a row, with no call between them, after which nobody believes that the next one will be another. One ends a turn;
/// several come from a server that begins the same turn again and again.
const MAX_IN_A_ROW: u32 = 25;

#[derive(Debug, Default)]
pub(super) struct MessageBuffer {
    /// Whole messages since the last call.
    in_a_row: u32,
    message: String,
    /// The server's name for the message, where it has one.
    id: Option<String>,
}

impl MessageBuffer {
    /// A piece, as the server tells it.
    pub(super) fn observe(&mut self, update: &Value, transcript: &mut Transcript) {
        let piece = update.pointer("/content/text").and_then(Value::as_str).unwrap_or_default();
        self.says(piece, text(update, "messageId"), transcript);
    }

    /// A piece of the message with this name. A piece of another message ends the one before.
    pub(super) fn says(&mut self, piece: &str, id: Option<&str>, transcript: &mut Transcript) {
        if id != self.id.as_deref() {
            self.ends(transcript);
            self.id = id.map(|id| bounded(id.to_owned(), MAX));
        }
        if piece.is_empty() {
            return;
        }
        transcript.words(piece);
        self.message.push_str(piece);
        // Cut at twice the size only, so that each byte is moved once on average.
        if self.message.len() > 2 * MAX {
            self.message = bounded(std::mem::take(&mut self.message), MAX);
        }
    }

    pub(super) fn ends(&mut self, transcript: &mut Transcript) {
        if self.message.trim().is_empty() {
            self.message.clear();
            return;
        }
        let message = bounded(std::mem::take(&mut self.message), MAX);
        transcript.message(&message);
        self.in_a_row += 1;
        if self.in_a_row == MAX_IN_A_ROW {
            transcript.hopeless(&format!("{MAX_IN_A_ROW} messages in a row without a tool call"));
        }
    }

    /// A call comes after the message.
    pub(super) fn pauses(&mut self, transcript: &mut Transcript) {
        self.ends(transcript);
        self.in_a_row = 0;
    }
}
