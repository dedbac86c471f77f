//! Finds the usage in the bytes of an answer while they pass by. Bounded, whatever comes. Does no IO.

use std::io::Write as _;

use flate2::write::GzDecoder;
use ralph_llm::wire::{Format, UsageReader, UsageSeen};

/// The longest line of a stream, and the longest answer in one piece, that is read. A stream may be longer.
const MAX_BYTES: usize = 32 * 1024 * 1024;

pub(crate) struct Scan {
    encoded: Option<Box<GzDecoder<Text>>>,
    plain: Text,
    is_readable: bool,
}

impl Scan {
    /// For an answer with these headers.
    pub(crate) fn new(format: Format, content_type: &str, encoding: &str) -> Self {
        let text = || Text::new(format, content_type.trim_start().starts_with("text/event-stream"));
        let encoding = encoding.trim().to_ascii_lowercase();
        let is_gzip = matches!(encoding.as_str(), "gzip" | "x-gzip");
        Self {
            encoded: is_gzip.then(|| Box::new(GzDecoder::new(text()))),
            plain: text(),
            is_readable: is_gzip || matches!(encoding.as_str(), "" | "identity"),
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        match &mut self.encoded {
            _ if !self.is_readable => {}
            // What cannot be decoded says nothing about usage.
            Some(decoder) => self.is_readable = decoder.write_all(bytes).and_then(|()| decoder.flush()).is_ok(),
            None => self.plain.push(bytes),
        }
    }

    /// The last figures are there.
    pub(crate) fn is_over(&self) -> bool {
        self.text().is_stream && self.text().reader.seen().is_over
    }

    /// No more bytes come.
    pub(crate) fn finish(&mut self) -> UsageSeen {
        let text = match &mut self.encoded {
            Some(decoder) => decoder.get_mut(),
            None => &mut self.plain,
        };
        text.finish();
        text.reader.seen()
    }

    fn text(&self) -> &Text {
        self.encoded.as_ref().map_or(&self.plain, |decoder| decoder.get_ref())
    }
}

struct Text {
    reader: UsageReader,
    is_stream: bool,
    line: Vec<u8>,
    data: Vec<u8>,
    /// The line or the answer is longer than what is read.
    is_overlong: bool,
}

impl Text {
    fn new(format: Format, is_stream: bool) -> Self {
        Self { reader: UsageReader::new(format), is_stream, line: Vec::new(), data: Vec::new(), is_overlong: false }
    }

    fn push(&mut self, mut bytes: &[u8]) {
        if !self.is_stream {
            self.keep(bytes);
            return;
        }
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (front, back) = bytes.split_at(end);
            self.keep(front);
            self.end_line();
            bytes = back.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line.len().saturating_add(bytes.len()) > MAX_BYTES {
            self.is_overlong = true;
            self.line.clear();
        }
        if !self.is_overlong {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        let is_overlong = std::mem::take(&mut self.is_overlong);
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        if line.is_empty() && !is_overlong {
            if !self.data.is_empty() {
                self.reader.event(&self.data);
                self.data.clear();
            }
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            if self.data.len().saturating_add(data.len()) <= MAX_BYTES {
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        self.line.clear();
        if self.line.capacity() > MAX_BYTES / 32 {
            self.line = Vec::new();
        }
    }

    fn finish(&mut self) {
        if self.is_stream {
            self.end_line();
            // The last event may lack its empty line.
            self.end_line();
        } else if !self.is_overlong {
            self.reader.body(&self.line);
            self.line = Vec::new();
        }
    }
}

impl std::io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
