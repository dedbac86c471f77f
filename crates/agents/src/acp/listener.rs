//! Reads what a server told, from wherever the log begins. Asks nothing: what was asked is not in the log, and neither is who
//! asked it, so that no answer can be told from the answer to another question.

use ralph_model::Ended;
use serde_json::Value;

use super::calls::{Calls, Confinement, text};
use super::message_buffer::MessageBuffer;
use super::refused;
use super::rpc::{self, Message};
use crate::adapter::Parser;
use crate::request::Prohibited;
use crate::transcript::Transcript;

/// Hears every update, whatever came before it.
pub(super) struct Listener {
    calls: Calls,
    voice: MessageBuffer,
    /// Of a run that is over nothing can be prohibited any more.
    prohibited: Prohibited,
}

impl Listener {
    pub(super) fn new() -> Self {
        Self {
            calls: Calls::new(Confinement::Sandbox),
            voice: MessageBuffer::default(),
            prohibited: Prohibited::default(),
        }
    }

    fn updated(&mut self, update: &Value, transcript: &mut Transcript) {
        match text(update, "sessionUpdate") {
            Some("agent_message_chunk") => self.voice.observe(update, transcript),
            Some("tool_call" | "tool_call_update") => {
                self.voice.pauses(transcript);
                self.calls.observe(update, &self.prohibited, transcript);
            }
            Some(_) | None => {}
        }
    }
}

impl Parser for Listener {
    fn stdout(&mut self, line: &str, transcript: &mut Transcript) {
        match rpc::read(line) {
            Some(Message::Notification { method, params }) if method == "session/update" => {
                if let Some(update) = params.get("update") {
                    self.updated(update, transcript);
                }
            }
            Some(Message::Request { method, params, .. }) if method == "session/request_permission" => {
                self.voice.pauses(transcript);
                self.calls.judged(params.get("toolCall").unwrap_or(&Value::Null), &self.prohibited, transcript);
            }
            Some(Message::Answer { outcome, .. }) => {
                self.voice.ends(transcript);
                let refusal = outcome.err();
                let trouble = refusal
                    .and_then(|refusal| refused::trouble(&refusal, &refused::words(&refusal), &[], transcript.now()));
                if let Some(trouble) = trouble {
                    transcript.trouble(trouble);
                }
            }
            Some(Message::Notification { .. } | Message::Request { .. }) | None => {}
        }
    }

    fn stderr(&mut self, _: &str, _: &mut Transcript) {}

    fn end(&mut self, _: &Ended, transcript: &mut Transcript) {
        self.voice.ends(transcript);
    }
}
