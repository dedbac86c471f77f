//! What a scripted model was asked and what it answered. Holds no key.

use super::{Format, SideKind, Usage};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub number: usize,
    pub method: String,
    pub path: String,
    /// The wire format of a request for an answer.
    pub format: Option<Format>,
    pub source: Source,
    pub model: String,
    pub messages: usize,
    pub tools: Vec<String>,
    /// The beginning of the user's last text.
    pub user: String,
    /// The beginnings of the results of the tools that the last answer called.
    pub results: Vec<String>,
    /// The status of the answer; none where the connection was closed or kept without one.
    pub status: Option<u16>,
    /// The tokens that were answered. None of an answer that was not sent to its end.
    pub usage: Usage,
    /// Whether the client sent a key or a token.
    pub has_key: bool,
    /// What could not be answered as the script has it.
    pub note: Option<String>,
    pub ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The reply of the script with this number, from 1.
    Reply(usize),
    /// What the script has for the time after its replies.
    Then,
    /// The server's own answer to a request beside the main conversation.
    Side(SideKind),
    /// Nothing: the path or the body is none of a model service.
    Nothing,
}

/// How far an answer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
