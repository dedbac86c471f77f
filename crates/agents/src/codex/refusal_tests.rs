use serde_json::json;

use super::*;
use crate::golden::NOW;

#[test]
fn words_and_codes_name_the_trouble() {
    let cases: [(&str, Value, Option<TroubleKind>); 14] = [
        ("unexpected status 401 Unauthorized: no, url: x", Value::Null, Some(TroubleKind::Authentication)),
        ("exceeded retry limit, last status: 429 Too Many Requests", Value::Null, Some(TroubleKind::RateLimit)),
        ("unexpected status 503 Service Unavailable: busy", Value::Null, Some(TroubleKind::Overload)),
        (
            "Quota exceeded. Check your plan and billing details.",
            json!("usage_limit_exceeded"),
            Some(TroubleKind::OutOfCredit),
        ),
        ("You’ve hit your usage limit.", json!("usage_limit_exceeded"), Some(TroubleKind::RateLimit)),
        ("whatever", json!("server_overloaded"), Some(TroubleKind::Overload)),
        ("whatever", json!("context_window_exceeded"), Some(TroubleKind::ContextOverflow)),
        ("whatever", json!({"http_connection_failed": {"http_status_code": 403}}), Some(TroubleKind::Authentication)),
        ("whatever", json!({"http_connection_failed": {"http_status_code": null}}), Some(TroubleKind::Unreachable)),
        ("whatever", json!({"response_stream_disconnected": {}}), Some(TroubleKind::Unreachable)),
        ("stream disconnected before completion: x", json!("other"), Some(TroubleKind::Unreachable)),
        ("Incomplete response returned, reason: max_output_tokens", json!("other"), None),
        ("This request has been flagged", json!("cyber_policy"), None),
        ("", Value::Null, None),
    ];
    for (words, code, expected) in cases {
        let code = (!code.is_null()).then_some(&code);
        assert_eq!(trouble(words, code, NOW).map(|trouble| trouble.kind), expected, "{words} {code:?}");
    }
}

#[test]
fn the_body_of_an_answer_is_reduced_to_its_words() {
    let body = r#"{"error": {"message": "Too long.", "type": "t", "code": "context_length_exceeded"}}"#;
    assert_eq!(spoken(body), "Too long. (context_length_exceeded)");
    assert_eq!(trouble(body, None, NOW).map(|trouble| trouble.kind), Some(TroubleKind::ContextOverflow));
    assert_eq!(spoken("{broken"), "{broken");
    assert_eq!(spoken("{\"detail\":\"x\"}"), "{\"detail\":\"x\"}");
}

#[test]
fn only_what_a_person_can_help_with_has_advice() {
    let advice = |words: &str| trouble(words, None, NOW).and_then(|trouble| trouble.advice);
    assert!(advice("unexpected status 401 Unauthorized").is_some_and(|advice| advice.contains("codex login")));
    assert_eq!(advice("unexpected status 503"), None);
}
