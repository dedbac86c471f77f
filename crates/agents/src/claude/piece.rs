//! The line that most of a stream consists of, read without building anything. What has another shape is left to the parser.

use std::borrow::Cow;

use serde::Deserialize;

/// How a line begins that may be one: nothing else has to be looked at twice.
const BEGINNING: &str = r#"{"type":"stream_event","#;

/// A piece of an answer, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The answer, empty where the line names none.
    pub(super) answer: Cow<'a, str>,
    /// Its length.
    pub(super) bytes: usize,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    event: Event<'a>,
    #[serde(borrow, default)]
    api_message_id: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Delta<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow)]
    partial_json: Cow<'a, str>,
}

impl<'a> Piece<'a> {
    /// The piece that a line tells, if it is such a line and in no way unusual.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        if !line.starts_with(BEGINNING) {
            return None;
        }
        let Line { event, api_message_id } = serde_json::from_str(line).ok()?;
        let bytes = event.delta.text.len() + event.delta.partial_json.len();
        (event.kind == "content_block_delta").then_some(Self { answer: api_message_id, bytes })
    }
}

#[cfg(test)]
#[path = "piece_tests.rs"]
mod tests;
