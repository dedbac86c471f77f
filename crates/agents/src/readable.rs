//! The log of an agent that tells what it does in lines of JSON, as lines for people.

use std::path::Path;
use std::sync::Arc;

use ralph_model::{AgentKind, Timestamp};

use crate::adapter::Parser;
use crate::lines::Lines;
use crate::request::{Activity, Prohibited};
use crate::transcript::Transcript;
use crate::{acp, claude, codex, gemini, opencode};

/// Reads a log on its way to the screen.
pub struct Readable {
    parser: Box<dyn Parser>,
    told: Transcript,
    lines: Lines,
}

impl Readable {
    /// For the logs of one kind of agent; none where they are for people already.
    #[must_use]
    pub fn of(kind: &AgentKind) -> Option<Self> {
        let parser = match kind {
            AgentKind::Command { .. } => return None,
            AgentKind::Claude { .. } => claude::parser(claude::Confinement::None),
            AgentKind::Codex { .. } => codex::parser(None, Timestamp(0), codex::Guard::Outer),
            AgentKind::Opencode { .. } => opencode::parser(),
            AgentKind::Gemini { .. } => gemini::parser(Path::new(""), None),
            AgentKind::Acp { .. } => acp::parser(Prohibited::default()),
        };
        let told = Transcript::new(Arc::default(), Arc::default(), None, Timestamp(0));
        Some(Self { parser, told, lines: Lines::default() })
    }

    /// Takes a piece of the log and gives what it tells.
    pub fn push(&mut self, piece: &str) -> String {
        let Self { parser, told, lines } = self;
        lines.push(piece, |line| match line {
            Some(line) if line.starts_with('{') => parser.stdout(line, told),
            Some(line) => parser.stderr(line, told),
            None => told.overlong(),
        });
        let mut text = String::new();
        for activity in self.told.take_activities() {
            match activity {
                Activity::Message(words) => text.push_str(&format!("{}\n", words.trim_end())),
                Activity::Line(line) => text.push_str(&format!("  > {line}\n")),
                // The message comes whole, and money stands in the history.
                Activity::Text(_) | Activity::Cost(_) | Activity::Stake(_) | Activity::Uncounted => {}
            }
        }
        text
    }
}

#[cfg(test)]
#[path = "readable_tests.rs"]
mod tests;
