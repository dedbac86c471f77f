//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::super::answer::{Answer, Call, Part};
use super::super::asked::Totals;
use super::super::{Stop, Usage};
use super::{CREATED, arguments, data};

pub(super) fn whole(answer: &Answer) -> Value {
    let texts: Vec<&str> = answer.parts.iter().filter_map(text).collect();
    let mut message = json!({ "role": "assistant", "content": null, "refusal": null });
    if !texts.is_empty() {
        message["content"] = json!(texts.join("\n"));
    }
    let calls: Vec<Value> =
        calls(answer).map(|(at, call)| tool_call(answer, at, call, &arguments(call).to_string())).collect();
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut completion = head(answer, "chat.completion");
    completion["choices"] =
        json!([{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(answer) }]);
    completion["usage"] = usage(answer.usage);
    completion
}

pub(super) fn events(answer: &Answer, totals: Totals) -> Vec<String> {
    let chunk = |choices: Value| {
        let mut chunk = head(answer, "chat.completion.chunk");
        chunk["choices"] = choices;
        chunk
    };
    let delta = |delta: Value, finish: Option<&str>| {
        data(&chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }])))
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), None)];
    for (number, text) in answer.parts.iter().filter_map(text).enumerate() {
        let separator = (number > 0).then_some("\n");
        let texts = separator.into_iter().chain(answer.cut(text));
        events.extend(texts.map(|piece| delta(json!({ "content": piece }), None)));
    }
    for (at, call) in calls(answer) {
        let mut start = tool_call(answer, at, call, "");
        start["index"] = json!(at);
        events.push(delta(json!({ "tool_calls": [start] }), None));
        for piece in answer.cut(&arguments(call).to_string()) {
            let more = json!({ "index": at, "function": { "arguments": piece } });
            events.push(delta(json!({ "tool_calls": [more] }), None));
        }
    }
    events.push(delta(json!({}), Some(finish_reason(answer))));
    if totals == Totals::Sent {
        let mut last = chunk(json!([]));
        last["usage"] = usage(answer.usage);
        events.push(data(&last));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn head(answer: &Answer, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.serial),
        "object": object,
        "created": CREATED,
        "model": answer.model,
        "system_fingerprint": null,
    })
}

fn text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        Part::Call(_) => None,
    }
}

fn calls(answer: &Answer) -> impl Iterator<Item = (usize, &Call)> {
    let calls = answer.parts.iter().filter_map(|part| match part {
        Part::Text(_) => None,
        Part::Call(call) => Some(call),
    });
    calls.enumerate()
}

fn tool_call(answer: &Answer, at: usize, call: &Call, arguments: &str) -> Value {
    let function = json!({ "name": call.name, "arguments": arguments });
    json!({ "id": format!("call_{}_{at}", answer.serial), "type": "function", "function": function })
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer.stop {
        Some(Stop::MaxTokens) => "length",
        Some(Stop::Refusal) => "content_filter",
        None if answer.calls_tools() => "tool_calls",
        None => "stop",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.all_input(),
        "completion_tokens": usage.output,
        "total_tokens": usage.all_input() + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning, "audio_tokens": 0 },
    })
}
