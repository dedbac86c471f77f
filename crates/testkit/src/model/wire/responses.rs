//! OpenAI Responses.

use serde_json::{Value, json};

use super::super::answer::{Answer, Call, Input, Part};
use super::super::refusal::Refusal;
use super::super::{Stop, Usage};
use super::{CREATED, event};

/// Events, each with its number in the stream.
struct Stream(Vec<String>);

impl Stream {
    fn push(&mut self, kind: &str, mut value: Value) {
        value["type"] = json!(kind);
        value["sequence_number"] = json!(self.0.len());
        self.0.push(event(kind, &value));
    }
}

pub(super) fn whole(answer: &Answer) -> Value {
    let output: Vec<Value> = answer.parts.iter().enumerate().map(|(at, part)| item(answer, at, part)).collect();
    let mut response = response(answer, "completed");
    response["output"] = json!(output);
    response["usage"] = usage(answer.usage);
    if let Some(stop) = &answer.stop {
        response["status"] = json!("incomplete");
        response["incomplete_details"] = json!({ "reason": reason(*stop) });
    }
    response
}

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut stream = Stream(Vec::new());
    stream.push("response.created", json!({ "response": response(answer, "in_progress") }));
    stream.push("response.in_progress", json!({ "response": response(answer, "in_progress") }));
    for (at, part) in answer.parts.iter().enumerate() {
        let done = item(answer, at, part);
        let id = done["id"].clone();
        let mut added = done.clone();
        added["status"] = json!("in_progress");
        match part {
            Part::Text(text) => {
                added["content"] = json!([]);
                stream.push("response.output_item.added", json!({ "output_index": at, "item": added }));
                let place = json!({ "item_id": id, "output_index": at, "content_index": 0 });
                let with = |key: &str, value: Value| {
                    let mut place = place.clone();
                    place[key] = value;
                    place
                };
                stream.push("response.content_part.added", with("part", output_text("")));
                for piece in answer.cut(text) {
                    stream.push("response.output_text.delta", with("delta", json!(piece)));
                }
                stream.push("response.output_text.done", with("text", json!(text)));
                stream.push("response.content_part.done", with("part", output_text(text)));
            }
            Part::Call(call) => {
                let (field, kind, text) = match &call.input {
                    Input::Json(value) => ("arguments", "response.function_call_arguments", value.to_string()),
                    Input::Free(text) => ("input", "response.custom_tool_call_input", text.clone()),
                    // The words come with the item alone.
                    Input::Shell(_) => ("", "", String::new()),
                };
                if !field.is_empty() {
                    added[field] = json!("");
                }
                stream.push("response.output_item.added", json!({ "output_index": at, "item": added }));
                for piece in answer.cut(&text) {
                    let delta = json!({ "item_id": id, "output_index": at, "delta": piece });
                    stream.push(&format!("{kind}.delta"), delta);
                }
                if !field.is_empty() {
                    let mut whole = json!({ "item_id": id, "output_index": at });
                    whole[field] = json!(text);
                    stream.push(&format!("{kind}.done"), whole);
                }
            }
        }
        stream.push("response.output_item.done", json!({ "output_index": at, "item": done }));
    }
    let kind = if answer.stop.is_some() { "response.incomplete" } else { "response.completed" };
    stream.push(kind, json!({ "response": whole(answer) }));
    stream.0
}

pub(super) fn failed(refusal: &Refusal, answer: &Answer, number: usize) -> String {
    let error = &refusal.body["error"];
    let code = ["code", "type"].iter().map(|key| &error[*key]).find(|code| code.is_string());
    let mut response = response(answer, "failed");
    response["error"] = json!({ "code": code, "message": error["message"] });
    let failed = json!({ "type": "response.failed", "sequence_number": number, "response": response });
    event("response.failed", &failed)
}

fn response(answer: &Answer, status: &str) -> Value {
    json!({
        "id": format!("resp_{}", answer.serial),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "model": answer.model,
        "output": [],
        "error": null,
        "incomplete_details": null,
        "usage": null,
    })
}

fn item(answer: &Answer, at: usize, part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({
            "id": format!("msg_{}_{at}", answer.serial),
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [output_text(text)],
        }),
        Part::Call(call) => tool_call(answer, at, call),
    }
}

fn tool_call(answer: &Answer, at: usize, call: &Call) -> Value {
    let id = format!("{}_{at}", answer.serial);
    let mut item = match &call.input {
        Input::Json(value) => json!({
            "id": format!("fc_{id}"),
            "type": "function_call",
            "name": call.name,
            "arguments": value.to_string(),
        }),
        Input::Free(text) => json!({
            "id": format!("ctc_{id}"),
            "type": "custom_tool_call",
            "name": call.name,
            "input": text,
        }),
        Input::Shell(words) => json!({
            "id": format!("lsh_{id}"),
            "type": "local_shell_call",
            "action": { "type": "exec", "command": words, "env": {} },
        }),
    };
    item["call_id"] = json!(format!("call_{id}"));
    item["status"] = json!("completed");
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn output_text(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}

const fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "max_output_tokens",
        Stop::Refusal => "content_filter",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.all_input(),
        "input_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.all_input() + usage.output,
    })
}
