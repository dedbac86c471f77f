//! Gemini.

use serde_json::{Value, json};

use super::super::answer::{Answer, Call, Part};
use super::super::{Stop, Usage};
use super::arguments;

pub(super) fn whole(answer: &Answer) -> Value {
    let parts: Vec<Value> = answer
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => json!({ "text": text }),
            Part::Call(call) => function_call(call),
        })
        .collect();
    let mut chunk = chunk(answer, parts);
    chunk["candidates"][0]["finishReason"] = json!(finish_reason(answer));
    chunk["usageMetadata"] = usage(answer.usage, answer.usage.output);
    chunk
}

/// The answer in parts. Each has the usage so far, the last one that of the whole.
pub(super) fn chunks(answer: &Answer) -> Vec<Value> {
    let mut chunks = Vec::new();
    for part in &answer.parts {
        match part {
            Part::Text(text) => {
                chunks.extend(answer.cut(text).into_iter().map(|piece| chunk(answer, vec![json!({ "text": piece })])));
            }
            // The service sends a call in one piece.
            Part::Call(call) => chunks.push(chunk(answer, vec![function_call(call)])),
        }
    }
    if chunks.is_empty() {
        chunks.push(chunk(answer, vec![json!({ "text": "" })]));
    }
    if let Some(last) = chunks.last_mut() {
        last["candidates"][0]["finishReason"] = json!(finish_reason(answer));
        last["usageMetadata"] = usage(answer.usage, answer.usage.output);
    }
    chunks
}

fn chunk(answer: &Answer, parts: Vec<Value>) -> Value {
    json!({
        "candidates": [{ "content": { "parts": parts, "role": "model" }, "index": 0 }],
        "usageMetadata": usage(answer.usage, 0),
        "modelVersion": answer.model,
        "responseId": answer.serial,
    })
}

fn function_call(call: &Call) -> Value {
    json!({ "functionCall": { "name": call.name, "args": arguments(call) } })
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer.stop {
        Some(Stop::MaxTokens) => "MAX_TOKENS",
        Some(Stop::Refusal) => "SAFETY",
        None => "STOP",
    }
}

fn usage(usage: Usage, output: u64) -> Value {
    let reasoning = usage.reasoning.min(output);
    let mut metadata = json!({
        "promptTokenCount": usage.all_input(),
        "candidatesTokenCount": output - reasoning,
        "totalTokenCount": usage.all_input() + output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": usage.all_input() }],
    });
    // The service leaves out what is zero.
    if usage.cache_read > 0 {
        metadata["cachedContentTokenCount"] = json!(usage.cache_read);
    }
    if reasoning > 0 {
        metadata["thoughtsTokenCount"] = json!(reasoning);
    }
    metadata
}
