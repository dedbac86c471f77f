//! The line that most of a stream consists of, read without building anything. What has another shape is left to the parser.

use std::borrow::Cow;

use serde::Deserialize;

/// How a line begins that may be one: nothing else has to be looked at twice.
const BEGINNING: &str = r#"{"type":"stream_event","#;
/// How the service writes one and the program passes it on: in this order, and without a space.
const USUAL: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":"#;
const DELTAS: [&str; 2] =
    [r#","delta":{"type":"text_delta","text":""#, r#","delta":{"type":"input_json_delta","partial_json":""#];
/// What stands before the name of the answer, which is the last that a line says.
const ANSWER: &str = r#""api_message_id":"#;

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
        if let Some(piece) = Self::usual(line) {
            return Some(piece);
        }
        let Line { event, api_message_id } = serde_json::from_str(line).ok()?;
        let bytes = event.delta.text.len() + event.delta.partial_json.len();
        (event.kind == "content_block_delta").then_some(Self { answer: api_message_id, bytes })
    }
}

impl<'a> Piece<'a> {
    /// The same for a line just as the program writes it, which is nearly every one: reading it as JSON would cost more than all
    /// else that is done about it. Texts with an escape in them are left to the JSON parser.
    fn usual(line: &'a str) -> Option<Self> {
        let rest = line.strip_prefix(USUAL)?.trim_start_matches(|c: char| c.is_ascii_digit());
        let text = DELTAS.iter().find_map(|delta| rest.strip_prefix(delta))?;
        let bytes = memchr::memchr2(b'"', b'\\', text.as_bytes())?;
        let after = text.get(bytes..)?.strip_prefix(r#""}}"#)?.strip_suffix(r#""}"#)?;
        let name = memchr::memrchr2(b'"', b'\\', after.as_bytes())?;
        let answer = after.get(name..)?.strip_prefix('"')?;
        after.get(..name)?.ends_with(ANSWER).then_some(Self { answer: Cow::Borrowed(answer), bytes })
    }
}

/// Whether a line is a piece, whatever is in it. The program passes on what a service wrote, which may have an order of its own.
pub(super) fn is_piece(line: &str) -> bool {
    line.starts_with(USUAL) || (line.starts_with(BEGINNING) && line.contains(r#""type":"content_block_delta""#))
}

#[cfg(test)]
#[path = "piece_tests.rs"]
mod tests;
