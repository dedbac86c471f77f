use super::*;
use crate::golden::NOW;

fn kind(words: &str, code: Option<u16>) -> Option<TroubleKind> {
    trouble(words, code, NOW).map(|trouble| trouble.kind)
}

#[test]
fn exit_codes_stand_for_statuses() {
    let cases =
        [(145, Some(401)), (173, Some(429)), (244, Some(500)), (247, Some(503)), (17, Some(529)), (1, None), (0, None)];
    for (code, want) in cases {
        assert_eq!(status_of(code), want, "{code}");
    }
    for own in [41, 42, 44, 52, 53, 54, 55, 130] {
        assert_eq!(status_of(own), None, "{own} is one of its own");
    }
}

#[test]
fn the_same_words_for_a_quota_mean_several_things() {
    use TroubleKind::{OutOfCredit, RateLimit};
    let quota = "You exceeded your current quota, please check your plan and billing details.";
    let cases = [
        (format!("[API Error: {quota} Please retry in 37.5s.]"), Some(429), Some(RateLimit)),
        (format!("[API Error: {quota} limit: 250]"), Some(429), Some(RateLimit)),
        (format!("[API Error: {quota} limit: 0, model: x]"), Some(429), Some(OutOfCredit)),
        (format!("[API Error: {quota} limit: 0.5]"), Some(429), Some(RateLimit)),
        (format!("[API Error: {quota}]"), None, Some(RateLimit)),
        ("[API Error: Your prepayment credits are depleted.]".into(), Some(429), Some(OutOfCredit)),
        ("[API Error: You have exhausted your daily quota on this model.]".into(), None, Some(RateLimit)),
    ];
    for (words, code, want) in cases {
        assert_eq!(kind(&words, code), want, "{words}");
    }
}

#[test]
fn the_services_own_status_weighs_more_than_the_exit_code() {
    let words = r#"[API Error: {"error":{"code":401,"message":"Say who you are.","status":"UNAUTHENTICATED"}}]"#;
    let trouble = trouble(words, Some(500), NOW).unwrap();
    assert_eq!((trouble.kind, trouble.message.as_str()), (TroubleKind::Authentication, "Say who you are."));
    assert_eq!(trouble.advice.as_deref(), Some(PROGRAM.login));
}

#[test]
fn reset_times_are_kept() {
    let limit = trouble("[API Error: Your quota will reset after 2h13m5s.]", Some(429), NOW).unwrap();
    assert_eq!(limit.until.map(|until| until.0 - NOW.0), Some(7_985_000));
    let answer = r#"[API Error: {"error":{"code":429,"message":"x","details":[{"retryDelay":"17s"}]}}]"#;
    assert_eq!(trouble(answer, None, NOW).unwrap().until.map(|until| until.0 - NOW.0), Some(17_000));
}

#[test]
fn what_is_no_refusal_is_none() {
    for words in [
        "[API Error: Cannot read properties of undefined]",
        "[API Error: {broken]",
        "[API Error: An unknown error occurred.]",
        "",
    ] {
        assert_eq!(kind(words, None), None, "{words}");
    }
}

#[test]
fn the_frame_is_taken_off() {
    assert_eq!(plain("[API Error: no [really] no]\nPlease wait"), "no [really] no");
    assert_eq!(plain("[API Error: cut"), "cut");
    assert_eq!(plain("bare"), "bare");
}
