//! OpenAI Chat Completions, and the servers that are compatible with it.

use ralph_model::Tokens;
use serde_json::{Value, json};

use super::{ChatLimit, MAX_PARTS, WireError, malformed, number, text};
use crate::conversation::{Answer, Arguments, Delta, Message, Part, Request, StopReason, ToolCall, ToolResult};

pub(super) fn body(request: &Request<'_>, limit: ChatLimit) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for message in request.messages {
        match message {
            Message::System(content) => messages.push(json!({ "role": "system", "content": content })),
            Message::User(content) => messages.push(json!({ "role": "user", "content": content })),
            Message::Assistant(parts) => messages.push(assistant(parts)),
            Message::Results(results) => messages.extend(results.iter().map(result)),
        }
    }
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    let limit = match limit {
        ChatLimit::MaxTokens => "max_tokens",
        ChatLimit::MaxCompletionTokens => "max_completion_tokens",
    };
    body[limit] = request.max_tokens.into();
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
            json!({ "type": "function", "function": function })
        });
        body["tools"] = tools.collect();
    }
    if let Some(key) = request.cache_key.filter(|_| limit == "max_completion_tokens") {
        body["prompt_cache_key"] = key.into();
    }
    body
}

fn assistant(parts: &[Part]) -> Value {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(content) => Some(content.as_str()),
            Part::Call(_) | Part::Opaque(_) => None,
        })
        .collect();
    let calls: Vec<Value> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Call(ToolCall { id, name, arguments }) => {
                let function = json!({ "name": name, "arguments": arguments.to_value().to_string() });
                Some(json!({ "id": id, "type": "function", "function": function }))
            }
            Part::Text(_) | Part::Opaque(_) => None,
        })
        .collect();
    let mut message = json!({ "role": "assistant", "content": texts.join("\n") });
    if !calls.is_empty() {
        if texts.is_empty() {
            message["content"] = Value::Null;
        }
        message["tool_calls"] = calls.into();
    }
    message
}

/// The format has no mark for a failure, so the text has it.
fn result(ToolResult { id, content, is_error }: &ToolResult) -> Value {
    let content = if *is_error { format!("ERROR: {content}") } else { content.clone() };
    json!({ "role": "tool", "tool_call_id": id, "content": content })
}

#[derive(Debug, Default)]
pub(super) struct Assembler {
    model: String,
    said: String,
    calls: Vec<Call>,
    usage: Value,
    finish: Option<String>,
}

#[derive(Debug, Default)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Assembler {
    pub(super) fn push(&mut self, event: &Value) -> Result<Vec<Delta>, WireError> {
        if self.model.is_empty() {
            text(event, "model").clone_into(&mut self.model);
        }
        if event["usage"].is_object() {
            self.usage = event["usage"].clone();
        }
        let choice = &event["choices"][0];
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        let delta = &choice["delta"];
        let mut deltas = Vec::new();
        // Two names of the same thing, which servers chose before there was one.
        for thinking in
            ["reasoning_content", "reasoning"].map(|key| text(delta, key)).into_iter().filter(|t| !t.is_empty())
        {
            deltas.push(Delta::Thinking(thinking.to_owned()));
        }
        for said in ["content", "refusal"].map(|key| text(delta, key)).into_iter().filter(|t| !t.is_empty()) {
            self.said.push_str(said);
            deltas.push(Delta::Text(said.to_owned()));
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            deltas.extend(self.call(piece)?);
        }
        Ok(deltas)
    }

    fn call(&mut self, piece: &Value) -> Result<Option<Delta>, WireError> {
        let function = &piece["function"];
        // Some servers leave the index out and send a call in one piece.
        let index = piece["index"].as_u64();
        let known = self.calls.iter().position(|call| match index {
            Some(index) => call.index == index,
            None => !call.id.is_empty() && call.id == text(piece, "id"),
        });
        let (call, is_new) = match known {
            Some(at) => (&mut self.calls[at], false),
            None if self.calls.len() >= MAX_PARTS => return Err(WireError::TooLarge),
            None => {
                let index = index.unwrap_or_else(|| u64::try_from(self.calls.len()).unwrap_or(u64::MAX));
                self.calls.push(Call { index, ..Call::default() });
                let last = self.calls.len() - 1;
                (&mut self.calls[last], true)
            }
        };
        for (part, whole) in [(text(piece, "id"), &mut call.id), (text(function, "name"), &mut call.name)] {
            if whole.is_empty() {
                part.clone_into(whole);
            }
        }
        match &function["arguments"] {
            Value::String(piece) => call.arguments.push_str(piece),
            Value::Null => {}
            // Not as the format says, but as it is meant.
            other => call.arguments = other.to_string(),
        }
        Ok(is_new.then(|| Delta::Call { name: call.name.clone() }))
    }

    pub(super) fn finish(self) -> Result<Answer, WireError> {
        let Some(finish) = self.finish else { return Err(WireError::Truncated) };
        let calls = self.calls.into_iter().enumerate().map(|(at, call)| {
            // Without an id its result would refer to nothing.
            let id = if call.id.is_empty() { format!("call_{at}") } else { call.id };
            Part::Call(ToolCall { id, name: call.name, arguments: Arguments::parse(&call.arguments) })
        });
        let said = (!self.said.is_empty()).then_some(Part::Text(self.said));
        let parts: Vec<Part> = said.into_iter().chain(calls).collect();
        let stop = stop(&finish, &parts);
        Ok(Answer { parts, stop, model: self.model, tokens: tokens(&self.usage) })
    }
}

/// One piece that holds everything is read as a stream of one event.
pub(super) fn whole(body: &Value) -> Result<Answer, WireError> {
    let message = body["choices"][0].get("message").ok_or_else(|| malformed(&"it has no message"))?;
    let mut event = body.clone();
    event["choices"][0]["delta"] = message.clone();
    if event["choices"][0]["finish_reason"].is_null() {
        event["choices"][0]["finish_reason"] = "stop".into();
    }
    let mut assembler = Assembler::default();
    assembler.push(&event)?;
    assembler.finish()
}

fn stop(finish: &str, parts: &[Part]) -> StopReason {
    let has_calls = parts.iter().any(|part| matches!(part, Part::Call(_)));
    match finish {
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        // Some servers say `stop` although there are calls.
        "stop" | "tool_calls" | "function_call" if has_calls => StopReason::Calls,
        "stop" | "tool_calls" | "function_call" => StopReason::End,
        other => StopReason::Other(other.to_owned()),
    }
}

pub(super) fn tokens(usage: &Value) -> Option<Tokens> {
    let read = number(usage, "prompt_tokens");
    let cached = number(&usage["prompt_tokens_details"], "cached_tokens").min(read);
    let tokens = Tokens {
        input: read - cached,
        cache_read: cached,
        output: number(usage, "completion_tokens"),
        ..Tokens::default()
    };
    Some(tokens).filter(|tokens| !tokens.is_none())
}
