//! What a scripted model was asked and what it answered. Holds no secret: of a key it is only known whether there was one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Format, SideKind, Usage};

/// The most that is kept of the user's text and of each tool's result.
const MAX_USER: usize = 16 * 1024;
const MAX_RESULT: usize = 2 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// Its number, from 1.
    pub number: usize,
    pub at: Timestamp,
    pub method: String,
    pub path: String,
    /// The wire format of a request for an answer.
    pub format: Option<Format>,
    pub source: Source,
    pub delivered: Delivered,
    pub model: String,
    pub messages: usize,
    pub tools: Vec<String>,
    /// The beginning of the user's last text.
    pub user: String,
    /// The length of the user's last text in bytes.
    pub user_bytes: usize,
    /// The beginnings of the results of the tools that the last answer called.
    pub results: Vec<String>,
    /// The status of the answer; none where the connection was closed or kept without one.
    pub status: Option<u16>,
    /// The tokens that were answered. None of an answer that was not sent to its end.
    pub usage: Usage,
    pub user_agent: String,
    /// Whether the client sent a key or a token.
    pub authorization: Authorization,
    /// What could not be answered as the script has it.
    pub note: Option<String>,
    pub ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The reply of the script with this number, from 1.
    Reply(usize),
    /// What the script has for the time after its replies.
    Then,
    /// The server's own answer to a request beside the main conversation.
    Side(SideKind),
    /// The reply with this number, from 1, that the script has for such requests.
    SideReply(usize),
    /// Nothing: the path or the body is none of a model service.
    Nothing,
}

/// How an answer was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivered {
    Whole,
    Streamed,
}

/// Whether a request carried a key or a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authorization {
    Present,
    Absent,
}

/// How far an answer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Open,
    Sent,
    /// The script had it end before.
    CutByScript,
    /// The client closed the connection before.
    ClosedByClient,
}

impl Logged {
    /// Whether the request belonged to the main conversation.
    pub const fn is_main(&self) -> bool {
        matches!(self.source, Source::Reply(_) | Source::Then)
    }
}

pub(super) fn bounded_user(text: &str) -> String {
    bounded(text, MAX_USER)
}

pub(super) fn bounded_result(text: &str) -> String {
    bounded(text, MAX_RESULT)
}

fn bounded(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}
