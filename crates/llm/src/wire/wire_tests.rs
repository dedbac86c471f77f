use serde_json::json;

use super::*;
use crate::conversation::{Arguments, Message, Opaque, Part, StopReason, Tool, ToolCall, ToolResult};
use ralph_model::Tokens;

const ALL: [Protocol; 3] = [Protocol::AnthropicMessages, Protocol::OpenaiResponses, Protocol::OpenaiChat];

fn request<'a>(messages: &'a [Message], tools: &'a [Tool]) -> Request<'a> {
    Request {
        model: "m-1",
        system: "You are careful.",
        messages,
        tools,
        max_tokens: 1000,
        thinking_tokens: None,
        cache_key: Some("run-7"),
    }
}

fn call(id: &str, arguments: &str) -> Part {
    Part::Call(ToolCall { id: id.to_owned(), name: "look".to_owned(), arguments: Arguments::parse(arguments) })
}

fn conversation() -> Vec<Message> {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "x" });
    let result = |id: &str, is_error| ToolResult { id: id.to_owned(), content: "found".to_owned(), is_error };
    vec![
        Message::User("find it".to_owned()),
        Message::Assistant(vec![
            Part::Opaque(Opaque { protocol: Protocol::AnthropicMessages, raw: thinking }),
            Part::Opaque(Opaque { protocol: Protocol::OpenaiResponses, raw: reasoning }),
            Part::Text("I look".to_owned()),
            call("c1", r#"{"path":"a"}"#),
            call("c2", "{broken"),
        ]),
        Message::Results(vec![result("c1", false), result("c2", true)]),
        Message::System("[ORIGINAL REQUEST — pinned]\nfind it".to_owned()),
        Message::User("go on".to_owned()),
    ]
}

fn tools() -> Vec<Tool> {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    vec![Tool { name: "look".to_owned(), description: "Looks.".to_owned(), schema }]
}

#[test]
fn the_address_of_a_provider_ends_with_a_version_or_does_not() {
    let of = |base| url(Protocol::OpenaiChat, base);
    assert_eq!(of("http://127.0.0.1:8080"), "http://127.0.0.1:8080/v1/chat/completions");
    assert_eq!(of("http://127.0.0.1:8080/v1/"), "http://127.0.0.1:8080/v1/chat/completions");
    assert_eq!(of("https://host/api/v4"), "https://host/api/v4/chat/completions");
    assert_eq!(url(Protocol::AnthropicMessages, "https://host"), "https://host/v1/messages");
    assert_eq!(url(Protocol::OpenaiResponses, "https://host/vault"), "https://host/vault/v1/responses");
}

#[test]
fn anthropic_gets_its_own_thinking_back_and_results_before_texts() {
    let (messages, tools) = (conversation(), tools());
    let body = body(Protocol::AnthropicMessages, &request(&messages, &tools), ChatLimit::MaxTokens);
    assert_eq!(body["messages"][0], json!({ "role": "user", "content": [{ "type": "text", "text": "find it" }] }));
    let content = &body["messages"][1]["content"];
    assert_eq!(content[0], json!({ "type": "thinking", "thinking": "hm", "signature": "s" }));
    assert_eq!(content[1], json!({ "type": "text", "text": "I look" }));
    assert_eq!(content[2]["input"], json!({ "path": "a" }));
    assert_eq!(content[3]["input"], json!({ "invalid_json": "{broken" }), "an object in any case");
    let last = &body["messages"][2]["content"];
    assert_eq!(last[0]["tool_use_id"], "c1");
    assert_eq!(last[1]["is_error"], true);
    assert_eq!(last[2]["text"], "go on", "messages of one role are one message");
    assert_eq!(body["system"][1]["text"], "[ORIGINAL REQUEST — pinned]\nfind it");
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    assert!(!body.to_string().contains("cache_control"), "too short to be cached");
    assert!(!body.to_string().contains("rs_1"), "another provider's");
}

