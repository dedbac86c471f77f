//! Anthropic Messages.

use ralph_model::Tokens;
use serde_json::{Value, json};

use super::{MAX_PARTS, WireError, malformed, number, text};
use crate::conversation::{
    Answer, Arguments, Delta, Message, Opaque, Part, Protocol, Request, StopReason, ToolCall, ToolResult,
};

/// No model caches a shorter prompt, so a shorter one gets no mark. About 1,024 tokens.
const LEAST_CACHED: usize = 4096;
/// The service allows four marks: one for the tools and the system prompt, the others for the newest messages.
const MARKED_MESSAGES: usize = 2;
/// What stands for a message without content, which the service refuses.
const NOTHING: &str = "(no answer)";

pub(super) fn body(request: &Request<'_>) -> Value {
    let mut system: Vec<Value> = Vec::new();
    let mut messages: Vec<Value> = Vec::new();
    if !request.system.trim().is_empty() {
        system.push(json!({ "type": "text", "text": request.system }));
    }
    for message in request.messages {
        match message {
            // The format has one place for all of them.
            Message::System(content) => system.push(json!({ "type": "text", "text": content })),
            Message::User(content) => push(&mut messages, "user", vec![json!({ "type": "text", "text": content })]),
            Message::Assistant(parts) => push(&mut messages, "assistant", parts.iter().filter_map(block).collect()),
            Message::Results(results) => push(&mut messages, "user", results.iter().map(result).collect()),
        }
    }
    mark(&mut system, &mut messages, request);
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": true,
        "messages": messages,
    });
    if !system.is_empty() {
        body["system"] = system.into();
    }
    if !request.tools.is_empty() {
        let tools = request
            .tools
            .iter()
            .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema }));
        body["tools"] = tools.collect();
    }
    if let Some(budget) = request.thinking_tokens {
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
        // The limit holds for thinking and answer together.
        body["max_tokens"] = request.max_tokens.saturating_add(budget).into();
    }
    body
}

/// Messages of one role in a row are one message: results come first in it, which the order of a conversation ensures.
fn push(messages: &mut Vec<Value>, role: &str, mut content: Vec<Value>) {
    if content.is_empty() {
        content.push(json!({ "type": "text", "text": NOTHING }));
    }
    match messages.last_mut().filter(|last| last["role"] == role).and_then(|last| last["content"].as_array_mut()) {
        Some(last) => last.append(&mut content),
        None => messages.push(json!({ "role": role, "content": content })),
    }
}

fn block(part: &Part) -> Option<Value> {
    match part {
        // The service refuses empty texts.
        Part::Text(content) => (!content.trim().is_empty()).then(|| json!({ "type": "text", "text": content })),
        Part::Call(ToolCall { id, name, arguments }) => {
            Some(json!({ "type": "tool_use", "id": id, "name": name, "input": arguments.to_value() }))
        }
        Part::Opaque(Opaque { protocol: Protocol::AnthropicMessages, raw }) => Some(raw.clone()),
        Part::Opaque(_) => None,
    }
}

fn result(ToolResult { id, content, is_error }: &ToolResult) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error })
}

