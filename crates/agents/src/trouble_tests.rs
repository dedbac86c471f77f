use super::*;
use crate::golden::NOW;

fn kind(status: Option<u16>, words: &str) -> Option<TroubleKind> {
    classify(status, words, NOW).map(|trouble| trouble.kind)
}

fn seconds(words: &str) -> Option<i64> {
    reset_time(words, NOW).map(|until| (until.0 - NOW.0) / 1000)
}

#[test]
fn services_are_understood_by_status_and_words() {
    use TroubleKind::{Authentication, ContextOverflow, ModelNotFound, OutOfCredit, Overload, RateLimit, Unreachable};
    let cases = [
        (Some(400), "prompt is too long: 210000 tokens > 200000 maximum", Some(ContextOverflow)),
        (Some(400), "This model's maximum context length is 128000 tokens", Some(ContextOverflow)),
        (
            Some(400),
            "The input token count (2000000) exceeds the maximum number of tokens allowed",
            Some(ContextOverflow),
        ),
        (Some(400), "tools.0: input should be an object", None),
        (Some(401), "", Some(Authentication)),
        (Some(403), "Request not allowed", Some(Authentication)),
        (Some(403), "rate limit for this organization", Some(RateLimit)),
        (Some(402), "", Some(OutOfCredit)),
        (Some(404), "model: claude-x", Some(ModelNotFound)),
        (Some(404), "no such page", None),
        (Some(429), "", Some(RateLimit)),
        (Some(429), "insufficient_quota: check your plan", Some(OutOfCredit)),
        (Some(429), "You exceeded your current quota, please check your plan and billing details.", Some(OutOfCredit)),
        (
            Some(429),
            "You exceeded your current quota, please check your plan and billing details. Please retry in 17s.",
            Some(RateLimit),
        ),
        (Some(500), "", Some(Overload)),
        (Some(529), "overloaded_error", Some(Overload)),
        (Some(503), "The model is overloaded. Please try again later.", Some(Overload)),
        (None, "Your credit balance is too low to access the API", Some(OutOfCredit)),
        (None, "You've hit your usage limit. Try again in 2 hours 5 minutes.", Some(RateLimit)),
        (None, "connect ECONNREFUSED 127.0.0.1:1", Some(Unreachable)),
        (None, "API key not valid. Please pass a valid API key.", Some(Authentication)),
        (None, "I could not find the file", None),
        (None, "", None),
    ];
    for (status, words, want) in cases {
        assert_eq!(kind(status, words), want, "{status:?} {words}");
    }
}

#[test]
fn reset_times_are_read_in_all_their_forms() {
    let cases = [
        ("try again in 20s", Some(20)),
        ("Please retry in 17.5s.", Some(17)),
        ("try again in 1m30s", Some(90)),
        ("Try again in 2 hours 5 minutes.", Some(7500)),
        ("try again in 3 days 2 hours", Some(266_400)),
        ("retry-after: 30", Some(30)),
        (r#""retryDelay": "17s""#, Some(17)),
        (r#"\"retryDelay\":\"5s\""#, Some(5)),
        (r#""resets_in_seconds":3600"#, Some(3600)),
        ("usage limit reached|1794747600", Some(3600)),
        (r#""resets_at":1794744060"#, Some(60)),
        ("resets at 2026-11-15T12:01:00Z", Some(60)),
        ("reset_at: 1794744060000", Some(60)),
        ("try again later", None),
        ("try again in a while", None),
        ("try again in 99999999999999999999 days", None),
        ("resets_at: 12", None),
        ("retry after -5", None),
        ("", None),
    ];
    for (words, want) in cases {
        assert_eq!(seconds(words), want, "{words}");
    }
}

#[test]
fn only_what_passes_has_a_time() {
    let limit = classify(Some(429), "try again in 20s", NOW).unwrap();
    assert_eq!(limit.until, Some(Timestamp(NOW.0 + 20_000)));
    assert_eq!(classify(Some(401), "try again in 20s", NOW).unwrap().until, None);
}
