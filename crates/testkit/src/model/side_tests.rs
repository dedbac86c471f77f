use serde_json::{Value, json};

use super::super::Format;
use super::super::route::Address;
use super::*;

fn chat(body: &Value) -> Option<SideKind> {
    SideKind::of(&Asked::read(Format::Chat, &Address::InBody, body))
}

fn tools() -> Value {
    json!([{ "type": "function", "function": { "name": "bash", "parameters": {} } }])
}

#[test]
fn a_main_request_is_none_of_them() {
    let messages = json!([{ "role": "user", "content": "fix it" }]);
    assert_eq!(chat(&json!({ "messages": messages, "tools": tools() })), None);
    assert_eq!(chat(&json!({ "messages": messages })), None, "a plain client has no tools");
    let schema = json!({ "json_schema": { "schema": { "type": "object" } } });
    assert_eq!(chat(&json!({ "messages": messages, "tools": tools(), "response_format": schema })), None);
}

#[test]
fn titles_summaries_and_probes_show_themselves() {
    let said = |role: &str, text: &str| json!({ "messages": [{ "role": role, "content": text }] });
    assert_eq!(chat(&said("system", "You are a title generator. You output ONLY a title")), Some(SideKind::Title));
    assert_eq!(chat(&said("user", "You are performing a CONTEXT CHECKPOINT COMPACTION.")), Some(SideKind::Summary));
    let conversation = "Here is the conversation so far:\n\n<conversation>";
    assert_eq!(chat(&said("user", conversation)), Some(SideKind::Summary));
    let snapshot =
        "You are a specialized system component responsible for distilling chat history into a structured XML";
    assert_eq!(chat(&said("system", snapshot)), Some(SideKind::Summary));
    let mut probe = said("user", "quota");
    probe["max_tokens"] = json!(1);
    assert_eq!(chat(&probe), Some(SideKind::Probe));
    let mut compaction = said("user", "Your task is to create a detailed summary of the conversation so far");
    compaction["tools"] = tools();
    assert_eq!(chat(&compaction), Some(SideKind::Summary));
    let mut quoting = said("user", "a prompt that quotes You are a title generator");
    quoting["tools"] = tools();
    assert_eq!(chat(&quoting), None);
}

#[test]
fn a_question_with_a_schema_is_answered_by_it() {
    let schema = json!({
        "type": "OBJECT",
        "properties": { "complexity_reasoning": { "type": "STRING" }, "complexity_score": { "type": "INTEGER" } },
        "required": ["complexity_reasoning", "complexity_score"],
    });
    let body = json!({ "contents": [], "generationConfig": { "responseJsonSchema": schema } });
    let address = Address::InPath { model: "gemini-3.5-flash-lite".to_owned(), is_streamed: false };
    let asked = Asked::read(Format::Gemini, &address, &body);
    assert_eq!(SideKind::of(&asked), Some(SideKind::Json));
    assert_eq!(SideKind::Json.answer(&asked), r#"{"complexity_reasoning":"scripted","complexity_score":50}"#);
}
