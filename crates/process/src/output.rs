//! What happens to the bytes that a program prints: freed of escapes, redacted, sanitised, logged, kept at the end, observed. Words that are told
//! in pieces only are redacted across the pieces before that; see [`ralph_text::ChunkCodec`].
//! Reads no pipe.

use std::io;

use crate::log::Log;
use crate::spec::{Pieces, Stream};
use crate::tail::Tail;
use ralph_text::{ChunkDecoder, EscapeStream, RedactStream, Redactor, SanitizeStream};

/// Gets the clean text in pieces. A piece may end in the middle of a line, never of a character.
pub(crate) type Observer<'a> = dyn FnMut(Stream, &str) + Send + 'a;

pub(crate) struct Output {
    spoken: Option<ChunkDecoder>,
    escapes: EscapeStream,
    redact: RedactStream,
    inert: SanitizeStream,
    bytes: u64,
    // Kept between pieces, so that a flood allocates nothing.
    stripped: Vec<u8>,
    redacted: Vec<u8>,
    text: String,
    clean: Clean,
}

/// Where the clean text goes.
struct Clean {
    stream: Stream,
    logged: Logged,
    tail: Tail,
}

impl Clean {
    fn push(&mut self, text: &str, log: &mut Log, observe: &mut Observer<'_>) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let logged = log.append(self.logged.of(text));
        self.tail.push(text);
        observe(self.stream, text);
        logged
    }
}

/// Which lines go into the log.
#[derive(Default)]
struct Logged {
    unlogged: Option<fn(&str) -> bool>,
    /// A line whose end has not come yet.
    open: String,
    /// The open line is too long to be waited for, and goes into the log as it comes.
    long: bool,
    kept: String,
}

/// Bytes of a line that are waited for.
const MAX_OPEN: usize = 64 * 1024;

impl Logged {
    /// What of a text goes into the log now.
    fn of<'a>(&'a mut self, text: &'a str) -> &'a str {
        let Some(unlogged) = self.unlogged else { return text };
        self.kept.clear();
        let mut rest = text;
        while let Some(end) = memchr::memchr(b'\n', rest.as_bytes()) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.long || self.open.is_empty() {
                if self.long || !unlogged(line) {
                    self.kept.push_str(line);
                }
                self.long = false;
                continue;
            }
            self.open.push_str(line);
            if !unlogged(&self.open) {
                self.kept.push_str(&self.open);
            }
            self.open.clear();
        }
        if self.long {
            self.kept.push_str(rest);
        } else {
            self.open.push_str(rest);
            if self.open.len() > MAX_OPEN {
                self.long = true;
                self.kept.push_str(&self.open);
                self.open.clear();
            }
        }
        &self.kept
    }
}

impl Output {
    pub(crate) fn new(stream: Stream, redactor: &Redactor, tail: usize) -> Self {
        Self {
            spoken: None,
            escapes: EscapeStream::default(),
            redact: redactor.stream(),
            inert: SanitizeStream::default(),
            bytes: 0,
            stripped: Vec::new(),
            redacted: Vec::new(),
            text: String::new(),
            clean: Clean { stream, logged: Logged::default(), tail: Tail::new(tail) },
        }
    }

    /// The same for a program that tells its words in pieces.
    pub(crate) fn in_pieces(mut self, pieces: Option<Pieces>, redactor: &Redactor) -> Self {
        match pieces {
            None => {}
            Some(Pieces::ToldAgain(unlogged)) => self.clean.logged.unlogged = Some(unlogged),
            Some(Pieces::ToldOnce(speech)) => self.spoken = Some(ChunkDecoder::new(speech, redactor)),
        }
        self
    }

    /// Takes bytes as they came.
    pub(crate) fn push(&mut self, bytes: &[u8], log: &mut Log, observe: &mut Observer<'_>) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        let bytes = match &mut self.spoken {
            Some(spoken) => spoken.pass(bytes),
            None => bytes,
        };
        let stripped = self.escapes.pass(bytes, &mut self.stripped);
        let redacted = self.redact.pass(stripped, &mut self.redacted);
        let text = self.inert.pass(redacted, &mut self.text);
        self.clean.push(text, log, observe)
    }

    /// Takes the end. Gives the tail and how many bytes there were.
    pub(crate) fn finish(mut self, log: &mut Log, observe: &mut Observer<'_>) -> io::Result<(String, u64)> {
        let (mut stripped, mut redacted, mut text) = (Vec::new(), Vec::new(), String::new());
        if let Some(spoken) = &mut self.spoken {
            self.escapes.push(spoken.finish(), &mut stripped);
        }
        self.escapes.finish(&mut stripped);
        self.redact.push(&stripped, &mut redacted);
        self.redact.finish(&mut redacted);
        self.inert.push(&redacted, &mut text);
        self.inert.finish(&mut text);
        self.clean.push(&text, log, observe)?;
        // A line that never ended says what it says.
        log.append(&self.clean.logged.open)?;
        Ok((self.clean.tail.into_string(), self.bytes))
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
