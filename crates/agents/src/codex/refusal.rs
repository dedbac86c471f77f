//! Recognises what the service refused, from the words of Codex.

use ralph_model::{Timestamp, Trouble};
use serde_json::Value;

use super::kind::PROGRAM;
use crate::trouble::{classify, status_in};

pub(crate) fn trouble(words: &str, now: Timestamp) -> Option<Trouble> {
    let words = spoken(words);
    classify(status_in(&words), &words, now).map(|trouble| PROGRAM.advised(trouble))
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
