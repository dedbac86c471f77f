//! The end of a text that may be endless, in bounded memory. Knows nothing about where the text comes from.

/// Keeps the last bytes of a text, cut at the border of a character.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: String,
    most: usize,
}

impl Tail {
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: String::new(), most }
    }

    pub(crate) fn push(&mut self, text: &str) {
        if text.len() >= self.most {
            self.kept.clear();
            self.kept.push_str(last(text, self.most));
            return;
        }
        self.kept.push_str(text);
        // Cut only at twice the size, so that each byte is moved once on average.
        if self.kept.len() > self.most.saturating_mul(2) {
            let from = self.kept.len() - last(&self.kept, self.most).len();
            self.kept.drain(..from);
        }
    }

    pub(crate) fn into_string(self) -> String {
        last(&self.kept, self.most).to_owned()
    }
}

/// At most so many bytes of the end of `text`.
fn last(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
