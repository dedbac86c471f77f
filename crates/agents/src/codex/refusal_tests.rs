use ralph_model::TroubleKind;

use super::*;
use crate::golden::NOW;

#[test]
fn words_name_the_trouble() {
    let cases: [(&str, Option<TroubleKind>); 12] = [
        ("unexpected status 401 Unauthorized: no, url: x", Some(TroubleKind::Authentication)),
        ("exceeded retry limit, last status: 429 Too Many Requests", Some(TroubleKind::RateLimit)),
        ("unexpected status 503 Service Unavailable: busy", Some(TroubleKind::Overload)),
        ("Quota exceeded. Check your plan and billing details.", Some(TroubleKind::OutOfCredit)),
        ("You’ve hit your usage limit.", Some(TroubleKind::RateLimit)),
        ("Selected model is at capacity. Please try a different model.", Some(TroubleKind::Overload)),
        ("Codex ran out of room in the model's context window.", Some(TroubleKind::ContextOverflow)),
        ("Connection failed: error sending request", Some(TroubleKind::Unreachable)),
        ("stream disconnected before completion: x", Some(TroubleKind::Unreachable)),
        ("Incomplete response returned, reason: max_output_tokens", None),
        ("This request has been flagged", None),
        ("", None),
    ];
    for (words, expected) in cases {
        assert_eq!(trouble(words, NOW).map(|trouble| trouble.kind), expected, "{words}");
    }
}

#[test]
fn the_body_of_an_answer_is_reduced_to_its_words() {
    let body = r#"{"error": {"message": "Too long.", "type": "t", "code": "context_length_exceeded"}}"#;
    assert_eq!(spoken(body), "Too long. (context_length_exceeded)");
    assert_eq!(trouble(body, NOW).map(|trouble| trouble.kind), Some(TroubleKind::ContextOverflow));
    assert_eq!(spoken("{broken"), "{broken");
    assert_eq!(spoken("{\"detail\":\"x\"}"), "{\"detail\":\"x\"}");
}

#[test]
fn only_what_a_person_can_help_with_has_advice() {
    let advice = |words: &str| trouble(words, NOW).and_then(|trouble| trouble.advice);
    assert!(advice("unexpected status 401 Unauthorized").is_some_and(|advice| advice.contains("codex login")));
    assert_eq!(advice("unexpected status 503"), None);
}
