use super::*;

#[test]
fn arguments_are_an_object_or_what_was_written() {
    assert_eq!(Arguments::parse(" "), Arguments::Object(Map::new()));
    assert_eq!(Arguments::parse(r#"{"a":1}"#).to_value(), json!({ "a": 1 }));
    for broken in [r#"{"a":"#, "[1]", "7", "null", "not json"] {
        assert_eq!(Arguments::parse(broken), Arguments::Broken(broken.to_owned()));
        assert_eq!(Arguments::parse(broken).to_value(), json!({ "invalid_json": broken }));
    }
}

#[test]
fn a_conversation_survives_a_journal() {
    let call = ToolCall { id: "1".to_owned(), name: "t".to_owned(), arguments: Arguments::parse(r#"{"b":[1,2]}"#) };
    let raw = json!({ "type": "thinking", "thinking": "…", "signature": "abc" });
    let messages = vec![
        Message::System("[ORIGINAL REQUEST — pinned]\nDo it, 日本語".to_owned()),
        Message::User("hello".to_owned()),
        Message::Assistant(vec![
            Part::Opaque(Opaque { protocol: Protocol::AnthropicMessages, raw }),
            Part::Text("hm".to_owned()),
            Part::Call(call),
        ]),
        Message::Results(vec![ToolResult { id: "1".to_owned(), content: "ok".to_owned(), is_error: false }]),
    ];
    let text = serde_json::to_string(&messages).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Message>>(&text).unwrap(), messages);
}
