use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp(1_000_000);

fn refusal(code: i64, message: &str, data: Value) -> Refusal {
    Refusal { code, message: message.into(), data }
}

fn kind(code: i64, message: &str, data: Value) -> Option<TroubleKind> {
    let refusal = refusal(code, message, data);
    trouble(&refusal, &words(&refusal), &[], NOW).map(|trouble| trouble.kind)
}

#[test]
fn errors_of_the_service_are_told_apart() {
    let cases = [
        // As claude-agent-acp says it.
        (
            -32603,
            r#"Internal error: API Error: 500 {"error":{"message":"Internal server error"}}"#,
            TroubleKind::Overload,
        ),
        (-32603, r#"Internal error: API Error: 529 {"error":{"type":"x","message":"y"}}"#, TroubleKind::Overload),
        (-32603, r#"Internal error: API Error: 429 {"error":{"message":"no"}}"#, TroubleKind::RateLimit),
        (-32603, "Internal error: Invalid API key · Fix external API key", TroubleKind::Authentication),
        (-32603, "Internal error: Failed to authenticate. API Error: 403 {}", TroubleKind::Authentication),
        (-32603, "Internal error: There's an issue with the selected model (m).", TroubleKind::ModelNotFound),
        (-32603, "Internal error: Prompt is too long", TroubleKind::ContextOverflow),
        (-32603, "Internal error: Credit balance is too low", TroubleKind::OutOfCredit),
        (-32603, "Internal error: API Error: Unable to connect to API.", TroubleKind::Unreachable),
        (-32000, "Authentication required", TroubleKind::Authentication),
        // As Gemini CLI says it, which calls much a 500.
        (401, r#"{"error":{"code":401,"status":"UNAUTHENTICATED","message":"no"}}"#, TroubleKind::Authentication),
        (429, "Rate limit exceeded. Try again later.", TroubleKind::RateLimit),
        (500, "models/nope is not found for API version v1beta", TroubleKind::ModelNotFound),
        (500, "exception TypeError: fetch failed sending request", TroubleKind::Unreachable),
        (500, "odd", TroubleKind::Overload),
    ];
    for (code, message, expected) in cases {
        assert_eq!(kind(code, message, Value::Null), Some(expected), "{message}");
    }
    assert_eq!(kind(-32603, "Internal error", json!({"statusCode": 503})), Some(TroubleKind::Overload));
    assert_eq!(kind(-32603, "Internal error", json!({"details": "model_not_found"})), Some(TroubleKind::ModelNotFound));
}

#[test]
fn other_errors_are_none_of_the_service() {
    for message in ["Session not found", "Invalid params", "line 429 of the file", "Method not implemented."] {
        assert_eq!(kind(-32603, message, Value::Null), None, "{message}");
    }
}

#[test]
fn a_login_is_advised_with_the_words_of_the_server() {
    let refusal = refusal(-32000, "Authentication required", Value::Null);
    let logins = ["Run `x login`".to_owned()];
    let advice = trouble(&refusal, "w", &logins, NOW).unwrap().advice.unwrap();
    assert!(advice.contains("log in") && advice.ends_with("it says: Run `x login`"), "{advice}");
    // The code alone does not turn a rate limit into a missing login.
    let limit = Refusal { message: "rate limit, try again in 20s".into(), ..refusal };
    let trouble = trouble(&limit, "w", &logins, NOW).unwrap();
    assert_eq!(
        (trouble.kind, trouble.until, trouble.advice),
        (TroubleKind::RateLimit, Some(Timestamp(1_020_000)), None)
    );
}

#[test]
fn the_innermost_words_are_for_people() {
    for (message, data, expected) in [
        ("Internal error: odd", Value::Null, "odd"),
        (r#"{"error":{"code":401,"message":"no key"}}"#, Value::Null, "no key"),
        (r#"{"error":{"message":"{\"error\":{\"message\":\"deep\"}}"}}"#, Value::Null, "deep"),
        ("Internal error", json!({"details": "the reason"}), "Internal error: the reason"),
        ("no: why", json!({"message": "why"}), "no: why"),
        ("no", json!("why"), "no: why"),
    ] {
        assert_eq!(words(&refusal(1, message, data)), expected);
    }
}
