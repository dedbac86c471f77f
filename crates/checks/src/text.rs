//! Puts pieces of output together to lines. Judges nothing.

use std::borrow::Cow;

/// How much of the start of a long line is kept.
const LINE_HEAD: usize = 4096;
/// How much of the end of a long line is kept.
const LINE_TAIL: usize = 1024;

/// Lines out of pieces of text, with memory for one line of bounded length.
///
/// The lines do not depend on where the pieces were cut.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    head: String,
    /// What follows the head of a long line; its start is dropped from time to time.
    tail: String,
    /// The length of the line so far.
    length: usize,
}

impl Lines {
    /// Takes a piece and hands on every line that it completes.
    pub(crate) fn feed(&mut self, piece: &str, each: &mut dyn FnMut(&str)) {
        let mut rest = piece;
        while let Some(end) = rest.find('\n') {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if self.length == 0 && line.len() <= LINE_HEAD {
                each(line.strip_suffix('\r').unwrap_or(line));
            } else {
                self.push(line);
                self.complete(each);
            }
        }
        self.push(rest);
    }

    /// Hands on the last line when no line feed ended it.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(&str)) {
        if self.length > 0 {
            self.complete(each);
        }
    }

    fn push(&mut self, part: &str) {
        let room = if self.tail.is_empty() { LINE_HEAD.saturating_sub(self.head.len()) } else { 0 };
        let fits = part.floor_char_boundary(room.min(part.len()));
        self.head.push_str(&part[..fits]);
        self.length += part.len();
        // Only the end of the piece can survive: a piece of many megabytes must not be copied whole.
        let rest = &part[fits..];
        if rest.len() > 4 * LINE_TAIL {
            self.tail.clear();
            self.tail.push_str(&rest[rest.floor_char_boundary(rest.len() - 2 * LINE_TAIL)..]);
        } else {
            self.tail.push_str(rest);
        }
        if self.tail.len() > 8 * LINE_TAIL {
            let from = self.tail.floor_char_boundary(self.tail.len() - 2 * LINE_TAIL);
            self.tail.drain(..from);
        }
    }

    fn complete(&mut self, each: &mut dyn FnMut(&str)) {
        if self.length <= LINE_HEAD + LINE_TAIL {
            self.head.push_str(&self.tail);
        } else {
            let from = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(LINE_TAIL));
            let tail = &self.tail[from..];
            let missing = self.length - self.head.len() - tail.len();
            self.head.push_str(&format!(" [… {missing} bytes of this line left out …] "));
            self.head.push_str(tail);
        }
        each(self.head.strip_suffix('\r').unwrap_or(&self.head));
        self.head.clear();
        self.tail.clear();
        self.length = 0;
    }
}

/// The line as a person reads it: the text inside an event of `go test -json`, nothing for an event without text, and
/// every other line as it is.
pub(crate) fn readable(line: &str) -> Option<Cow<'_, str>> {
    if !line.starts_with("{\"") || !line.contains("\"Action\":\"") {
        return Some(Cow::Borrowed(line));
    }
    let Ok(event) = serde_json::from_str::<serde_json::Value>(line) else { return Some(Cow::Borrowed(line)) };
    let text = event.get("Output")?.as_str()?;
    Some(Cow::Owned(text.trim_end_matches('\n').to_owned()))
}

/// The start of a text, at most `limit` bytes, whole characters only.
pub(crate) fn start(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit.min(text.len()))]
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
