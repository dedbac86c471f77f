//! What comes of a call: bounded and without secrets.

use ralph_model::ToolEvidence;
use ralph_text::Redactor;
use serde::{Deserialize, Serialize};

/// The most bytes of text that a model gets from one call.
pub const MAX_TEXT: usize = 32 << 10;
/// The most characters of a line of evidence.
const MAX_SUMMARY: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub success: bool,
    /// What the model gets: at most [`MAX_TEXT`] bytes, redacted.
    pub text: String,
    pub summary: String,
    /// What the outside world calls it: of a message, a task, a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What is to be done next, and by whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl Outcome {
    pub(crate) fn done(summary: impl Into<String>, text: impl Into<String>) -> Self {
        Self { success: true, text: text.into(), summary: summary.into(), ..Self::default() }
    }

    /// Something that has nothing to show besides its line of evidence.
    pub fn noted(summary: impl Into<String>) -> Self {
        let summary = summary.into();
        Self::done(summary.clone(), summary)
    }

    pub fn failed(why: impl Into<String>) -> Self {
        Self { success: false, ..Self::noted(why) }
    }

    pub fn evidence(&self, tool: &str) -> ToolEvidence {
        ToolEvidence {
            tool: tool.to_owned(),
            success: self.success,
            summary: self.summary.clone(),
            pending_approval: None,
            external_id: self.external_id.clone(),
            next_step: self.next_step.clone(),
        }
    }

    pub(crate) fn with_id(self, id: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { external_id: Some(id.into()), next_step: Some(next_step.into()), ..self }
    }

    /// As it may be kept and shown.
    pub(crate) fn cleaned(self, redactor: &Redactor) -> Self {
        let line = |text: String| {
            let text = redactor.clean(&text);
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if line.chars().count() <= MAX_SUMMARY {
                return line;
            }
            line.chars().take(MAX_SUMMARY - 1).chain(['…']).collect()
        };
        Self {
            text: bounded(&redactor.clean(&self.text)),
            summary: line(self.summary),
            external_id: self.external_id.map(line),
            next_step: self.next_step.map(line),
            ..self
        }
    }
}

/// The beginning and the end of a text that is too long, which say more than its middle.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let room = MAX_TEXT - 100;
    let head = text.floor_char_boundary(room / 2);
    let tail = text.ceil_char_boundary(text.len() - room / 2);
    let left_out = tail - head;
    format!("{}\n[… {left_out} bytes left out; at most {MAX_TEXT} are shown …]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
