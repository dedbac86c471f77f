//! The wire formats, without IO: what a request looks like, and how an answer is put together from its stream.

mod anthropic;
mod chat;
mod responses;
mod usage;

use serde_json::Value;

use crate::conversation::{Answer, Delta, Protocol, Request};

pub use usage::{Format, UsageReader, UsageSeen};

/// The most that one answer may hold. A stream without an end would otherwise fill the memory.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The most parts that one answer may have.
const MAX_PARTS: usize = 4096;

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The provider reports an error in the place of an answer or of its rest.
    #[error("{message}")]
    Refused { message: String },
    #[error("the answer broke off")]
    Truncated,
    #[error("the answer cannot be understood: {0}")]
    Malformed(String),
    #[error("the answer is too large")]
    TooLarge,
}

/// How the limit of what is written is named in Chat Completions: OpenAI renamed it, others did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatLimit {
    MaxTokens,
    MaxCompletionTokens,
}

/// The path of requests below the provider's base address, which ends with a version or does not.
pub fn url(protocol: Protocol, base: &str) -> String {
    let base = base.trim_end_matches('/');
    let base = match base.rsplit_once('/') {
        Some((_, last))
            if last.len() >= 2 && last.starts_with('v') && last[1..].bytes().all(|b| b.is_ascii_digit()) =>
        {
            base.to_owned()
        }
        _ => format!("{base}/v1"),
    };
    let path = match protocol {
        Protocol::AnthropicMessages => "messages",
        Protocol::OpenaiResponses => "responses",
        Protocol::OpenaiChat => "chat/completions",
    };
    format!("{base}/{path}")
}

/// The body of a request whose answer is streamed.
pub fn body(protocol: Protocol, request: &Request<'_>, limit: ChatLimit) -> Value {
    match protocol {
        Protocol::AnthropicMessages => anthropic::body(request),
        Protocol::OpenaiResponses => responses::body(request),
        Protocol::OpenaiChat => chat::body(request, limit),
    }
}

/// Puts an answer together.
#[derive(Debug)]
pub struct Assembler {
    format: Parts,
    bytes: usize,
}

#[derive(Debug)]
enum Parts {
    Anthropic(anthropic::Assembler),
    Responses(responses::Assembler),
    Chat(chat::Assembler),
}

impl Assembler {
    pub fn new(protocol: Protocol) -> Self {
        let format = match protocol {
            Protocol::AnthropicMessages => Parts::Anthropic(anthropic::Assembler::default()),
            Protocol::OpenaiResponses => Parts::Responses(responses::Assembler::default()),
            Protocol::OpenaiChat => Parts::Chat(chat::Assembler::default()),
        };
        Self { format, bytes: 0 }
    }

    /// Takes the data of one event, and says what is new in it.
    ///
    /// # Errors
    /// When it is an error of the provider, or cannot be understood.
    pub fn push(&mut self, data: &str) -> Result<Vec<Delta>, WireError> {
        self.bytes = self.bytes.saturating_add(data.len());
        if self.bytes > MAX_BYTES {
            return Err(WireError::TooLarge);
        }
        if data.trim() == "[DONE]" {
            return Ok(Vec::new());
        }
        let event: Value = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        if let Some(error) = refusal(&event) {
            return Err(error);
        }
        match &mut self.format {
            Parts::Anthropic(assembler) => assembler.push(&event),
            Parts::Responses(assembler) => assembler.push(&event),
            Parts::Chat(assembler) => assembler.push(&event),
        }
    }

    /// The answer, once its stream has ended.
    ///
    /// # Errors
    /// When the stream ended too early.
    pub fn finish(self) -> Result<Answer, WireError> {
        match self.format {
            Parts::Anthropic(assembler) => assembler.finish(),
            Parts::Responses(assembler) => assembler.finish(),
            Parts::Chat(assembler) => assembler.finish(),
        }
    }
}

/// An answer in one piece, from a server that does not stream.
///
/// # Errors
/// When it is an error of the provider, or cannot be understood.
pub fn whole(protocol: Protocol, body: &Value) -> Result<Answer, WireError> {
    if let Some(error) = refusal(body) {
        return Err(error);
    }
    match protocol {
        Protocol::AnthropicMessages => anthropic::whole(body),
        Protocol::OpenaiResponses => responses::whole(body),
        Protocol::OpenaiChat => chat::whole(body),
    }
}

/// The error that a body or an event is, in its provider's words.
pub fn refusal(body: &Value) -> Option<WireError> {
    let error = match body.get("error") {
        Some(Value::Null) | None if body.get("type").is_some_and(|kind| kind == "error") => body,
        Some(Value::Null) | None => return None,
        Some(error) => error,
    };
    let message = error.as_str().or_else(|| error.get("message")?.as_str());
    let kind = ["type", "code"].iter().filter_map(|key| error.get(key)?.as_str()).find(|kind| *kind != "error");
    let message = match (kind, message) {
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        (None, Some(text)) | (Some(text), None) => text.to_owned(),
        (None, None) => error.to_string(),
    };
    Some(WireError::Refused { message })
}

fn malformed(what: &dyn std::fmt::Display) -> WireError {
    WireError::Malformed(what.to_string())
}

/// The text below a key; empty where there is none.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Takes counts over the ones before: they come several times, and the later ones are all of them.
fn take_counts(into: &mut Value, usage: &Value) {
    let Some(usage) = usage.as_object() else { return };
    if !into.is_object() {
        *into = Value::Object(serde_json::Map::new());
    }
    for (key, value) in usage.iter().filter(|(_, value)| !value.is_null()) {
        into[key] = value.clone();
    }
}

/// The number below a key; zero where there is none.
fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
