//! A file that a program adds lines to, read as it grows. Whoever opens it has seen to it that it is a plain file.

use std::fs::File;
use std::io::{ErrorKind, Read as _};

use crate::lines::Lines;

const PIECE: usize = 64 * 1024;

pub(crate) struct Record {
    file: File,
    lines: Lines,
    /// The beginning of a character whose end was not written yet.
    open: Vec<u8>,
}

impl Record {
    pub(crate) fn new(file: File) -> Self {
        Self { file, lines: Lines::default(), open: Vec::new() }
    }

    /// Passes on each whole line that was added since the last time, out of at most so many bytes, of which it takes what it reads.
    pub(crate) fn read(&mut self, left: &mut u64, mut line: impl FnMut(&str)) {
        let mut buffer = vec![0; PIECE];
        while *left > 0 {
            let count = match self.file.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // What cannot be read is not counted: the figures so far stay.
                Err(_) => return,
            };
            *left = left.saturating_sub(count as u64);
            self.take(&buffer[..count], &mut line);
        }
    }

    fn take(&mut self, bytes: &[u8], line: &mut impl FnMut(&str)) {
        self.open.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.open) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.open.len(),
        };
        let rest = self.open.split_off(whole);
        let text = String::from_utf8_lossy(&self.open);
        self.lines.push(&text, |read| {
            if let Some(read) = read {
                line(read);
            }
        });
        self.open = rest;
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