/// Marks where the beginning of the next request ends, so that it is read from the cache.
fn mark(system: &mut [Value], messages: &mut [Value], request: &Request<'_>) {
    let tools: usize = request.tools.iter().map(|tool| tool.description.len() + tool.schema.to_string().len()).sum();
    let fixed = tools + system.iter().map(|block| text(block, "text").len()).sum::<usize>();
    let said: usize = messages.iter().map(|message| message["content"].to_string().len()).sum();
    let cached = json!({ "type": "ephemeral" });
    if fixed >= LEAST_CACHED
        && let Some(last) = system.last_mut()
    {
        last["cache_control"] = cached.clone();
    }
    if fixed + said < LEAST_CACHED {
        return;
    }
    for message in messages.iter_mut().rev().filter(|message| message["role"] == "user").take(MARKED_MESSAGES) {
        if let Some(last) = message["content"].as_array_mut().and_then(|content| content.last_mut()) {
            last["cache_control"] = cached.clone();
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Assembler {
    model: String,
    blocks: Vec<Block>,
    usage: Value,
    stop: Option<String>,
    is_over: bool,
}

#[derive(Debug)]
struct Block {
    index: u64,
    raw: Value,
    /// What came for each of [`GROWING`] since.
    pieces: [String; GROWING.len()],
    json: String,
}

/// The members of a block that come in pieces.
const GROWING: [&str; 3] = ["text", "thinking", "signature"];

impl Assembler {
    pub(super) fn push(&mut self, event: &Value) -> Result<Vec<Delta>, WireError> {
        match text(event, "type") {
            "message_start" => {
                let message = &event["message"];
                text(message, "model").clone_into(&mut self.model);
                self.count(&message["usage"]);
            }
            "content_block_start" => return self.begin(event),
            "content_block_delta" => return self.grow(event),
            "message_delta" => {
                self.count(&event["usage"]);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(reason.to_owned());
                }
            }
            "message_stop" => self.is_over = true,
            // `ping`, the end of a block, and what later versions add.
            _ => {}
        }
        Ok(Vec::new())
    }

    /// Counts come with the start and again with the end, where the later ones are all of them.
    fn count(&mut self, usage: &Value) {
        super::take_counts(&mut self.usage, usage);
    }

    fn begin(&mut self, event: &Value) -> Result<Vec<Delta>, WireError> {
        if self.blocks.len() >= MAX_PARTS {
            return Err(WireError::TooLarge);
        }
        let raw = event["content_block"].clone();
        let began = match text(&raw, "type") {
            "tool_use" => vec![Delta::Call { name: text(&raw, "name").to_owned() }],
            _ => Vec::new(),
        };
        self.blocks.push(Block { index: number(event, "index"), raw, pieces: Default::default(), json: String::new() });
        Ok(began)
    }

    fn grow(&mut self, event: &Value) -> Result<Vec<Delta>, WireError> {
        let index = number(event, "index");
        let block = self.blocks.iter_mut().rev().find(|block| block.index == index);
        let block = block.ok_or_else(|| malformed(&format!("a piece of block {index}, which did not begin")))?;
        let delta = &event["delta"];
        for (key, whole) in GROWING.iter().zip(&mut block.pieces) {
            whole.push_str(text(delta, key));
        }
        block.json.push_str(text(delta, "partial_json"));
        Ok(match text(delta, "type") {
            "text_delta" => vec![Delta::Text(text(delta, "text").to_owned())],
            "thinking_delta" => vec![Delta::Thinking(text(delta, "thinking").to_owned())],
            _ => Vec::new(),
        })
    }

    pub(super) fn finish(self) -> Result<Answer, WireError> {
        if !self.is_over {
            return Err(WireError::Truncated);
        }
        let parts = self.blocks.into_iter().filter_map(|mut block| {
            for (key, piece) in GROWING.iter().zip(&block.pieces).filter(|(_, piece)| !piece.is_empty()) {
                block.raw[key] = format!("{}{piece}", text(&block.raw, key)).into();
            }
            let arguments = match &block.raw["input"] {
                // A call without arguments has no pieces, and some servers send all of them at the start.
                Value::Object(input) if block.json.is_empty() => Arguments::Object(input.clone()),
                _ => Arguments::parse(&block.json),
            };
            part(block.raw, arguments)
        });
        let (parts, tokens) = (parts.collect(), tokens(&self.usage));
        Ok(Answer { parts, stop: stop(self.stop.as_deref()), model: self.model, tokens })
    }
}

pub(super) fn whole(body: &Value) -> Result<Answer, WireError> {
    let content = body["content"].as_array().ok_or_else(|| malformed(&"it has no content"))?;
    let parts = content.iter().take(MAX_PARTS).filter_map(|block| {
        let arguments = match &block["input"] {
            Value::Object(input) => Arguments::Object(input.clone()),
            other => Arguments::Broken(other.to_string()),
        };
        part(block.clone(), arguments)
    });
    Ok(Answer {
        parts: parts.collect(),
        stop: stop(body["stop_reason"].as_str()),
        model: text(body, "model").to_owned(),
        tokens: tokens(&body["usage"]),
    })
}

fn part(raw: Value, arguments: Arguments) -> Option<Part> {
    match text(&raw, "type") {
        "text" => Some(Part::Text(text(&raw, "text").to_owned())).filter(|part| *part != Part::Text(String::new())),
        "tool_use" => Some(Part::Call(ToolCall {
            id: text(&raw, "id").to_owned(),
            name: text(&raw, "name").to_owned(),
            arguments,
        })),
        // Thinking, signed or hidden, and what later versions add.
        _ => Some(Part::Opaque(Opaque { protocol: Protocol::AnthropicMessages, raw })),
    }
}

fn stop(reason: Option<&str>) -> StopReason {
    match reason {
        Some("end_turn" | "stop_sequence") | None => StopReason::End,
        Some("tool_use") => StopReason::Calls,
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
        Some("refusal") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

pub(super) fn tokens(usage: &Value) -> Option<Tokens> {
    let written = number(usage, "cache_creation_input_tokens");
    let hour = number(&usage["cache_creation"], "ephemeral_1h_input_tokens").min(written);
    let tokens = Tokens {
        input: number(usage, "input_tokens"),
        cache_read: number(usage, "cache_read_input_tokens"),
        cache_write: written - hour,
        cache_write_hour: hour,
        output: number(usage, "output_tokens"),
    };
    Some(tokens).filter(|tokens| !tokens.is_none())
}
