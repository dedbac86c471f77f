//! OpenAI Responses.

use ralph_model::Tokens;
use serde_json::{Value, json};

use super::{MAX_PARTS, WireError, malformed, number, refusal, text};
use crate::conversation::{
    Answer, Arguments, Delta, Message, Opaque, Part, Protocol, Request, StopReason, ToolCall, ToolResult,
};

pub(super) fn body(request: &Request<'_>) -> Value {
    let mut input: Vec<Value> = Vec::new();
    for message in request.messages {
        match message {
            Message::System(content) => input.push(said("developer", "input_text", content)),
            Message::User(content) => input.push(said("user", "input_text", content)),
            Message::Assistant(parts) => input.extend(parts.iter().filter_map(item)),
            Message::Results(results) => input.extend(results.iter().map(result)),
        }
    }
    let mut body = json!({
        "model": request.model,
        "input": input,
        "max_output_tokens": request.max_tokens,
        "stream": true,
        // The conversation is Ralph's to keep.
        "store": false,
    });
    if !request.system.trim().is_empty() {
        body["instructions"] = request.system.into();
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": false,
            })
        });
        body["tools"] = tools.collect();
    }
    if let Some(budget) = request.thinking_tokens {
        body["max_output_tokens"] = request.max_tokens.saturating_add(budget).into();
        // Nothing is kept there, so the model's reasoning comes along, sealed.
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(key) = request.cache_key {
        body["prompt_cache_key"] = key.into();
    }
    body
}

fn said(role: &str, kind: &str, content: &str) -> Value {
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": content }] })
}

fn item(part: &Part) -> Option<Value> {
    match part {
        Part::Text(content) => (!content.is_empty()).then(|| said("assistant", "output_text", content)),
        Part::Call(ToolCall { id, name, arguments }) => {
            let arguments = arguments.to_value().to_string();
            Some(json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments }))
        }
        Part::Opaque(Opaque { protocol: Protocol::OpenaiResponses, raw }) => Some(raw.clone()),
        Part::Opaque(_) => None,
    }
}

/// The format has no mark for a failure, so the text has it.
fn result(ToolResult { id, content, is_error }: &ToolResult) -> Value {
    let output = if *is_error { format!("ERROR: {content}") } else { content.clone() };
    json!({ "type": "function_call_output", "call_id": id, "output": output })
}

#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// Every item that is complete, by its place.
    items: Vec<(u64, Value)>,
    response: Option<Value>,
}

impl Assembler {
    pub(super) fn push(&mut self, event: &Value) -> Result<Vec<Delta>, WireError> {
        let delta = || text(event, "delta").to_owned();
        match text(event, "type") {
            "response.output_text.delta" | "response.refusal.delta" => return Ok(vec![Delta::Text(delta())]),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                return Ok(vec![Delta::Thinking(delta())]);
            }
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                return Ok(vec![Delta::Call { name: text(&event["item"], "name").to_owned() }]);
            }
            "response.output_item.done" => {
                if self.items.len() >= MAX_PARTS {
                    return Err(WireError::TooLarge);
                }
                self.items.push((number(event, "output_index"), event["item"].clone()));
            }
            "response.completed" | "response.incomplete" => self.response = Some(event["response"].clone()),
            "response.failed" => {
                let failed = WireError::Refused { message: "the response failed".to_owned() };
                return Err(refusal(&event["response"]).unwrap_or(failed));
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    pub(super) fn finish(mut self) -> Result<Answer, WireError> {
        let mut response = self.response.ok_or(WireError::Truncated)?;
        if response["output"].as_array().is_none_or(Vec::is_empty) {
            // What is complete came with its own event.
            self.items.sort_by_key(|(index, _)| *index);
            response["output"] = self.items.into_iter().map(|(_, item)| item).collect();
        }
        whole(&response)
    }
}

pub(super) fn whole(body: &Value) -> Result<Answer, WireError> {
    let output = body["output"].as_array().ok_or_else(|| malformed(&"it has no output"))?;
    let parts: Vec<Part> = output.iter().take(MAX_PARTS).flat_map(parts).collect();
    let has_calls = parts.iter().any(|part| matches!(part, Part::Call(_)));
    let is_refusal =
        output.iter().flat_map(|item| item["content"].as_array()).flatten().any(|c| c["type"] == "refusal");
    let stop = match body["incomplete_details"]["reason"].as_str() {
        Some("max_output_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
        None if is_refusal => StopReason::Refusal,
        None if has_calls => StopReason::Calls,
        None => StopReason::End,
    };
    Ok(Answer { parts, stop, model: text(body, "model").to_owned(), tokens: tokens(&body["usage"]) })
}

fn parts(item: &Value) -> Vec<Part> {
    match text(item, "type") {
        "message" => {
            let content = item["content"].as_array().into_iter().flatten();
            let texts = content.map(|part| ["text", "refusal"].map(|key| text(part, key)).concat());
            texts.filter(|content| !content.is_empty()).map(Part::Text).collect()
        }
        "function_call" => vec![Part::Call(ToolCall {
            id: text(item, "call_id").to_owned(),
            name: text(item, "name").to_owned(),
            arguments: Arguments::parse(text(item, "arguments")),
        })],
        // Reasoning, and what later versions add.
        _ => vec![Part::Opaque(Opaque { protocol: Protocol::OpenaiResponses, raw: item.clone() })],
    }
}

pub(super) fn tokens(usage: &Value) -> Option<Tokens> {
    let (read, details) = (number(usage, "input_tokens"), &usage["input_tokens_details"]);
    let cached = number(details, "cached_tokens").min(read);
    let written = number(details, "cache_write_tokens").min(read - cached);
    let tokens = Tokens {
        input: read - cached - written,
        cache_read: cached,
        cache_write: written,
        output: number(usage, "output_tokens"),
        ..Tokens::default()
    };
    Some(tokens).filter(|tokens| !tokens.is_none())
}
