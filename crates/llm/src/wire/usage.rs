//! What an answer used, read from its bytes as they pass by. Keeps no content, and takes nothing for an error: a reader
//! that only watches need not understand as much as the one that asked.

use ralph_model::{Money, Tokens};
use serde_json::Value;

use super::{anthropic, chat, number, responses, text};

/// A format whose usage can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Messages,
    Responses,
    Chat,
    Gemini,
}

/// What one answer used, as far as its service has reported it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageSeen {
    pub model: Option<String>,
    /// Its tokens; none where the service reported none.
    pub tokens: Option<Tokens>,
    /// What the service's own tools cost that it used for the answer: searches of the web, say.
    pub tools: Money,
    /// The hundredths of the usual price that the service asks for this tier.
    pub percent: i64,
    /// The price is that of the fast variant of the model.
    pub is_fast: bool,
    /// The answer has come to its end, so that its figures are the last ones.
    pub is_over: bool,
    /// The service reports an error in the place of an answer.
    pub is_error: bool,
    /// Tokens written so far, about: for an answer that ends without figures.
    pub written: u64,
}

/// Words of which one is in every event that says something about usage.
const SIGNS: [&[u8]; 10] = [
    b"\"usage\"",
    b"\"usageMetadata\"",
    b"\"message_stop\"",
    b"\"response.created\"",
    b"_call\"",
    b"\"webSearchQueries\"",
    b"\"finish_reason\"",
    b"\"finishReason\"",
    b"\"error\"",
    b"\"message_start\"",
];
/// What services ask for one use of their own tools, in micro-dollars.
const SEARCH: u64 = 10_000;
const GEMINI_SEARCH: u64 = 35_000;
const OPENAI_TOOLS: [(&str, u64); 4] = [
    ("web_search_call", SEARCH),
    ("file_search_call", 2_500),
    ("code_interpreter_call", 30_000),
    ("image_generation_call", 250_000),
];

/// About as many bytes of an event are not the text that it carries.
const ENVELOPE: usize = 120;
/// About as many bytes of text are one token.
const BYTES_OF_A_TOKEN: usize = 4;

#[derive(Debug)]
pub struct UsageReader {
    format: Format,
    usage: Value,
    seen: UsageSeen,
    tier: String,
}

impl UsageReader {
    pub fn new(format: Format) -> Self {
        Self { format, usage: Value::Null, seen: UsageSeen::default(), tier: String::new() }
    }

    /// Takes the data of one event of a stream.
    pub fn event(&mut self, data: &[u8]) {
        let text_bytes = data.len().saturating_sub(ENVELOPE);
        let tokens = u64::try_from(text_bytes / BYTES_OF_A_TOKEN).unwrap_or(u64::MAX).max(1);
        if data.trim_ascii() == b"[DONE]" {
            self.seen.is_over = true;
            return;
        }
        if !SIGNS.iter().any(|sign| contains(data, sign)) {
            self.seen.written = self.seen.written.saturating_add(tokens);
            return;
        }
        if let Ok(event) = serde_json::from_slice::<Value>(data) {
            self.value(&event);
        }
    }

