//! The events of Claude Code's hooks, as far as anybody here looks at them.

use std::path::PathBuf;

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stop,
    /// The agent is about to summarise its context.
    PreCompact,
    /// A session begins, or continues with another context.
    SessionStart,
    /// The agent is about to call a tool.
    PreToolUse,
    Other,
}

#[derive(Debug)]
pub(super) struct Event {
    pub(super) kind: Kind,
    pub(super) session: String,
    pub(super) transcript: Option<PathBuf>,
    pub(super) folder: Option<PathBuf>,
    pub(super) tool_input: Value,
    /// The agent works because an earlier stop was blocked.
    pub(super) is_blocked: bool,
    pub(super) message: String,
}

impl Event {
    /// Reads an event; none where the bytes are not an object. What is missing or of another type says nothing.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut value: Value = serde_json::from_slice(bytes).ok().filter(Value::is_object)?;
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let path = |name: &str| Some(PathBuf::from(text(name))).filter(|path| path.is_absolute());
        let kind = match text("hook_event_name").as_str() {
            "Stop" => Kind::Stop,
            "PreCompact" => Kind::PreCompact,
            "SessionStart" => Kind::SessionStart,
            "PreToolUse" => Kind::PreToolUse,
            _ => Kind::Other,
        };
        Some(Self {
            kind,
            session: text("session_id"),
            transcript: path("transcript_path"),
            folder: path("cwd"),
            is_blocked: value["stop_hook_active"] == Value::Bool(true),
            message: text("last_assistant_message"),
            tool_input: value["tool_input"].take(),
        })
    }
}
