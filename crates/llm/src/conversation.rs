//! A conversation with a model, in no provider's format. Serialisable, because a journal holds it.

use ralph_model::Tokens;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    AnthropicMessages,
    OpenaiResponses,
    /// OpenAI Chat Completions, which most other servers speak, too.
    OpenaiChat,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", content = "content", rename_all = "camelCase")]
pub enum Message {
    System(String),
    User(String),
    Assistant(Vec<Part>),
    /// What came of its calls, one result for each.
    Results(Vec<ToolResult>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "camelCase")]
pub enum Part {
    Text(String),
    Call(ToolCall),
    /// Something that only its provider understands, such as signed thinking.
    Opaque(Opaque),
}

/// A part that goes back to its provider byte for byte, and to no other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    pub protocol: Protocol,
    pub raw: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
}

/// The arguments of a call. Models write JSON, and not always well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Arguments {
    Object(Map<String, Value>),
    /// The text of what is no JSON object.
    Broken(String),
}

impl Arguments {
    /// From the text that a model wrote. None at all are no arguments.
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Self::Object(object),
            Ok(_) | Err(_) => Self::Broken(text.to_owned()),
        }
    }

    /// As an object in any case: providers refuse a conversation with a call that holds anything else.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Object(object) => Value::Object(object.clone()),
            Self::Broken(text) => json!({ "invalid_json": text }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub id: String,
    pub content: String,
    pub is_error: bool,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    pub model: &'a str,
    pub system: &'a str,
    pub messages: &'a [Message],
    pub tools: &'a [Tool],
    /// The most that it may write.
    pub max_tokens: u32,
    /// The most that it may think before, where it can.
    pub thinking_tokens: Option<u32>,
    /// The same for requests whose beginnings are the same, so that a provider finds its cache again.
    pub cache_key: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// What it said and called, in order.
    pub parts: Vec<Part>,
    pub stop: StopReason,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// What it used; none where the provider did not say, which does not mean that it was free.
    pub tokens: Option<Tokens>,
}

impl Answer {
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Call(_) | Part::Opaque(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Opaque(_) => None,
        })
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    End,
    /// It waits for the results of its calls.
    Calls,
    /// It had written as much as it may.
    MaxTokens,
    /// It does not want to answer, or may not.
    Refusal,
    Other(String),
}

/// A piece of an answer that is on its way, for those who watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Thinking(String),
    Call { name: String },
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
