//! What the program says when the service refused, and what it means.
//!
//! The status of an answer is part of the words only sometimes; the program's exit code is that status modulo 256 (145 is 401 and no
//! signal), except where it has codes of its own.

use ralph_model::{Timestamp, Trouble, TroubleKind};
use serde_json::Value;

use super::LOGIN;
use crate::refusals::Refusals;
use crate::trouble::{classify, reset_time};

/// What stands before the words of a service.
pub(super) const FRAME: &str = "[API Error: ";

/// Statuses that services answer with, for exit codes that stand for one.
const STATUSES: [u16; 15] = [400, 401, 402, 403, 404, 408, 409, 413, 429, 499, 500, 502, 503, 504, 529];

/// Its words are told apart below, because what they mean depends on the status.
const REFUSALS: Refusals = Refusals {
    names: &[],
    words: &[],
    login: LOGIN,
    credit: Some("turn on billing for the key's project in Google AI Studio, or use another key or model"),
    model: "choose a model that this account can use",
};

/// Words of a limit that money lifts and time does not.
const NO_CREDIT: [&str; 4] =
    ["insufficient_g1_credits_balance", "prepayment credits", "credits are depleted", "billing account is not active"];
/// Words of a limit that time lifts.
const LIMIT: [&str; 5] = [
    "resource_exhausted",
    "resource has been exhausted",
    "exceeded your current quota",
    "exhausted your",
    "capacity exceeded",
];
/// Words of a login that is missing or not enough.
const NO_LOGIN: [&str; 5] = [
    "api keys are not supported",
    "could not load the default credentials",
    "validation_required",
    "reported as leaked",
    "user location is not supported",
];

/// The status that an exit code stands for.
pub(super) fn status_of(code: i32) -> Option<u16> {
    STATUSES.into_iter().find(|status| i32::from(status % 256) == code)
}

/// What the service refused, from what the program says about it and the status that its exit code stands for.
pub(super) fn trouble(words: &str, code: Option<u16>, now: Timestamp) -> Option<Trouble> {
    let answer = Answer::within(words);
    let status = answer.status.or(code);
    let lower = words.to_ascii_lowercase();
    let has = |list: &[&str]| list.iter().any(|word| lower.contains(word));
    // The same words stand for a limit of this minute, of this day, and for a model that the plan does not have at all.
    let kind = if has(&NO_CREDIT) || (status == Some(429) && no_allowance(&lower)) {
        Some(TroubleKind::OutOfCredit)
    } else if status == Some(429) || (status.is_none_or(|status| status == 499) && has(&LIMIT)) {
        Some(TroubleKind::RateLimit)
    } else if has(&NO_LOGIN) {
        Some(TroubleKind::Authentication)
    } else {
        None
    };
    let message = answer.message.unwrap_or_else(|| plain(words));
    let trouble = match kind {
        Some(kind) => {
            let until = if kind == TroubleKind::RateLimit { reset_time(&lower, now) } else { None };
            Trouble { kind, until, message, advice: None }
        }
        None => Trouble { message, ..classify(status, words, now)? },
    };
    Some(REFUSALS.advised(trouble))
}

/// Somebody has to set something right before the program can run at all.
pub(super) fn not_set_up(message: String, advice: &str) -> Trouble {
    Trouble { kind: TroubleKind::Setup, until: None, message, advice: Some(advice.to_owned()) }
}

/// Whether a limit is one of nothing: `limit: 0`.
fn no_allowance(lower: &str) -> bool {
    lower.split("limit:").skip(1).any(|rest| {
        let number = rest.trim_start();
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        number.get(..end) == Some("0") && !number[end..].starts_with('.')
    })
}

/// What stands in the service's own answer, where the program repeats that.
#[derive(Default)]
struct Answer {
    status: Option<u16>,
    message: Option<String>,
}

impl Answer {
    fn within(words: &str) -> Self {
        let Some(start) = words.find('{') else { return Self::default() };
        let mut answers = serde_json::Deserializer::from_str(&words[start..]).into_iter::<Value>();
        let Some(Ok(answer)) = answers.next() else { return Self::default() };
        let error = answer.get("error").unwrap_or(&answer);
        Self {
            status: error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
            message: error.get("message").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

/// The words without the frame that the program puts around them.
fn plain(words: &str) -> String {
    let inside = words.strip_prefix(FRAME).unwrap_or(words);
    let inside = inside.split_once("]\n").map_or(inside, |(inside, _)| inside);
    inside.strip_suffix(']').unwrap_or(inside).trim().to_owned()
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
