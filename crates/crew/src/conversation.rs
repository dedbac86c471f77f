//! A conversation that is compacted when it grows too long. The request that it is about is never summarised: after a compaction it
//! is pinned, byte for byte and exactly once.

use ralph_llm::{Message, Part, ToolResult};
use ralph_model::Tokens;

/// What stands before a pinned request.
pub const PIN: &str = "[ORIGINAL REQUEST — pinned]\n";
/// What stands before a summary.
const SUMMARY: &str = "[SUMMARY OF THE CONVERSATION SO FAR]\n";
/// Of the limit, how much of the newest messages stays as it is.
const KEPT_PART: u64 = 4;
/// Bytes of one message that a transcript for a summary holds.
const MAX_SHOWN: usize = 8 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    request: String,
    messages: Vec<Message>,
    sizes: Vec<u64>,
    /// What the service counted for the messages up to here, which is more exact than the estimate.
    counted: Option<(usize, u64)>,
    compactions: u32,
}

impl Conversation {
    pub fn new(request: impl Into<String>) -> Self {
        let request = request.into();
        let mut conversation =
            Self { request: request.clone(), messages: Vec::new(), sizes: Vec::new(), counted: None, compactions: 0 };
        conversation.push(Message::User(request));
        conversation
    }

    /// The person asks for something else: from now on this is the request.
    pub fn ask(&mut self, request: impl Into<String>) {
        self.request = request.into();
        // The old pin would be a second one.
        if let Some(at) = self.messages.iter().position(|message| matches!(message, Message::System(_))) {
            self.messages.remove(at);
            self.sizes.remove(at);
            self.counted = None;
        }
        self.push(Message::User(self.request.clone()));
    }

    pub fn push(&mut self, message: Message) {
        self.sizes.push(estimate(&message));
        self.messages.push(message);
    }

    /// The service counted what it read and wrote, which is all messages so far.
    pub fn count(&mut self, tokens: Tokens) {
        if !tokens.is_none() {
            self.counted = Some((self.messages.len(), tokens.read().saturating_add(tokens.output)));
        }
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub fn request(&self) -> &str {
        &self.request
    }

    /// About how many tokens it has.
    pub fn tokens(&self) -> u64 {
        let (from, counted) = self.counted.unwrap_or((0, 0));
        counted + self.sizes.iter().skip(from).sum::<u64>()
    }

    /// How often it was compacted.
    pub const fn compactions(&self) -> u32 {
        self.compactions
    }

    /// Whether it should be compacted, and whether that would help.
    pub fn is_too_long(&self, limit: u64) -> bool {
        self.tokens() >= limit && self.first_kept(limit) > self.head()
    }

    /// Everything that a summary replaces, as text.
    pub fn transcript(&self, limit: u64) -> String {
        let old = self.messages.iter().take(self.first_kept(limit));
        old.filter(|message| !matches!(message, Message::System(_))).map(shown).collect::<Vec<_>>().join("\n\n")
    }

    /// Puts a summary and the pinned request in the place of all but the newest messages.
    pub fn compact(&mut self, summary: &str, limit: u64) {
        let tail = self.messages.split_off(self.first_kept(limit));
        self.messages = vec![
            Message::User(format!("{SUMMARY}{}", summary.trim())),
            Message::System(format!("{PIN}{}", self.request)),
        ];
        self.messages.extend(tail);
        self.sizes = self.messages.iter().map(estimate).collect();
        self.counted = None;
        self.compactions += 1;
    }

    /// How many messages at the beginning are what a compaction would write again.
    fn head(&self) -> usize {
        if self.compactions == 0 { 1 } else { 2 }
    }

    /// The first message that stays. A call and its results stay together, so the rest begins with what the model said.
    fn first_kept(&self, limit: u64) -> usize {
        let (mut room, mut first) = (limit / KEPT_PART, self.messages.len());
        for (at, message) in self.messages.iter().enumerate().rev() {
            let size = self.sizes.get(at).copied().unwrap_or_default();
            if size > room {
                break;
            }
            room -= size;
            if matches!(message, Message::Assistant(_)) {
                first = at;
            }
        }
        first
    }
}

/// About how many tokens a message has: four bytes each, and some for what is around it.
pub(crate) fn estimate(message: &Message) -> u64 {
    let bytes = match message {
        Message::System(text) | Message::User(text) => text.len(),
        Message::Assistant(parts) => parts.iter().map(part_bytes).sum(),
        Message::Results(results) => results.iter().map(|result| result.content.len() + result.id.len()).sum(),
    };
    u64::try_from(bytes / 4 + 8).unwrap_or(u64::MAX)
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Call(call) => call.name.len() + call.arguments.to_value().to_string().len(),
        Part::Opaque(opaque) => opaque.raw.to_string().len(),
    }
}

fn shown(message: &Message) -> String {
    match message {
        Message::System(text) => cut(text),
        Message::User(text) => format!("USER: {}", cut(text)),
        Message::Assistant(parts) => {
            let said = parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(format!("AGENT: {}", cut(text))),
                Part::Call(call) => {
                    Some(format!("CALL {}: {}", call.name, cut(&call.arguments.to_value().to_string())))
                }
                Part::Opaque(_) => None,
            });
            said.collect::<Vec<_>>().join("\n")
        }
        Message::Results(results) => {
            let line = |result: &ToolResult| {
                format!("RESULT{}: {}", if result.is_error { " (error)" } else { "" }, cut(&result.content))
            };
            results.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    }
}

/// The beginning and the end of a long text.
fn cut(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    let front = text.floor_char_boundary(MAX_SHOWN / 2);
    let back = text.ceil_char_boundary(text.len() - MAX_SHOWN / 2);
    format!("{}\n[… {} bytes left out …]\n{}", &text[..front], back - front, &text[back..])
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
