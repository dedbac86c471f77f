//! Words that a program tells in pieces, a line each. A piece goes on without what could be part of a secret, which follows with the
//! next one: a secret that is cut into pieces is in none of them. Reads no pipe, and knows no program: see [`ChunkCodec`].
//!
//! It comes before the redaction of the whole output. A pattern that is found in one piece would be replaced there, and its rest
//! in the next piece would be a text like any other.

use std::borrow::Cow;

use crate::escapes::EscapeStream;
use crate::redact::{RedactStream, Redactor};
use crate::sanitize::sanitize;

/// Bytes of a line that are waited for. A reader of lines gives up long before.
const MAX_LINE: usize = 8 << 20;

/// How the lines of one kind of program are read.
#[derive(Debug, Clone, Copy)]
pub struct ChunkCodec {
    /// What a line is, without its end.
    pub read: fn(&str) -> StreamLine<'_>,
    /// The line of a piece with other words in the place of its own, without an end.
    pub with: fn(&str, &str) -> String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamLine<'a> {
    Chunk(MessageChunk<'a>),
    /// Something before which every message ends.
    End,
    /// Something else. Messages may go on after it.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageChunk<'a> {
    /// Who speaks. Voices are heard beside each other: a piece of one does not end the message of another.
    pub voice: &'static str,
    /// The name of the message; a piece of another one ends it.
    pub message: Cow<'a, str>,
    pub words: Cow<'a, str>,
}

/// The stage that lines go through.
pub struct ChunkDecoder {
    codec: ChunkCodec,
    redactor: Redactor,
    voices: Vec<MessageBuffer>,
    /// A line whose end has not come yet.
    open: Vec<u8>,
    /// The open line is too long to be waited for, and goes on as it comes.
    long: bool,
    out: Vec<u8>,
}

struct MessageBuffer {
    name: &'static str,
    message: String,
    escapes: EscapeStream,
    redact: RedactStream,
    /// The line of its last piece, for what is left in the end.
    line: String,
}

impl ChunkDecoder {
    /// A decoder for the lines of one program.
    pub fn new(codec: ChunkCodec, redactor: &Redactor) -> Self {
        Self { codec, redactor: redactor.clone(), voices: Vec::new(), open: Vec::new(), long: false, out: Vec::new() }
    }

    /// What goes on of these and the earlier bytes: lines with nothing in their words that could be part of a secret.
    pub fn pass(&mut self, bytes: &[u8]) -> &[u8] {
        self.out.clear();
        let mut rest = bytes;
        // Readers of lines take a carriage return for an end, too.
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.long {
                self.out.extend_from_slice(line);
                self.long = false;
            } else if self.open.is_empty() {
                self.line(line);
            } else {
                let mut whole = std::mem::take(&mut self.open);
                whole.extend_from_slice(line);
                self.line(&whole);
                whole.clear();
                self.open = whole;
            }
        }
        if self.long {
            self.out.extend_from_slice(rest);
        } else {
            self.open.extend_from_slice(rest);
            if self.open.len() > MAX_LINE {
                self.long = true;
                self.out.append(&mut self.open);
            }
        }
        &self.out
    }

    /// What is left when no more bytes come.
    pub fn finish(&mut self) -> &[u8] {
        self.out.clear();
        let open = std::mem::take(&mut self.open);
        let text = decoded(&open);
        match (self.codec.read)(&text) {
            StreamLine::Chunk(piece) => self.piece(&piece, &text, &open, b"\n"),
            // In the middle of a message it may be a piece that broke off, and its words half of a secret.
            StreamLine::Other if !self.voices.is_empty() && text.starts_with('{') => {}
            StreamLine::End | StreamLine::Other => {
                self.end_all();
                self.out.extend_from_slice(&open);
            }
        }
        self.end_all();
        &self.out
    }

    fn line(&mut self, line: &[u8]) {
        let (content, end) = line.split_at(line.len() - 1);
        let text = decoded(content);
        match (self.codec.read)(&text) {
            StreamLine::Chunk(piece) => self.piece(&piece, &text, content, end),
            StreamLine::End => {
                self.end_all();
                self.out.extend_from_slice(line);
            }
            StreamLine::Other => self.out.extend_from_slice(line),
        }
    }

    fn piece(&mut self, piece: &MessageChunk<'_>, text: &str, raw: &[u8], end: &[u8]) {
        let Self { codec, redactor, voices, out, .. } = self;
        let known = voices.iter().position(|voice| voice.name == piece.voice);
        let at = known.unwrap_or_else(|| {
            voices.push(MessageBuffer::new(piece, redactor));
            voices.len() - 1
        });
        let voice = &mut voices[at];
        if voice.message != piece.message {
            voice.end(*codec, out);
            *voice = MessageBuffer::new(piece, redactor);
        }
        text.clone_into(&mut voice.line);
        let (mut stripped, mut clean) = (Vec::new(), Vec::new());
        let words = voice.escapes.pass(piece.words.as_bytes(), &mut stripped);
        let words = voice.redact.pass(words, &mut clean);
        if words == piece.words.as_bytes() {
            out.extend_from_slice(raw);
        } else {
            out.extend_from_slice((codec.with)(text, &String::from_utf8_lossy(words)).as_bytes());
        }
        out.extend_from_slice(end);
    }

    fn end_all(&mut self) {
        for mut voice in self.voices.drain(..) {
            voice.end(self.codec, &mut self.out);
        }
    }
}

impl MessageBuffer {
    fn new(piece: &MessageChunk<'_>, redactor: &Redactor) -> Self {
        let message = piece.message.clone().into_owned();
        Self {
            name: piece.voice,
            message,
            escapes: EscapeStream::default(),
            redact: redactor.stream(),
            line: String::new(),
        }
    }

    /// What is left of the message, in a line like those before.
    fn end(&mut self, codec: ChunkCodec, out: &mut Vec<u8>) {
        let (mut stripped, mut words) = (Vec::new(), Vec::new());
        self.escapes.finish(&mut stripped);
        self.redact.push(&stripped, &mut words);
        // A reader that is stopped in the middle of a secret has printed half of it.
        self.redact.break_off(&mut words);
        if !words.is_empty() {
            out.extend_from_slice((codec.with)(&self.line, &String::from_utf8_lossy(&words)).as_bytes());
            out.push(b'\n');
        }
    }
}

/// A line as its readers will see it.
fn decoded(line: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => sanitize(text),
        Cow::Owned(text) => Cow::Owned(sanitize(&text).into_owned()),
    }
}

#[cfg(test)]
#[path = "chunks_tests.rs"]
mod tests;
