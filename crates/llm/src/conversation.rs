//! A conversation with a model, in no provider's format. Serialisable, because a journal holds it.

use ralph_model::Tokens;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Responses.
    OpenaiResponses,
    /// OpenAI Chat Completions, which most other servers speak, too.
    OpenaiChat,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", content = "content", rename_all = "camelCase")]
pub enum Message {
    /// What holds for all that follows.
    System(String),
    /// What a person said.
    User(String),
    /// What the model said and called.
    Assistant(Vec<Part>),
    /// What came of its calls, one result for each.
    Results(Vec<ToolResult>),
}

/// A part of what a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "camelCase")]
pub enum Part {
    /// Text.
    Text(String),
    /// A call of a tool.
    Call(ToolCall),
    /// Something that only its provider understands, such as signed thinking.
    Opaque(Opaque),
}

/// A part that goes back to its provider byte for byte, and to no other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// Whose it is.
    pub protocol: Protocol,
    /// As it came.
    pub raw: Value,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What its result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub arguments: Arguments,
}

/// The arguments of a call. Models write JSON, and not always well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Arguments {
    /// As they should be.
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

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call.
    pub id: String,
    /// What the model reads.
    pub content: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub schema: Value,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    /// The model.
    pub model: &'a str,
    /// Who it is and what holds always.
    pub system: &'a str,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// What it may call.
    pub tools: &'a [Tool],
    /// The most that it may write.
    pub max_tokens: u32,
    /// The most that it may think before, where it can.
    pub thinking_tokens: Option<u32>,
    /// The same for requests whose beginnings are the same, so that a provider finds its cache again.
    pub cache_key: Option<&'a str>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// What it said and called, in order.
    pub parts: Vec<Part>,
    /// Why it stopped.
    pub stop: StopReason,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// What it used; none where the provider did not say, which does not mean that it was free.
    pub tokens: Option<Tokens>,
}

impl Answer {
    /// Its text.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Call(_) | Part::Opaque(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Its calls.
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
    /// It had nothing more to say.
    End,
    /// It waits for the results of its calls.
    Calls,
    /// It had written as much as it may.
    MaxTokens,
    /// It does not want to answer, or may not.
    Refusal,
    /// The provider's own word.
    Other(String),
}

/// A piece of an answer that is on its way, for those who watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// A call begins.
    Call {
        /// The tool.
        name: String,
    },
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
