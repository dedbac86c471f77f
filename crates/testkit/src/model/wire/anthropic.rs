//! Anthropic Messages.

use serde_json::{Value, json};

use super::super::answer::{Answer, Call, Part};
use super::super::{Stop, Usage};
use super::{arguments, event};

pub(super) fn whole(answer: &Answer) -> Value {
    let content: Vec<Value> = answer.parts.iter().enumerate().map(|(at, part)| block(answer, at, part)).collect();
    let mut message = head(answer);
    message["content"] = json!(content);
    message["stop_reason"] = json!(stop_reason(answer));
    message["usage"] = usage(answer.usage, answer.usage.output);
    message
}

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut message = head(answer);
    // The real service counts one token when it begins.
    message["usage"] = usage(answer.usage, answer.usage.output.min(1));
    let mut events = vec![
        event("message_start", &json!({ "type": "message_start", "message": message })),
        event("ping", &json!({ "type": "ping" })),
    ];
    for (at, part) in answer.parts.iter().enumerate() {
        let (empty, kind, field, text) = match part {
            Part::Text(text) => (json!({ "type": "text", "text": "" }), "text_delta", "text", text.clone()),
            Part::Call(call) => {
                let empty = tool_use(answer, at, call, json!({}));
                (empty, "input_json_delta", "partial_json", arguments(call).to_string())
            }
        };
        let start = json!({ "type": "content_block_start", "index": at, "content_block": empty });
        events.push(event("content_block_start", &start));
        for piece in answer.cut(&text) {
            // In the order of the real service, which clients pass on as it came: most of a stream consists of these.
            let delta = format!(r#"{{"type":"{kind}","{field}":{}}}"#, json!(piece));
            let data = format!(r#"{{"type":"content_block_delta","index":{at},"delta":{delta}}}"#);
            events.push(format!("event: content_block_delta\ndata: {data}\n\n"));
        }
        events.push(event("content_block_stop", &json!({ "type": "content_block_stop", "index": at })));
    }
    let delta = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
    let end = json!({ "type": "message_delta", "delta": delta, "usage": usage(answer.usage, answer.usage.output) });
    events.push(event("message_delta", &end));
    events.push(event("message_stop", &json!({ "type": "message_stop" })));
    events
}

fn head(answer: &Answer) -> Value {
    json!({
        "id": format!("msg_{}", answer.serial),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    })
}

fn block(answer: &Answer, at: usize, part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Call(call) => tool_use(answer, at, call, arguments(call)),
    }
}

fn tool_use(answer: &Answer, at: usize, call: &Call, input: Value) -> Value {
    json!({ "type": "tool_use", "id": format!("toolu_{}_{at}", answer.serial), "name": call.name, "input": input })
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer.stop {
        Some(Stop::MaxTokens) => "max_tokens",
        Some(Stop::Refusal) => "refusal",
        None if answer.calls_tools() => "tool_use",
        None => "end_turn",
    }
}

fn usage(usage: Usage, output: u64) -> Value {
    let mut tokens = json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_creation": { "ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0 },
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": output,
    });
    if usage.reasoning > 0 && output == usage.output {
        tokens["output_tokens_details"] = json!({ "thinking_tokens": usage.reasoning });
    }
    tokens
}