#[test]
fn anthropic_is_told_where_a_cache_pays() {
    let long = "x".repeat(5000);
    let messages: Vec<Message> = (0..4)
        .flat_map(|n| [Message::User(format!("{n}")), Message::Assistant(vec![Part::Text(format!("a{n}"))])])
        .chain([Message::User("last".to_owned())])
        .collect();
    let body =
        body(Protocol::AnthropicMessages, &Request { system: &long, ..request(&messages, &[]) }, ChatLimit::MaxTokens);
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
    let marked: Vec<bool> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"][0].get("cache_control").is_some())
        .collect();
    assert_eq!(marked, [false, false, false, false, false, false, true, false, true]);
}

#[test]
fn chat_and_responses_get_calls_and_results_in_their_form() {
    let (messages, tools) = (conversation(), tools());
    let chat = body(Protocol::OpenaiChat, &request(&messages, &tools), ChatLimit::MaxCompletionTokens);
    assert_eq!(chat["messages"][0], json!({ "role": "system", "content": "You are careful." }));
    assert_eq!(chat["messages"][2]["tool_calls"][0]["function"]["arguments"], r#"{"path":"a"}"#);
    assert_eq!(chat["messages"][4], json!({ "role": "tool", "tool_call_id": "c2", "content": "ERROR: found" }));
    assert_eq!(chat["messages"][5]["role"], "system");
    assert_eq!(chat["max_completion_tokens"], 1000);
    assert_eq!(chat["stream_options"]["include_usage"], true);
    assert!(body(Protocol::OpenaiChat, &request(&messages, &tools), ChatLimit::MaxTokens).get("max_tokens").is_some());

    let responses = body(Protocol::OpenaiResponses, &request(&messages, &tools), ChatLimit::MaxTokens);
    assert_eq!(responses["instructions"], "You are careful.");
    assert_eq!(responses["input"][1]["encrypted_content"], "x", "its own reasoning goes back");
    assert_eq!(responses["input"][3]["type"], "function_call");
    assert_eq!(responses["input"][6]["output"], "ERROR: found");
    assert_eq!(responses["input"][7]["role"], "developer");
    assert_eq!(responses["prompt_cache_key"], "run-7");
    assert_eq!(responses["store"], false);
}

fn assembled(protocol: Protocol, events: &[Value]) -> Result<(Answer, Vec<Delta>), WireError> {
    let mut assembler = Assembler::new(protocol);
    let mut deltas = Vec::new();
    for event in events {
        deltas.extend(assembler.push(&event.to_string())?);
    }
    Ok((assembler.finish()?, deltas))
}

#[test]
fn anthropic_is_put_together_with_thinking_calls_and_counts() {
    let block =
        |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let usage = json!({ "input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 4,
        "cache_creation": { "ephemeral_1h_input_tokens": 1 }, "output_tokens": 1 });
    let events = [
        json!({ "type": "message_start", "message": { "model": "claude-x", "usage": usage } }),
        json!({ "type": "ping" }),
        block(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "well" })),
        delta(0, json!({ "type": "signature_delta", "signature": "sig" })),
        block(1, json!({ "type": "text", "text": "" })),
        delta(1, json!({ "type": "text_delta", "text": "Hel" })),
        delta(1, json!({ "type": "text_delta", "text": "lo" })),
        block(2, json!({ "type": "tool_use", "id": "t1", "name": "look", "input": {} })),
        delta(2, json!({ "type": "input_json_delta", "partial_json": "{\"a\"" })),
        delta(2, json!({ "type": "input_json_delta", "partial_json": ":1}" })),
        block(3, json!({ "type": "tool_use", "id": "t2", "name": "list", "input": {} })),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ];
    let (answer, deltas) = assembled(Protocol::AnthropicMessages, &events).unwrap();
    let thinking = json!({ "type": "thinking", "thinking": "well", "signature": "sig" });
    assert_eq!(answer.parts[0], Part::Opaque(Opaque { protocol: Protocol::AnthropicMessages, raw: thinking }));
    assert_eq!(answer.text(), "Hello");
    let calls: Vec<_> = answer.calls().map(|call| (call.id.as_str(), call.arguments.to_value())).collect();
    assert_eq!(calls, [("t1", json!({ "a": 1 })), ("t2", json!({}))]);
    assert_eq!(answer.stop, StopReason::Calls);
    let tokens = Tokens { input: 5, cache_read: 7, cache_write: 3, cache_write_hour: 1, output: 9 };
    assert_eq!(answer.tokens, Some(tokens));
    assert_eq!(deltas[1], Delta::Text("Hel".to_owned()));
    assert_eq!(deltas[3], Delta::Call { name: "look".to_owned() });
    let cut = assembled(Protocol::AnthropicMessages, &events[..events.len() - 1]);
    assert_eq!(cut.unwrap_err(), WireError::Truncated);
}

