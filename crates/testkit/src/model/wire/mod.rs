//! The wire formats: an answer as the texts that go over the wire. Sends nothing.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::Format;
use super::answer::{Answer, Call, Input};
use super::asked::Totals;
use super::refusal::Refusal;

/// When every answer was made, in seconds since 1970: no client acts on it.
const CREATED: u64 = 1_750_000_000;

pub(super) fn whole(format: Format, answer: &Answer) -> Value {
    match format {
        Format::Anthropic => anthropic::whole(answer),
        Format::Responses => responses::whole(answer),
        Format::Chat => chat::whole(answer),
        Format::Gemini => gemini::whole(answer),
    }
}

pub(super) fn events(format: Format, answer: &Answer, totals: Totals) -> Vec<String> {
    match format {
        Format::Anthropic => anthropic::events(answer),
        Format::Responses => responses::events(answer),
        Format::Chat => chat::events(answer, totals),
        Format::Gemini => gemini::chunks(answer).iter().map(data).collect(),
    }
}

/// The event that ends a stream with an error after so many events.
pub(super) fn broken(format: Format, refusal: &Refusal, answer: &Answer, after: usize) -> String {
    match format {
        Format::Anthropic => event("error", &refusal.body),
        Format::Responses => responses::failed(refusal, answer, after),
        Format::Chat => data(&refusal.body),
        // The service puts the bare error into the stream.
        Format::Gemini => refusal.body.to_string(),
    }
}

/// The arguments of a call in a format that has objects only.
fn arguments(call: &Call) -> Value {
    match &call.input {
        Input::Json(value) => value.clone(),
        Input::Free(text) => json!({ "input": text }),
        Input::Shell(words) => json!({ "command": words }),
    }
}

fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
