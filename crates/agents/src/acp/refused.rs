//! What a server means when it answers with an error: in words, and as a trouble of the service behind it.

use ralph_model::{Timestamp, Trouble, TroubleKind};
use serde_json::Value;

use super::calls::text;
use super::rpc::Refusal;
use crate::text::{list, short};
use crate::trouble::{as_status, classify, inner, status_in};

/// The code of the protocol for a server that wants a login first.
const AUTHENTICATION_REQUIRED: i64 = -32000;
/// What libraries put before the words of an error that has no code of its own.
const PREFIX: &str = "Internal error: ";
const MAX_WORDS: usize = 2000;
/// Ways to log in, and characters of each.
const MAX_LOGINS: usize = 8;
const MAX_LOGIN: usize = 200;

/// The words of an error, for people: the innermost message of what may be JSON in JSON.
pub(super) fn words(refusal: &Refusal) -> String {
    let message = refusal.message.strip_prefix(PREFIX).unwrap_or(&refusal.message);
    let detail = ["/details", "/message", "/error/message", "/data/message"]
        .iter()
        .find_map(|place| refusal.data.pointer(place).and_then(Value::as_str))
        .or_else(|| refusal.data.as_str());
    let words = match detail {
        Some(detail) if message.contains(detail) => message.to_owned(),
        Some(detail) => format!("{message}: {}", inside(detail).unwrap_or_else(|| detail.to_owned())),
        None => inside(message).unwrap_or_else(|| message.to_owned()),
    };
    short(words, MAX_WORDS)
}

/// The message inside of an error that is told as JSON and nothing else.
fn inside(text: &str) -> Option<String> {
    inner(text).filter(|_| text.starts_with('{')).map(|(_, message)| message)
}

/// The trouble of the service that an error tells of, if it does. `logins` is how one can log in, by the server's own words.
pub(super) fn trouble(refusal: &Refusal, words: &str, logins: &[String], now: Timestamp) -> Option<Trouble> {
    let all = short(format!("{} {}", refusal.message, refusal.data), 4 * MAX_WORDS);
    let found = match status(refusal, &all) {
        // Some servers call everything a 500 that they have no number for; then the words tell more.
        None | Some(500) => classify(None, &all, now).or_else(|| classify(status(refusal, &all), &all, now)),
        status => classify(status, &all, now),
    };
    let is_login = refusal.code == AUTHENTICATION_REQUIRED;
    let kind = match &found {
        Some(found) => found.kind,
        None if is_login => TroubleKind::Authentication,
        None => return None,
    };
    let advice = (kind == TroubleKind::Authentication).then(|| advice(logins));
    Some(Trouble { kind, until: found.and_then(|found| found.until), message: words.to_owned(), advice })
}

/// How one can log in, in the server's own words.
pub(super) fn logins(result: &Value) -> Vec<String> {
    let words = list(&result["authMethods"])
        .iter()
        .filter_map(|method| text(method, "description").or_else(|| text(method, "name")));
    words.take(MAX_LOGINS).map(|words| short(words.to_owned(), MAX_LOGIN)).collect()
}

fn advice(logins: &[String]) -> String {
    let own = "log in to the agent once by hand, or set the variable with its key and pass it with --env NAME";
    match logins {
        [] => own.to_owned(),
        logins => format!("{own}; it says: {}", logins.join("; ")),
    }
}

/// The status of the service's answer, where an error has one: as its code, in its data, or in its words.
fn status(refusal: &Refusal, words: &str) -> Option<u16> {
    let in_data = ["/status", "/statusCode", "/code", "/error/code", "/data/statusCode"]
        .iter()
        .filter_map(|place| refusal.data.pointer(place)?.as_i64());
    let numbers = std::iter::once(refusal.code).chain(in_data);
    numbers.filter_map(as_status).next().or_else(|| status_in(words))
}

#[cfg(test)]
#[path = "refused_tests.rs"]
mod tests;
