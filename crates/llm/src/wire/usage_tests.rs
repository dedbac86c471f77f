use ralph_model::{Money, Tokens};
use serde_json::{Value, json};

use super::*;

fn read(format: Format, events: &[Value]) -> UsageSeen {
    let mut reader = UsageReader::new(format);
    events.iter().for_each(|event| reader.event(event.to_string().as_bytes()));
    reader.seen()
}

#[test]
fn each_format_reports_its_usage_in_a_stream() {
    let usage = json!({ "input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 4, "output_tokens": 1,
        "cache_creation": { "ephemeral_1h_input_tokens": 1 }, "service_tier": "standard" });
    let messages = [
        json!({ "type": "message_start", "message": { "model": "claude-x", "usage": usage } }),
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "the \"usage\" of it" } }),
        json!({ "type": "message_delta", "usage": { "output_tokens": 9, "server_tool_use": { "web_search_requests": 2 } } }),
        json!({ "type": "message_stop" }),
    ];
    let seen = read(Format::Messages, &messages);
    let tokens = Tokens { input: 5, cache_read: 7, cache_write: 3, cache_write_hour: 1, output: 9 };
    assert_eq!(
        (seen.tokens, seen.tools, seen.percent, seen.is_over),
        (Some(tokens), Money::from_micros(20_000), 100, true)
    );
    assert_eq!(seen.model.as_deref(), Some("claude-x"));
    let cut = read(Format::Messages, &messages[..2]);
    assert_eq!((cut.tokens.map(|tokens| tokens.output), cut.is_over, cut.written), (Some(1), false, 1));

    let usage = json!({ "input_tokens": 9, "output_tokens": 2, "input_tokens_details": { "cached_tokens": 5 } });
    let done = json!({ "model": "gpt-y", "usage": usage, "service_tier": "priority", "output": [] });
    let responses = [
        json!({ "type": "response.created", "response": { "model": "gpt-x", "usage": null } }),
        json!({ "type": "response.output_item.done", "item": { "type": "web_search_call" } }),
        json!({ "type": "response.completed", "response": done }),
    ];
    let seen = read(Format::Responses, &responses);
    let tokens = Tokens { input: 4, cache_read: 5, output: 2, ..Tokens::default() };
    assert_eq!(
        (seen.tokens, seen.is_fast, seen.tools, seen.is_over),
        (Some(tokens), true, Money::from_micros(10_000), true)
    );
    assert_eq!(seen.model.as_deref(), Some("gpt-y"), "it answered under another name");
    assert_eq!(read(Format::Responses, &responses[..1]).tokens, None);

    let chat = [
        json!({ "model": "q", "choices": [{ "delta": { "content": "Hi" }, "finish_reason": null }] }),
        json!({ "model": "q", "service_tier": "flex", "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 3,
            "prompt_tokens_details": { "cached_tokens": 4 } } }),
    ];
    let seen = read(Format::Chat, &chat);
    let tokens = Tokens { input: 6, cache_read: 4, output: 3, ..Tokens::default() };
    assert_eq!((seen.tokens, seen.percent), (Some(tokens), 50));
    assert_eq!(read(Format::Chat, &chat[..1]).tokens, None, "unknown, and not free");

    let metadata = json!({ "promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2, "toolUsePromptTokenCount": 1 });
    let gemini =
        json!({ "modelVersion": "gemini-x", "usageMetadata": metadata, "candidates": [{ "finishReason": "STOP" }] });
    let tokens = Tokens { input: 7, cache_read: 4, output: 5, ..Tokens::default() };
    let seen = read(Format::Gemini, std::slice::from_ref(&gemini));
    assert_eq!((seen.tokens, seen.is_over), (Some(tokens), true));
    let mut reader = UsageReader::new(Format::Gemini);
    reader.body(json!([{ "usageMetadata": { "promptTokenCount": 1 } }, gemini]).to_string().as_bytes());
    assert_eq!(reader.seen().tokens, Some(tokens), "a list of chunks");
}

#[test]
fn an_answer_in_one_piece_has_the_same_usage_and_nonsense_has_none() {
    let tokens = Some(Tokens { input: 1, output: 2, ..Tokens::default() });
    let named = json!({ "input_tokens": 1, "output_tokens": 2 });
    let bodies = [
        (Format::Messages, json!({ "model": "m", "usage": named })),
        (Format::Responses, json!({ "model": "m", "usage": named, "error": null, "output": [] })),
        (Format::Chat, json!({ "model": "m", "usage": { "prompt_tokens": 1, "completion_tokens": 2 } })),
        (
            Format::Gemini,
            json!({ "modelVersion": "m", "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 2 } }),
        ),
    ];
    for (format, body) in bodies {
        let mut reader = UsageReader::new(format);
        reader.body(body.to_string().as_bytes());
        let seen = reader.seen();
        assert_eq!((seen.tokens, seen.model.as_deref(), seen.is_over), (tokens, Some("m"), true), "{format:?}");
        for odd in
            ["<html>", "7", "[]", "null", r#"{"usage":7,"model":[],"type":{}}"#, r#"{"usage":{"input_tokens":-1}}"#]
        {
            let mut reader = UsageReader::new(format);
            reader.body(odd.as_bytes());
            reader.event(odd.as_bytes());
            assert_eq!(reader.seen().tokens, None, "{format:?} {odd}");
        }
    }
    let refused = read(Format::Messages, &[json!({ "type": "error", "error": { "type": "overloaded_error" } })]);
    assert!(refused.is_error);
}

#[test]
fn tools_of_the_service_cost_apart() {
    let item = |kind: &str| json!({ "type": "response.output_item.done", "item": { "type": kind } });
    let items = ["web_search_call", "file_search_call", "image_generation_call", "function_call"].map(item);
    assert_eq!(read(Format::Responses, &items).tools, Money::from_micros(10_000 + 2_500 + 250_000));
    let grounded = json!({ "candidates": [{ "groundingMetadata": { "webSearchQueries": ["a", "b"] } }] });
    assert_eq!(read(Format::Gemini, &[grounded]).tools, Money::from_micros(35_000));
}
