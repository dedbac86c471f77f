//! The log of an agent that tells what it does in lines of JSON, as events.

use std::sync::Arc;

use ralph_model::{AgentEvent, AgentSpec, Ended, Timestamp};
use ralph_text::Redactor;

use crate::adapter::Parser;
use crate::lines::Lines;
use crate::registry::Kind;
use crate::transcript::Transcript;

/// Reads a log on its way to the screen.
pub struct Readable {
    parser: Box<dyn Parser>,
    transcript: Transcript,
    lines: Lines,
}

impl Readable {
    /// For the logs of one kind of agent; none where they are for people already. Words that lie in the log in pieces are joined,
    /// and may only then be known for what they are.
    #[must_use]
    pub fn of(spec: &AgentSpec, redactor: Arc<Redactor>) -> Option<Self> {
        let parser = Kind::of(spec)?.log_parser?();
        let transcript = Transcript::new(redactor, Arc::default(), None, Timestamp(0));
        Some(Self { parser, transcript, lines: Lines::default() })
    }

    /// Takes a piece of the log and gives what happened in it. Messages come whole as well as in pieces.
    pub fn push(&mut self, piece: &str) -> Vec<AgentEvent> {
        let Self { parser, transcript, lines } = self;
        lines.push(piece, |line| match line {
            Some(line) if line.starts_with('{') => parser.stdout(line, transcript),
            Some(line) => parser.stderr(line, transcript),
            None => transcript.overlong(),
        });
        self.transcript.take_events()
    }

    /// Takes the end of the log and gives what was still being said.
    pub fn finish(&mut self) -> Vec<AgentEvent> {
        if let Some(line) = self.lines.rest() {
            self.parser.stdout(&line, &mut self.transcript);
        }
        // As good as any end without a fault: how it ended is in the history.
        self.parser.end(&Ended::Stopped, &mut self.transcript);
        self.transcript.take_events()
    }
}

#[cfg(test)]
#[path = "readable_tests.rs"]
mod tests;