    /// Takes an answer in one piece.
    pub fn body(&mut self, body: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return };
        match (self.format, &value) {
            // A stream of Gemini without events is one list.
            (Format::Gemini, Value::Array(chunks)) => chunks.iter().for_each(|chunk| self.value(chunk)),
            (Format::Responses, _) => self.response(&value),
            (Format::Messages, _) => self.message(&value),
            (Format::Chat | Format::Gemini, _) => self.value(&value),
        }
        self.seen.is_error |= value.get("error").is_some_and(|error| !error.is_null());
        self.seen.is_over = !self.seen.is_error && value.is_object() || value.is_array();
        self.seen.written = u64::try_from(body.len() / BYTES_OF_A_TOKEN).unwrap_or(u64::MAX);
    }

    pub fn seen(&self) -> UsageSeen {
        let tokens = match self.format {
            Format::Messages => anthropic::tokens(&self.usage),
            Format::Responses => responses::tokens(&self.usage),
            Format::Chat => chat::tokens(&self.usage),
            Format::Gemini => gemini_tokens(&self.usage),
        };
        let is_openai = matches!(self.format, Format::Responses | Format::Chat);
        let percent = if matches!(self.tier.as_str(), "batch" | "flex") { 50 } else { 100 };
        let is_fast = (is_openai && matches!(self.tier.as_str(), "priority" | "fast"))
            || (self.format == Format::Messages && text(&self.usage, "speed") == "fast");
        let tools = match self.format {
            Format::Messages => {
                dollars(SEARCH.saturating_mul(number(&self.usage["server_tool_use"], "web_search_requests")))
            }
            Format::Responses | Format::Chat | Format::Gemini => self.seen.tools,
        };
        UsageSeen { tokens, percent, is_fast, tools, ..self.seen.clone() }
    }

    fn value(&mut self, event: &Value) {
        match self.format {
            Format::Messages => match text(event, "type") {
                "message_start" => self.message(&event["message"]),
                "message_delta" => self.count(&event["usage"]),
                "message_stop" => self.seen.is_over = true,
                "error" => self.seen.is_error = true,
                _ => {}
            },
            Format::Responses => match text(event, "type") {
                "response.output_item.done" => self.seen.tools += tool(&event["item"]),
                "response.completed" | "response.incomplete" => {
                    // Its items were counted one by one.
                    let tools = self.seen.tools;
                    self.response(&event["response"]);
                    self.seen.tools = self.seen.tools.max(tools);
                    self.seen.is_over = true;
                }
                "response.failed" | "error" => {
                    self.response(&event["response"]);
                    self.seen.is_error = true;
                }
                "response.created" | "response.in_progress" => self.name(text(&event["response"], "model")),
                _ => {}
            },
            Format::Chat => {
                self.name(text(event, "model"));
                self.tier(event);
                self.count(&event["usage"]);
                self.seen.is_error |= event.get("error").is_some_and(|error| !error.is_null());
            }
            Format::Gemini => {
                // The program's own service wraps its answers.
                let event = event.get("response").unwrap_or(event);
                self.name(text(event, "modelVersion"));
                self.count(&event["usageMetadata"]);
                self.seen.is_over |= event["candidates"][0]["finishReason"].is_string();
                // One price for all searches of an answer.
                let searches = event["candidates"][0]["groundingMetadata"]["webSearchQueries"].as_array();
                if searches.is_some_and(|searches| !searches.is_empty()) {
                    self.seen.tools = dollars(GEMINI_SEARCH);
                }
                self.seen.is_error |= event.get("error").is_some();
            }
        }
    }

    fn message(&mut self, message: &Value) {
        self.name(text(message, "model"));
        self.count(&message["usage"]);
    }

    fn response(&mut self, response: &Value) {
        self.name(text(response, "model"));
        self.tier(response);
        self.count(&response["usage"]);
        let output = response["output"].as_array().into_iter().flatten();
        self.seen.tools = output.map(tool).sum();
    }

    fn name(&mut self, model: &str) {
        if !model.is_empty() {
            self.seen.model = Some(model.to_owned());
        }
    }

    fn tier(&mut self, of: &Value) {
        if let Some(tier) = of["service_tier"].as_str() {
            tier.clone_into(&mut self.tier);
        }
    }

    /// Counts come several times, and the later ones are all of them.
    fn count(&mut self, usage: &Value) {
        super::take_counts(&mut self.usage, usage);
        self.tier(usage);
    }
}

/// What one use of a tool of the service costs.
fn tool(item: &Value) -> Money {
    let known = OPENAI_TOOLS.iter().find(|(name, _)| item["type"] == *name);
    known.map_or(Money::ZERO, |(_, micros)| dollars(*micros))
}

fn dollars(micros: u64) -> Money {
    Money::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

fn contains(data: &[u8], sign: &[u8]) -> bool {
    memchr::memmem::find(data, sign).is_some()
}

fn gemini_tokens(usage: &Value) -> Option<Tokens> {
    let read = number(usage, "promptTokenCount").saturating_add(number(usage, "toolUsePromptTokenCount"));
    let cached = number(usage, "cachedContentTokenCount").min(read);
    let written = number(usage, "candidatesTokenCount").saturating_add(number(usage, "thoughtsTokenCount"));
    let tokens = Tokens { input: read - cached, cache_read: cached, output: written, ..Tokens::default() };
    Some(tokens).filter(|tokens| !tokens.is_none())
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
