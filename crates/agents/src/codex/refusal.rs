//! Recognises what the service refused, from the words and the codes of Codex.

use ralph_model::{Timestamp, Trouble, TroubleKind};
use serde_json::Value;

use super::kind::PROGRAM;
use crate::refusals::Refusals;
use crate::trouble::classify;

/// Codes and words of Codex; it replaces the words of the service by its own.
const REFUSALS: Refusals = Refusals {
    names: &[
        ("context_window_exceeded", Some(TroubleKind::ContextOverflow)),
        ("usage_limit_exceeded", Some(TroubleKind::RateLimit)),
        ("rate_limit_exceeded", Some(TroubleKind::RateLimit)),
        ("server_overloaded", Some(TroubleKind::Overload)),
        ("internal_server_error", Some(TroubleKind::Overload)),
        ("unauthorized", Some(TroubleKind::Authentication)),
        ("model_not_found", Some(TroubleKind::ModelNotFound)),
    ],
    words: &[
        ("quota exceeded. check your plan and billing", TroubleKind::OutOfCredit),
        ("to use codex with your chatgpt plan", TroubleKind::OutOfCredit),
        ("out of credits", TroubleKind::OutOfCredit),
        ("access token could not be refreshed", TroubleKind::Authentication),
        ("please log out and sign in again", TroubleKind::Authentication),
    ],
    login: PROGRAM.login,
    credit: Some("check the plan or the credit of the account, or run `codex login` with another"),
    model: "choose a model that the account can use",
};
/// The least telling words: anything may have cut a stream.
const CUT: &str = "stream disconnected before completion";

/// The trouble in the words of an error, and in its code where one is known.
pub(crate) fn trouble(words: &str, code: Option<&Value>, now: Timestamp) -> Option<Trouble> {
    let words = spoken(words);
    let lower = words.to_lowercase();
    let by_code = || REFUSALS.named(code?.as_str()?).flatten();
    let found = match REFUSALS.said(&lower).or_else(by_code) {
        Some(kind) => {
            let until = classify(None, &words, now).and_then(|trouble| trouble.until);
            Some(Trouble { kind, until, message: words, advice: None })
        }
        None => {
            classify(code.and_then(status_of_code).or_else(|| status_of_words(&lower)), &words, now).or_else(|| {
                without_answer(&lower, code).map(|kind| Trouble { kind, until: None, message: words, advice: None })
            })
        }
    };
    found.map(|trouble| REFUSALS.advised(trouble))
}

/// `{"http_connection_failed":{"http_status_code":401}}`
fn status_of_code(code: &Value) -> Option<u16> {
    let status = code.as_object()?.values().next()?.get("http_status_code")?.as_u64()?;
    u16::try_from(status).ok()
}

/// `unexpected status 401 Unauthorized: …`, `exceeded retry limit, last status: 429 Too Many Requests`
fn status_of_words(lower: &str) -> Option<u16> {
    let after = lower.split("status").nth(1)?.trim_start_matches([' ', ':']);
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|status| (400..600).contains(status))
}

/// Nobody answered, or not to the end.
fn without_answer(lower: &str, code: Option<&Value>) -> Option<TroubleKind> {
    let failed = ["http_connection_failed", "response_stream_connection_failed", "response_stream_disconnected"];
    let by_code =
        code.and_then(Value::as_object).is_some_and(|code| failed.iter().any(|name| code.contains_key(*name)));
    (by_code || lower.contains(CUT)).then_some(TroubleKind::Unreachable)
}

/// What an error says: Codex passes the body of some answers on as it is.
pub(crate) fn spoken(words: &str) -> String {
    let body = words.trim_start().starts_with('{').then(|| serde_json::from_str::<Value>(words).ok()).flatten();
    let Some(error) = body.as_ref().and_then(|body| body.get("error")) else { return words.to_owned() };
    let part = |name: &str| error.get(name).and_then(Value::as_str);
    match (part("message"), part("code").or_else(|| part("type"))) {
        (Some(message), Some(code)) => format!("{message} ({code})"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => words.to_owned(),
    }
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
