//! Recognises what the service refused, from the words of Codex.

use ralph_model::{Timestamp, Trouble, TroubleKind};
use serde_json::Value;

use super::kind::PROGRAM;
use crate::refusals::Refusals;
use crate::trouble::classify;

/// Words of Codex; it replaces the words of the service by its own.
const REFUSALS: Refusals = Refusals {
    names: &[],
    words: &[
        ("quota exceeded. check your plan and billing", TroubleKind::OutOfCredit),
        ("to use codex with your chatgpt plan", TroubleKind::OutOfCredit),
        ("out of credits", TroubleKind::OutOfCredit),
        ("experiencing high demand", TroubleKind::Overload),
        ("model is at capacity", TroubleKind::Overload),
        ("access token could not be refreshed", TroubleKind::Authentication),
        ("please log out and sign in again", TroubleKind::Authentication),
    ],
    login: PROGRAM.login,
    credit: Some("check the plan or the credit of the account, or run `codex login` with another"),
    model: "choose a model that the account can use",
};
/// Words of a stream that broke off.
const CUT: &str = "stream disconnected before completion";

/// The trouble in the words of an error.
pub(crate) fn trouble(words: &str, now: Timestamp) -> Option<Trouble> {
    let words = spoken(words);
    let lower = words.to_lowercase();
    let found = match REFUSALS.said(&lower) {
        Some(kind) => {
            let until = classify(None, &words, now).and_then(|trouble| trouble.until);
            Some(Trouble { kind, until, message: words, advice: None })
        }
        // Nobody answered to the end: anything may have cut a stream, so that these words count least.
        None => classify(status_of_words(&lower), &words, now).or_else(|| {
            let kind = TroubleKind::Unreachable;
            lower.contains(CUT).then_some(Trouble { kind, until: None, message: words, advice: None })
        }),
    };
    found.map(|trouble| REFUSALS.advised(trouble))
}

/// `unexpected status 401 Unauthorized: …`, `exceeded retry limit, last status: 429 Too Many Requests`
fn status_of_words(lower: &str) -> Option<u16> {
    let after = lower.split("status").nth(1)?.trim_start_matches([' ', ':']);
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|status| (400..600).contains(status))
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
