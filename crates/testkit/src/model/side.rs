//! Tells the requests that agent programs make beside the main conversation from the main ones, and answers them. Takes no
//! reply of a script.

use super::asked::Asked;
use super::schema;

/// What a request beside the main conversation wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideKind {
    Title,
    /// JSON by a schema: which model to use, who speaks next.
    Json,
    /// A sign that the account is in order.
    Probe,
    /// A summary in place of the conversation so far.
    Summary,
    Tokens,
    Models,
    Hello,
}

/// Words by which Claude Code asks for a summary; it offers its tools with them.
const SUMMARY_WITH_TOOLS: &str = "Your task is to create a detailed summary of";

/// Words by which the others do: Codex, OpenCode and the Gemini CLI.
const SUMMARY: [&str; 3] = [
    "CONTEXT CHECKPOINT COMPACTION",
    "Here is the conversation so far:\n\n<conversation>",
    "distilling chat history into",
];

/// In the tags that Claude Code and the Gemini CLI look for.
const SUMMARISED: &str = "<summary><state_snapshot>The work so far, in short.</state_snapshot></summary>";

/// Words by which OpenCode asks for a name. Claude Code has a schema for it.
const TITLE: &str = "You are a title generator";

impl SideKind {
    /// What the request wants if it is none of the main conversation.
    ///
    /// A request without tools may well be the main one of a plain client, so each kind has to show itself.
    pub(super) fn of(asked: &Asked) -> Option<Self> {
        let says = |words: &str| asked.system.contains(words) || asked.user.contains(words);
        if asked.user.contains(SUMMARY_WITH_TOOLS) {
            return Some(Self::Summary);
        }
        if !asked.offered.is_empty() {
            return None;
        }
        if asked.schema.is_some() {
            Some(Self::Json)
        } else if says(TITLE) {
            Some(Self::Title)
        } else if SUMMARY.into_iter().any(says) {
            Some(Self::Summary)
        } else if asked.most == Some(1) {
            Some(Self::Probe)
        } else {
            None
        }
    }

    pub(super) fn answer(self, asked: &Asked) -> String {
        match (self, &asked.schema) {
            (Self::Json, Some(schema)) => schema::sample(schema).to_string(),
            (Self::Title, _) => "Scripted work".to_owned(),
            (Self::Summary, _) => SUMMARISED.to_owned(),
            _ => "ok".to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "side_tests.rs"]
mod tests;
