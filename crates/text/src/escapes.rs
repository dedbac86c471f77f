//! Takes terminal escape sequences out of bytes and makes every line end `\n`. It comes before redaction: a secret with a colour
//! inside has to be found like any other, because removing the colour later puts the secret together again.

use std::borrow::Cow;

const ESCAPE: u8 = 0x1B;
const BELL: u8 = 0x07;
/// The longest colour or cursor sequence that is waited for.
const MAX_CONTROL: usize = 64;
/// The longest title or link that is waited for. What is longer, or has a line end in it, is text.
const MAX_STRING: usize = 4096;

/// Takes escape sequences out of bytes that come in pieces, however they are cut.
#[derive(Debug, Default)]
pub struct EscapeStream {
    /// A sequence whose end has not come yet.
    held: Vec<u8>,
    /// The last byte was a carriage return, whose line feed would be the same line end.
    returned: bool,
}

/// What the next byte means for the sequence that is held.
enum Next {
    /// It belongs to it, and more may come.
    Held,
    Last,
    /// The sequence broke off before it.
    BrokenOff,
    /// What is held is text, but for its escape.
    Text,
    /// The sequence ended before the last escape, which begins another one.
    Another,
}

impl EscapeStream {
    /// These and the earlier bytes without escapes: these themselves where there are none, else in `out`, whose content is
    /// replaced.
    pub fn pass<'a>(&mut self, bytes: &'a [u8], out: &'a mut Vec<u8>) -> &'a [u8] {
        if self.held.is_empty() && !self.returned && memchr::memchr2(ESCAPE, b'\r', bytes).is_none() {
            return bytes;
        }
        out.clear();
        self.push(bytes, out);
        out
    }

    /// Appends these and the earlier bytes without escapes.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.held.is_empty() {
                rest = self.text(rest, out);
                continue;
            }
            match self.next(rest[0]) {
                Next::Held => {
                    self.held.push(rest[0]);
                    rest = &rest[1..];
                }
                Next::Last => {
                    self.held.clear();
                    rest = &rest[1..];
                }
                Next::BrokenOff => self.held.clear(),
                Next::Text => {
                    out.extend_from_slice(&self.held[1..]);
                    self.held.clear();
                }
                Next::Another => {
                    self.held.clear();
                    self.held.push(ESCAPE);
                }
            }
        }
    }

    /// Appends what is left when no more bytes come.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        if held.get(1).is_some_and(|kind| is_string(*kind)) {
            out.extend(held.iter().filter(|byte| **byte != ESCAPE));
        }
    }

    /// Takes text up to the next escape; gives the rest.
    fn text<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let bytes = bytes.strip_prefix(b"\n").filter(|_| self.returned).unwrap_or(bytes);
        self.returned = false;
        let Some(at) = memchr::memchr2(ESCAPE, b'\r', bytes) else {
            out.extend_from_slice(bytes);
            return &[];
        };
        out.extend_from_slice(&bytes[..at]);
        if bytes[at] == ESCAPE {
            self.held.push(ESCAPE);
        } else {
            out.push(b'\n');
            self.returned = true;
        }
        &bytes[at + 1..]
    }

    fn next(&self, byte: u8) -> Next {
        match (self.held.get(1).copied(), byte) {
            (None, b'[' | b'(' | b')' | b'*' | b'+') => Next::Held,
            (None, byte) if is_string(byte) => Next::Held,
            // Of other sequences the escape goes and the letter stays: nothing that is text is ever lost.
            (None, _) => Next::Text,
            (Some(b'['), 0x20..=0x3F) if self.held.len() < MAX_CONTROL => Next::Held,
            (Some(b'['), 0x20..=0x3F) => Next::Text,
            (Some(b'['), 0x40..=0x7E) => Next::Last,
            (Some(b'['), _) => Next::BrokenOff,
            (Some(kind), byte) if is_string(kind) => {
                let escaped = self.held.last() == Some(&ESCAPE);
                match byte {
                    b'\\' if escaped => Next::Last,
                    _ if escaped => Next::Another,
                    BELL => Next::Last,
                    b'\n' | b'\r' => Next::Text,
                    _ if self.held.len() >= MAX_STRING => Next::Text,
                    _ => Next::Held,
                }
            }
            (Some(_), 0x30..=0x7E) => Next::Last,
            (Some(_), _) => Next::BrokenOff,
        }
    }
}

/// Whether a sequence that goes on like this carries a text: a title, a link, a device's answer.
const fn is_string(kind: u8) -> bool {
    matches!(kind, b']' | b'P' | b'X' | b'^' | b'_')
}

/// A whole text without escapes.
pub fn strip_escapes(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(ESCAPE, b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    // Sequences are cut at ASCII bytes, so that what is left is UTF-8.
    Cow::Owned(String::from_utf8_lossy(&strip(text.as_bytes())).into_owned())
}

pub(crate) fn strip(bytes: &[u8]) -> Vec<u8> {
    let (mut stream, mut out) = (EscapeStream::default(), Vec::with_capacity(bytes.len()));
    stream.push(bytes, &mut out);
    stream.finish(&mut out);
    out
}

#[cfg(test)]
#[path = "escapes_tests.rs"]
mod tests;
