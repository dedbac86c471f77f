//! The script of a model: what it answers, request by request. Sends nothing.

use std::collections::BTreeMap;
use std::ops::Add;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Fault, Trouble};
use crate::LoadError;

/// What a scripted model answers.
///
/// As JSON: `{"replies": [{"say": "…", "tools": [{"write": {"path": "a", "content": "x"}}], "usage": {"input": 9}}],
/// "then": "repeat", "side_usage": {"input": 3}, "directory": "/home/user/project"}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The answers to the requests of the main conversation, in order.
    #[serde(default)]
    pub replies: Vec<Reply>,
    /// The answer to every request beyond those.
    #[serde(default)]
    pub then: Then,
    /// The tokens that each answer to a request beside the main conversation reports.
    #[serde(default)]
    pub side_usage: Usage,
    /// What relative paths are relative to, where a request does not state the folder that the agent works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// What it says, before any tool call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub say: String,
    /// The tools that it calls, in this order and all at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    #[serde(default)]
    pub usage: Usage,
    /// The model that it claims to be; without one, the model that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it stopped, where that is not what the rest of the reply implies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// How many pieces each text of it comes in at most where it is streamed; all are about as long.
    #[serde(default = "three")]
    pub pieces: usize,
    /// How many requests in a row get this reply.
    #[serde(default = "once")]
    pub times: usize,
}

/// A tool call by its meaning. It becomes a call of a tool that the request offers, with arguments by that tool's schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Tool {
    /// Writes a whole file. Claude Code refuses to overwrite a file that it has not read in the same session.
    Write {
        /// The file; relative to the folder that the agent works in, or absolute.
        path: String,
        content: String,
    },
    Shell {
        command: String,
    },
    Read {
        /// The file; relative to the folder that the agent works in, or absolute.
        path: String,
    },
    /// Calls a tool by its name as it is, offered or not.
    Call {
        name: String,
        /// Its arguments; a string for a tool that takes free text.
        input: Value,
    },
}

/// Tokens of one answer.
///
/// Anthropic reports the kinds apart. OpenAI and Gemini report all input together and beside it the part that came from the
/// cache (Responses also the part that went into it): tokens that are written to the cache are input there as well. `output`
/// holds the reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Input that was not in the cache.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
    pub reasoning: u64,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Stop {
    /// Its output was as long as it may be.
    MaxTokens,
    Refusal,
}

/// The answer when no reply is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Then {
    /// The last reply again.
    Repeat,
    Say(String),
    Refuse(Trouble),
}

const fn once() -> usize {
    1
}

/// Enough for a stream that can end inside a text.
const fn three() -> usize {
    3
}

impl Default for Then {
    fn default() -> Self {
        Self::Say("done".to_owned())
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            say: String::new(),
            tools: Vec::new(),
            usage: Usage::ZERO,
            model: None,
            stop: None,
            headers: BTreeMap::new(),
            fault: None,
            pieces: three(),
            times: once(),
        }
    }
}

impl Usage {
    pub const ZERO: Self = Self { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 };

    /// All input, however it was paid.
    pub const fn all_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            output: self.output + other.output,
            reasoning: self.reasoning + other.reasoning,
        }
    }
}

impl Tool {
    pub fn write(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self::Write { path: path.into(), content: content.into() }
    }

    pub fn shell(command: impl Into<String>) -> Self {
        Self::Shell { command: command.into() }
    }

    pub fn read(path: impl Into<String>) -> Self {
        Self::Read { path: path.into() }
    }

    pub fn call(name: impl Into<String>, input: impl Into<Value>) -> Self {
        Self::Call { name: name.into(), input: input.into() }
    }
}

impl Reply {
    pub fn say(text: impl Into<String>) -> Self {
        Self { say: text.into(), ..Self::default() }
    }

    pub fn tool(tool: Tool) -> Self {
        Self { tools: vec![tool], ..Self::default() }
    }

    /// Something that goes wrong before anything is said.
    pub fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// An error of the service, in its own words.
    pub fn refuse(trouble: Trouble) -> Self {
        Self::fault(Fault::Refuse(trouble))
    }

    #[must_use]
    pub fn and(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    #[must_use]
    pub const fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Lets something go wrong while this reply is sent.
    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Cuts each text into so many pieces where it is streamed.
    #[must_use]
    pub const fn pieces(mut self, pieces: usize) -> Self {
        self.pieces = pieces;
        self
    }

    /// Gives this reply to so many requests in a row.
    #[must_use]
    pub const fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }
}

impl Script {
    /// A script that answers every request with "done".
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn reply(mut self, reply: Reply) -> Self {
        self.replies.push(reply);
        self
    }

    #[must_use]
    pub fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    /// Sets the tokens that requests beside the main conversation report.
    #[must_use]
    pub const fn side_usage(mut self, usage: Usage) -> Self {
        self.side_usage = usage;
        self
    }

    /// Sets what relative paths are relative to where a request does not state it.
    #[must_use]
    pub fn directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.directory = Some(folder.into());
        self
    }

    pub fn load(path: &Path) -> Result<Self, LoadError> {
        crate::script::load(path)
    }
}

/// The reply with this number, counted from 0, where each stands for as many numbers as it says.
pub(super) fn numbered(replies: &[Reply], number: usize) -> Option<(usize, &Reply)> {
    let mut passed = 0;
    replies.iter().enumerate().find(|(_, reply)| {
        passed += reply.times;
        number < passed
    })
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
