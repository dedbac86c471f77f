//! Cuts a stream of pieces into lines, with a bound on the length of one.

/// Bytes of a line. Longer ones hold a file or an image, which is not read here.
pub(crate) const MAX: usize = 8 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: String,
    /// The open line is too long and is left out up to its end.
    skipping: bool,
}

impl Lines {
    /// Takes a piece and passes each line on that ended in it; `None` stands for one that was too long.
    pub(crate) fn push(&mut self, piece: &str, mut line: impl FnMut(Option<&str>)) {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest.as_bytes()) {
            let front = &rest[..end];
            rest = &rest[end + 1..];
            if self.skipping || self.open.len() + front.len() > MAX {
                line(None);
            } else if self.open.is_empty() {
                line(Some(front));
            } else {
                self.open.push_str(front);
                line(Some(&self.open));
            }
            self.open.clear();
            self.skipping = false;
        }
        if self.skipping || self.open.len() + rest.len() > MAX {
            self.skipping = true;
            self.open = String::new();
        } else {
            self.open.push_str(rest);
        }
    }

    /// What came after the last line break, if anything did.
    pub(crate) fn rest(&mut self) -> Option<String> {
        (!self.open.is_empty()).then(|| std::mem::take(&mut self.open))
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
