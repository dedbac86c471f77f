use ralph_model::TroubleKind;
use ralph_model::TroubleKind::{
    Authentication, ContextOverflow, ModelNotFound, OutOfCredit, Overload, RateLimit, Unreachable,
};

use super::*;

const NOW: Timestamp = Timestamp(1_794_744_000_000);

fn kind(failure: &Failure, reason: &str) -> Option<TroubleKind> {
    failure.trouble(reason, NOW).map(|trouble| trouble.kind)
}

fn named(error: &str, detail: &str) -> Failure {
    Failure { error: error.into(), detail: detail.into(), words: "API Error".into(), ..Failure::default() }
}

#[test]
fn names_of_failures_are_known() {
    let cases = [
        ("authentication_failed", "", Some(Authentication)),
        ("oauth_org_not_allowed", "", Some(Authentication)),
        ("account_on_hold", "", Some(Authentication)),
        ("verification_required", "", Some(Authentication)),
        ("cloud_credential_error", "", Some(Authentication)),
        ("billing_error", "", Some(OutOfCredit)),
        ("rate_limit", "", Some(RateLimit)),
        ("rate_limit", "usage_limit_reached", Some(RateLimit)),
        ("rate_limit", "model_requires_usage_credits", Some(OutOfCredit)),
        ("overloaded", "", Some(Overload)),
        ("server_error", "", Some(Overload)),
        ("server_error", "connection_failed", Some(Unreachable)),
        ("server_error", "stream_idle_timeout", Some(Unreachable)),
        ("model_not_found", "", Some(ModelNotFound)),
        ("invalid_request", "org_disabled_credential", Some(Authentication)),
        ("invalid_request", "autocompact_thrashing", Some(ContextOverflow)),
        ("invalid_request", "", None),
        ("max_output_tokens", "max_output_tokens", None),
        ("unknown", "", None),
        ("", "", None),
    ];
    for (error, detail, expected) in cases {
        assert_eq!(kind(&named(error, detail), "api_error"), expected, "{error} {detail}");
    }
}

#[test]
fn why_it_ended_can_say_more_than_the_failure() {
    for reason in ["prompt_too_long", "blocking_limit", "rapid_refill_breaker"] {
        assert_eq!(kind(&named("invalid_request", ""), reason), Some(TroubleKind::ContextOverflow), "{reason}");
    }
}

#[test]
fn a_failure_without_a_name_is_known_by_status_and_words() {
    let failure = |status, service: &str| Failure { status, service: service.into(), ..named("unknown", "") };
    assert_eq!(kind(&failure(Some(402), "billing_error"), "api_error"), Some(TroubleKind::OutOfCredit));
    assert_eq!(kind(&failure(Some(413), "request_too_large"), "image_error"), Some(TroubleKind::ContextOverflow));
    assert_eq!(kind(&failure(Some(400), "invalid_request_error"), "api_error"), None);
    assert_eq!(kind(&failure(None, "overloaded_error"), "api_error"), Some(TroubleKind::Overload));
}

#[test]
fn only_what_time_heals_has_a_time() {
    let until = Some(Timestamp(NOW.0 + 5));
    let with_time = |error: &str| Failure { until, ..named(error, "") };
    assert_eq!(with_time("rate_limit").trouble("", NOW).unwrap().until, until);
    assert_eq!(with_time("authentication_failed").trouble("", NOW).unwrap().until, None);
    let spoken = Failure { words: "try again in 30s".into(), ..named("rate_limit", "") };
    assert_eq!(spoken.trouble("", NOW).unwrap().until, Some(Timestamp(NOW.0 + 30_000)));
}

#[test]
fn what_only_a_person_can_mend_comes_with_advice() {
    for (error, is_for_person) in [("authentication_failed", true), ("billing_error", true), ("overloaded", false)] {
        assert_eq!(named(error, "").trouble("", NOW).unwrap().advice.is_some(), is_for_person, "{error}");
    }
}
