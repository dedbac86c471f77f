use std::path::Path;

use serde_json::json;

use super::*;

fn read(format: Format, body: &Value) -> Asked {
    Asked::read(format, &Address::InBody, body)
}

#[test]
fn a_request_of_claude_code_is_understood() {
    let asked = read(
        Format::Anthropic,
        &json!({
            "model": "claude-opus-5-5",
            "max_tokens": 128_000,
            "stream": true,
            "system": [{ "type": "text", "text": "You are an agent." }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "<system-reminder>" }, { "type": "text", "text": "do it" }] },
                { "role": "system", "content": [{ "type": "text", "text": " - Primary working directory: /home/user/project\n - Platform" }] },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "Bash", "input": {} }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "text", "text": "ok" }] }] },
            ],
            "tools": [{ "name": "Bash", "input_schema": { "type": "object" } }],
        }),
    );
    assert_eq!(asked.model, "claude-opus-5-5");
    assert_eq!(asked.form, Form::Events(Totals::Sent));
    assert_eq!((asked.messages, asked.user.as_str(), asked.most), (3, "do it", Some(128_000)));
    assert_eq!(asked.names(), ["Bash"]);
    assert_eq!(asked.results, ["ok"]);
    assert_eq!(asked.folder.as_deref(), Some(Path::new("/home/user/project")));
    assert!(asked.system.starts_with("You are an agent.\n"), "{}", asked.system);
}

#[test]
fn a_request_of_codex_is_understood() {
    let body = json!({
        "model": "gpt-5.6-sol",
        "stream": true,
        "tools": [{ "type": "local_shell" }, { "type": "web_search" }, { "type": "function", "name": "f", "parameters": { "type": "object" } }],
        "input": [
            { "type": "additional_tools", "tools": [
                { "type": "namespace", "name": "functions", "tools": [{ "type": "custom", "name": "exec", "description": "runs" }] },
            ] },
            { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "You are Codex" }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "<cwd>/home/user/project</cwd>" }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "do it" }] },
            { "type": "function_call", "call_id": "1", "name": "f", "arguments": "{}" },
            { "type": "custom_tool_call", "call_id": "2", "name": "exec", "input": "" },
            { "type": "function_call_output", "call_id": "1", "output": "one" },
            { "type": "custom_tool_call_output", "call_id": "2", "output": [{ "type": "input_text", "text": "two" }] },
        ],
    });
    let asked = read(Format::Responses, &body);
    assert_eq!(asked.names(), ["local_shell", "web_search", "f", "exec"]);
    let kinds: Vec<Kind> = asked.offered.iter().map(|tool| tool.kind.clone()).collect();
    assert_eq!(kinds, [Kind::Shell, Kind::Hosted, Kind::Function(json!({ "type": "object" })), Kind::Free]);
    assert_eq!(asked.offered[3].namespace.as_deref(), Some("functions"));
    assert_eq!(asked.results, ["one", "two"]);
    assert_eq!((asked.user.as_str(), asked.system.as_str()), ("do it", "You are Codex"));
    assert_eq!(asked.folder.as_deref(), Some(Path::new("/home/user/project")));
    assert_eq!(read(Format::Responses, &json!({ "input": "hello" })).user, "hello");
}

#[test]
fn a_request_of_opencode_is_understood() {
    let body = json!({
        "model": "scripted-1",
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": [
            { "role": "system", "content": "<env>\n  Working directory: /home/user/project\n</env>" },
            { "role": "user", "content": "do it" },
            { "role": "assistant", "content": null, "tool_calls": [] },
            { "role": "tool", "tool_call_id": "1", "content": "one" },
            { "role": "tool", "tool_call_id": "2", "content": "two" },
        ],
        "tools": [{ "type": "function", "function": { "name": "bash", "description": "d", "parameters": { "type": "object" } } }],
    });
    let asked = read(Format::Chat, &body);
    assert_eq!((asked.names(), asked.messages), (vec!["bash".to_owned()], 4));
    assert_eq!((asked.user.as_str(), asked.form), ("do it", Form::Events(Totals::Sent)));
    assert_eq!(asked.results, ["one", "two"]);
    assert_eq!(asked.folder.as_deref(), Some(Path::new("/home/user/project")));
    assert_eq!(read(Format::Chat, &json!({ "stream": true })).form, Form::Events(Totals::Left));
    assert_eq!(read(Format::Chat, &json!({ "stream": false })).form, Form::Whole);
}

#[test]
fn a_request_of_the_gemini_cli_is_understood() {
    let body = json!({
        "systemInstruction": { "parts": [{ "text": "You are a CLI agent" }] },
        "contents": [
            { "role": "user", "parts": [
                { "text": "- **Workspace Directories:**\n  - /home/user/project\n- **Directory Structure:**" }, { "text": "do it" },
            ] },
            { "role": "model", "parts": [{ "functionCall": { "name": "read_file", "args": {} } }] },
            { "role": "user", "parts": [{ "functionResponse": { "name": "read_file", "response": { "output": "text" } } }] },
        ],
        "tools": [{ "functionDeclarations": [
            { "name": "read_file", "parametersJsonSchema": { "type": "object" } }, { "name": "glob", "parameters": { "type": "OBJECT" } },
        ] }],
        "generationConfig": { "responseJsonSchema": { "type": "OBJECT" } },
    });
    let address = Address::InPath { model: "gemini-2.5-flash".to_owned(), is_streamed: true };
    let asked = Asked::read(Format::Gemini, &address, &body);
    assert_eq!((asked.model.as_str(), asked.form), ("gemini-2.5-flash", Form::Events(Totals::Sent)));
    assert_eq!(asked.names(), ["read_file", "glob"]);
    assert_eq!(asked.offered[1].kind, Kind::Function(json!({ "type": "OBJECT" })));
    assert_eq!((asked.user.as_str(), asked.system.as_str()), ("do it", "You are a CLI agent"));
    assert_eq!(asked.results, [r#"{"output":"text"}"#]);
    assert_eq!(asked.schema, Some(json!({ "type": "OBJECT" })));
    assert_eq!(asked.folder.as_deref(), Some(Path::new("/home/user/project")));
}

#[test]
fn a_body_without_sense_is_read_as_nothing() {
    for format in [Format::Anthropic, Format::Responses, Format::Chat, Format::Gemini] {
        for body in [json!(null), json!([]), json!({ "messages": 1, "input": {}, "contents": "x", "tools": [1, {}] })] {
            let asked = read(format, &body);
            assert_eq!((asked.user, asked.folder), (String::new(), None));
        }
    }
}

#[test]
fn a_folder_is_taken_from_the_system_before_the_user() {
    let body = json!({ "messages": [
        { "role": "user", "content": "Working directory: /somewhere/else" },
        { "role": "system", "content": "Working directory: not said\n<cwd>/home/user/project</cwd>" },
    ] });
    assert_eq!(read(Format::Chat, &body).folder.as_deref(), Some(Path::new("/home/user/project")));
}
