//! Answers of tools: a text that a model reads, and the same as data.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

/// The longest text of an answer: more would fill the context of the model that asked.
const MAX_TEXT: usize = 16 * 1024;

/// Why a call was not carried out, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    text: String,
    is_unanswered: bool,
}

impl Refused {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_unanswered: false }
    }

    /// No server answered, so that nothing is known.
    pub(crate) fn unanswered(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_unanswered: true }
    }

    pub(crate) const fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }
}

pub(crate) type Answer = Result<CallToolResult, Refused>;

pub(crate) fn structured(text: &str, data: &impl Serialize) -> Answer {
    let mut result = CallToolResult::success(vec![ContentBlock::text(bounded(text, MAX_TEXT))]);
    let data = serde_json::to_value(data).map_err(|error| Refused::new(format!("the answer has no JSON: {error}")))?;
    // The protocol knows objects only.
    result.structured_content = Some(data).filter(Value::is_object);
    Ok(result)
}

/// As [`structured`], with the text among the data: some clients show a model the data alone.
pub(crate) fn explained(text: &str, mut data: Value) -> Answer {
    data["message"] = Value::from(bounded(text, MAX_TEXT));
    structured(text, &data)
}

pub(crate) fn refused(refused: &Refused) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(bounded(&refused.text, MAX_TEXT))])
}

pub(crate) fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}
