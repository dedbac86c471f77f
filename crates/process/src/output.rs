//! What happens to the bytes that a program prints: redacted, made inert, logged, kept at the end, observed.
//! Reads no pipe.

use std::io;

use crate::inert::InertStream;
use crate::log::Log;
use crate::redact::{RedactStream, Redactor};
use crate::spec::Stream;
use crate::tail::Tail;

/// Gets the clean text in pieces. A piece may end in the middle of a line, never of a character.
pub(crate) type Observer<'a> = dyn FnMut(Stream, &str) + Send + 'a;

/// One of the two outputs.
pub(crate) struct Output {
    stream: Stream,
    redact: RedactStream,
    inert: InertStream,
    tail: Tail,
    bytes: u64,
    // Kept between pieces, so that a flood allocates nothing.
    redacted: Vec<u8>,
    text: String,
}

impl Output {
    pub(crate) fn new(stream: Stream, redactor: &Redactor, tail: usize) -> Self {
        Self {
            stream,
            redact: redactor.stream(),
            inert: InertStream::default(),
            tail: Tail::new(tail),
            bytes: 0,
            redacted: Vec::new(),
            text: String::new(),
        }
    }

    /// Takes bytes as they came.
    pub(crate) fn push(&mut self, bytes: &[u8], log: &mut Log, observe: &mut Observer<'_>) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.redact.push(bytes, &mut self.redacted);
        self.inert.push(&self.redacted, &mut self.text);
        self.pass_on(log, observe)
    }

    /// Takes the end. Gives the tail and how many bytes there were.
    pub(crate) fn finish(mut self, log: &mut Log, observe: &mut Observer<'_>) -> io::Result<(String, u64)> {
        self.redact.finish(&mut self.redacted);
        self.inert.push(&self.redacted, &mut self.text);
        self.inert.finish(&mut self.text);
        self.pass_on(log, observe)?;
        Ok((self.tail.into_string(), self.bytes))
    }

    fn pass_on(&mut self, log: &mut Log, observe: &mut Observer<'_>) -> io::Result<()> {
        self.redacted.clear();
        if self.text.is_empty() {
            return Ok(());
        }
        let logged = log.append(&self.text);
        self.tail.push(&self.text);
        observe(self.stream, &self.text);
        self.text.clear();
        logged
    }
}
