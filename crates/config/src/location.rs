//! Where in a file something is, shown as compilers do: file, line, column, the line itself and a mark under it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Characters of a line that are shown.
const MAX_SHOWN: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The line, counted from 1.
    pub line: usize,
    // Errors carry it, and those stay small.
    rest: Box<Rest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rest {
    path: PathBuf,
    column: usize,
    shown: String,
    mark: Range<usize>,
}

impl Location {
    /// The place of `span`, counted in bytes, in the `text` of the file at `path`.
    pub fn new(path: &Path, text: &str, span: Range<usize>) -> Self {
        let is_boundary = |at: &usize| text.is_char_boundary(*at);
        let start = (0..=span.start.min(text.len())).rev().find(is_boundary).unwrap_or_default();
        let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let last = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = (start..=span.end.clamp(start, last)).rev().find(is_boundary).unwrap_or(start);
        let column = text[first..start].chars().count();
        let width = text[start..end].chars().count().max(1);
        // A mark far to the right is brought into sight.
        let skipped = if column + width > MAX_SHOWN { column.saturating_sub(MAX_SHOWN / 2) } else { 0 };
        let shown = text[first..last].chars().skip(skipped).take(MAX_SHOWN);
        let mark = column - skipped..(column - skipped + width).min(MAX_SHOWN);
        let rest = Rest {
            path: path.to_owned(),
            column: column + 1,
            // A tab or an escape would move the mark away from what it marks.
            shown: shown.map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim_end().to_owned(),
            mark,
        };
        Self { line: text[..first].matches('\n').count() + 1, rest: Box::new(rest) }
    }

    /// The line with a mark under what is meant.
    pub fn snippet(&self) -> String {
        let number = self.line.to_string();
        let edge = " ".repeat(number.len());
        let (before, mark) = (" ".repeat(self.rest.mark.start), "^".repeat(self.rest.mark.len().max(1)));
        format!("{edge} |\n{number} | {}\n{edge} | {before}{mark}", self.rest.shown)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.rest.path.display(), self.line, self.rest.column)
    }
}

#[cfg(test)]
#[path = "location_tests.rs"]
mod tests;