#[test]
fn chat_is_put_together_as_servers_send_it() {
    let chunk =
        |delta: Value, finish: Value| json!({ "model": "q", "choices": [{ "delta": delta, "finish_reason": finish }] });
    let piece = |index: u64, function: Value| json!({ "tool_calls": [{ "index": index, "function": function }] });
    let begun = |index: u64, id: &str, name: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": "" } }] });
    let events = [
        chunk(json!({ "role": "assistant", "content": "" }), Value::Null),
        chunk(json!({ "reasoning_content": "hm" }), Value::Null),
        chunk(json!({ "content": "Hi" }), Value::Null),
        chunk(begun(0, "c1", "look"), Value::Null),
        chunk(begun(1, "c2", "list"), Value::Null),
        chunk(piece(0, json!({ "arguments": "{\"a\":" })), Value::Null),
        chunk(piece(1, json!({ "arguments": "{" })), Value::Null),
        chunk(piece(0, json!({ "arguments": "2}" })), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 3,
            "prompt_tokens_details": { "cached_tokens": 4 } } }),
    ];
    let (answer, deltas) = assembled(Protocol::OpenaiChat, &events).unwrap();
    assert_eq!(answer.text(), "Hi");
    let calls: Vec<_> = answer.calls().map(|call| call.arguments.clone()).collect();
    assert_eq!(calls[0].to_value(), json!({ "a": 2 }));
    assert_eq!(calls[1], Arguments::Broken("{".to_owned()));
    assert_eq!(answer.tokens, Some(Tokens { input: 6, cache_read: 4, output: 3, ..Tokens::default() }));
    assert_eq!(deltas[0], Delta::Thinking("hm".to_owned()));
    let (silent, _) = assembled(Protocol::OpenaiChat, &events[..events.len() - 1]).unwrap();
    assert_eq!(silent.tokens, None, "unknown, and not free");
    assert_eq!(assembled(Protocol::OpenaiChat, &events[..3]).unwrap_err(), WireError::Truncated);
    // As some servers do: `stop` although there are calls, no index, arguments as an object.
    let odd = json!({ "tool_calls": [{ "id": "c9", "function": { "name": "look", "arguments": { "a": 3 } } }] });
    let (odd, _) = assembled(Protocol::OpenaiChat, &[chunk(odd, json!("stop"))]).unwrap();
    assert_eq!(odd.stop, StopReason::Calls);
    assert_eq!(odd.calls().next().unwrap().arguments.to_value(), json!({ "a": 3 }));
}

#[test]
fn responses_are_put_together_from_their_items() {
    let done =
        |index: u64, item: Value| json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hi" }] });
    let call = json!({ "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"a\":1}" });
    let reasoning = json!({ "type": "reasoning", "id": "rs", "encrypted_content": "sealed" });
    let usage = json!({ "input_tokens": 9, "output_tokens": 2, "input_tokens_details": { "cached_tokens": 5 } });
    let events = [
        json!({ "type": "response.output_text.delta", "delta": "Hi" }),
        done(1, message),
        done(0, reasoning.clone()),
        done(2, call),
        json!({ "type": "response.completed", "response": { "model": "gpt-x", "output": [], "usage": usage, "error": null } }),
    ];
    let (answer, deltas) = assembled(Protocol::OpenaiResponses, &events).unwrap();
    assert_eq!(deltas, [Delta::Text("Hi".to_owned())]);
    assert_eq!(answer.parts[0], Part::Opaque(Opaque { protocol: Protocol::OpenaiResponses, raw: reasoning }));
    assert_eq!(answer.text(), "Hi");
    assert_eq!(answer.stop, StopReason::Calls);
    assert_eq!(answer.tokens, Some(Tokens { input: 4, cache_read: 5, output: 2, ..Tokens::default() }));
    assert_eq!(assembled(Protocol::OpenaiResponses, &events[..4]).unwrap_err(), WireError::Truncated);
}

