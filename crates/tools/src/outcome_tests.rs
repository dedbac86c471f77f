use super::*;

#[test]
fn an_outcome_is_bounded_and_redacted() {
    let redactor = Redactor::new([("TOKEN", "correct-horse-battery")]);
    let text = format!("correct-horse-battery {}end", "ä".repeat(MAX_TEXT));
    let outcome = Outcome::done(format!("said\ncorrect-horse-battery {}", "x".repeat(500)), text);
    let outcome = Outcome { external_id: Some("correct-horse-battery".to_owned()), ..outcome }.cleaned(&redactor);
    assert!(outcome.text.len() <= MAX_TEXT && outcome.text.starts_with("[redacted:TOKEN] ä"));
    assert!(outcome.text.ends_with("äend") && outcome.text.contains("bytes left out; at most 32768 are shown"));
    assert!(outcome.summary.starts_with("said [redacted:TOKEN] xx") && outcome.summary.chars().count() == MAX_SUMMARY);
    assert_eq!(outcome.external_id.as_deref(), Some("[redacted:TOKEN]"));
}
