//! An answer of a model before it has a wire format. Says nothing.

use std::path::Path;

use serde_json::Value;

use super::asked::Asked;
use super::mapping;
use super::{Reply, Stop, Usage};

/// What is said, in whichever format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// Tells answers apart; goes into the ids of the messages and calls.
    pub(super) serial: String,
    pub(super) model: String,
    pub(super) parts: Vec<Part>,
    pub(super) stop: Option<Stop>,
    pub(super) usage: Usage,
    /// How many pieces a text comes in at most.
    pub(super) pieces: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Call(Call),
}

/// A call of a tool by its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) input: Input,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Json(Value),
    Free(String),
    /// Words for the shell tool that is built into OpenAI Responses.
    Shell(Vec<String>),
}

/// What could not be said as written.
pub(super) type Note = Option<String>;

impl Answer {
    /// The reply of a script to a request.
    pub(super) fn to(asked: &Asked, reply: &Reply, serial: String, directory: Option<&Path>) -> (Self, Note) {
        let mut parts = Vec::new();
        let mut notes = Vec::new();
        if !reply.say.is_empty() {
            parts.push(Part::Text(reply.say.clone()));
        }
        let folder = asked.folder.as_deref().or(directory);
        for tool in &reply.tools {
            match mapping::call(tool, &asked.offered, folder) {
                Ok(call) => parts.push(Part::Call(call)),
                Err(unfit) => {
                    parts.push(Part::Text(unfit.to_string()));
                    notes.push(unfit.to_string());
                }
            }
        }
        let model = reply.model.clone().unwrap_or_else(|| asked.model.clone());
        let answer = Self { serial, model, parts, stop: reply.stop, usage: reply.usage, pieces: reply.pieces };
        (answer, (!notes.is_empty()).then(|| notes.join("; ")))
    }

    pub(super) fn calls_tools(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call(_)))
    }

    /// A text in its pieces, all of about the same length.
    pub(super) fn cut<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let size = text.chars().count().div_ceil(self.pieces.max(1));
        let mut rest = text;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
            let (piece, tail) = rest.split_at(end);
            pieces.push(piece);
            rest = tail;
        }
        pieces
    }
}