#[test]
fn an_error_in_a_stream_is_the_providers_own_words() {
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let failed = json!({ "type": "response.failed",
        "response": { "error": { "code": "server_error", "message": "Sorry" } } });
    for (protocol, event, words) in [
        (Protocol::AnthropicMessages, &overloaded, "overloaded_error: Overloaded"),
        (Protocol::OpenaiResponses, &failed, "server_error: Sorry"),
        (Protocol::OpenaiChat, &json!({ "error": "no such model" }), "no such model"),
    ] {
        let error = assembled(protocol, std::slice::from_ref(event)).unwrap_err();
        assert_eq!(error, WireError::Refused { message: words.to_owned() });
    }
}

#[test]
fn nonsense_and_floods_are_errors() {
    for protocol in ALL {
        assert!(matches!(Assembler::new(protocol).push("{"), Err(WireError::Malformed(_))));
        for odd in ["7", "[]", "null", "\"x\"", r#"{"type":7,"choices":{},"delta":[]}"#] {
            let mut assembler = Assembler::new(protocol);
            assert_eq!(assembler.push(odd), Ok(Vec::new()), "{odd}");
            assert_eq!(assembler.finish(), Err(WireError::Truncated), "{odd}");
        }
        assert!(whole(protocol, &json!({})).is_err());
        let mut assembler = Assembler::new(protocol);
        let long = json!({ "filler": "x".repeat(1 << 20) }).to_string();
        let flood = (0..64).find_map(|_| assembler.push(&long).err());
        assert_eq!(flood, Some(WireError::TooLarge));
    }
    let stray = json!({ "type": "content_block_delta", "index": 5, "delta": { "type": "text_delta", "text": "x" } });
    assert!(matches!(assembled(Protocol::AnthropicMessages, &[stray]), Err(WireError::Malformed(_))));
    let many = (0..5000).map(|n| json!({ "index": n, "function": { "name": "t" } })).collect::<Vec<_>>();
    let many = json!({ "choices": [{ "delta": { "tool_calls": many } }] });
    assert_eq!(assembled(Protocol::OpenaiChat, &[many]).unwrap_err(), WireError::TooLarge);
}

#[test]
fn an_answer_in_one_piece_is_the_same_answer() {
    let anthropic = json!({ "model": "c", "stop_reason": "end_turn", "usage": { "input_tokens": 1, "output_tokens": 2 },
        "content": [{ "type": "text", "text": "Hi" }, { "type": "tool_use", "id": "t", "name": "look", "input": { "a": 1 } }] });
    let chat = json!({ "model": "c", "usage": { "prompt_tokens": 1, "completion_tokens": 2 }, "choices": [{ "finish_reason": "stop",
        "message": { "content": "Hi", "tool_calls": [{ "id": "t", "function": { "name": "look", "arguments": "{\"a\":1}" } }] } }] });
    let responses = json!({ "model": "c", "usage": { "input_tokens": 1, "output_tokens": 2 }, "output": [
        { "type": "message", "content": [{ "type": "output_text", "text": "Hi" }] },
        { "type": "function_call", "call_id": "t", "name": "look", "arguments": "{\"a\":1}" }] });
    for (protocol, body) in ALL.into_iter().zip([anthropic, responses, chat]) {
        let answer = whole(protocol, &body).unwrap();
        assert_eq!(answer.text(), "Hi", "{protocol:?}");
        let call = answer.calls().next().unwrap();
        assert_eq!((call.id.as_str(), call.arguments.to_value()), ("t", json!({ "a": 1 })), "{protocol:?}");
        assert_eq!(answer.tokens, Some(Tokens { input: 1, output: 2, ..Tokens::default() }), "{protocol:?}");
    }
}
