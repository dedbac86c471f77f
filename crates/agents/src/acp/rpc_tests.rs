use super::*;

#[test]
fn messages_are_told_apart() {
    let id = json!(7);
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}"#,
            Some(Message::Request { id: id.clone(), method: "m".into(), params: json!({"a": 1}) }),
        ),
        (r#"{"method":"m"}"#, Some(Message::Notification { method: "m".into(), params: Value::Null })),
        (r#"{"method":"m","id":null}"#, Some(Message::Notification { method: "m".into(), params: Value::Null })),
        (r#"{"id":7,"result":null}"#, Some(Message::Answer { id: id.clone(), outcome: Ok(Value::Null) })),
        (
            r#"{"id":"x","error":{"code":-1,"message":"no","data":{"d":1}}}"#,
            Some(Message::Answer {
                id: json!("x"),
                outcome: Err(Refusal { code: -1, message: "no".into(), data: json!({"d": 1}) }),
            }),
        ),
        (
            r#"{"id":7,"error":"odd"}"#,
            Some(Message::Answer {
                id,
                outcome: Err(Refusal { code: 0, message: "\"odd\"".into(), data: Value::Null }),
            }),
        ),
        (r#"{"id":7}"#, None),
        (r#"{"id":7,"method":1}"#, None),
        (r#"[{"id":7,"result":1}]"#, None),
        ("{}", None),
        ("", None),
        ("INFO started", None),
    ] {
        assert_eq!(read(line), expected, "{line}");
    }
}

#[test]
fn what_is_sent_is_one_line_each() {
    for line in [
        request(1, "m", &json!({"text": "two\nlines\r\n"})),
        notification("n", &Value::Null),
        answer(&json!("id"), &json!({})),
        method_not_found(&json!(3)),
    ] {
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert!(line.ends_with('\n'));
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["jsonrpc"], "2.0");
    }
}
