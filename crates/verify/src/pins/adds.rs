//! Whether somebody extended a test file with new tests and left what was there alone. When in doubt it is not so. Reads
//! tokens, never meanings; executes nothing.
//!
//! For every language:
//! - Each statement of before is there, token for token, in the same order, in the same block. Blanks and comments that
//!   no tool obeys do not count. An import of several names counts as several imports.
//! - What is new stands between such statements, has a form that the module of its language lists, and binds no name
//!   that before uses anywhere: what was there means what it meant.
//! - What the small lexers could take for something else than the language does is refused before anything is compared.
//! - A new test is free in what it does while it runs, as one in a new file is, except that it may not plainly assign to
//!   what the old tests use.

mod go;
mod go_comments;
mod javascript;
mod javascript_certainty;
mod javascript_forms;
mod javascript_reach;
mod python;
mod python_certainty;
mod python_forms;
mod python_reach;
mod statement;
mod tokens;

use std::borrow::Cow;

pub(crate) use javascript_certainty::is_certain as is_certain_javascript;
pub(crate) use python_certainty::is_certain as is_certain_python;

use crate::pins::path;

/// Files above this are not read.
const MAX_SIZE: usize = 1024 * 1024;

/// Whether a test file is as it was, apart from new tests and what they need.
///
/// Known are Python, JavaScript, TypeScript and Go; for everything else, for files of more than one mebibyte and for
/// whatever is not understood the answer is no.
#[must_use]
pub fn only_adds_tests(path: &str, before: &[u8], now: &[u8]) -> bool {
    let (Some(before), Some(now)) = (readable(before), readable(now)) else { return false };
    match path::extension(path) {
        "py" => python::only_adds(&before, &now),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => javascript::only_adds(&before, &now),
        "go" => go::only_adds(&before, &now),
        _ => false,
    }
}

/// The text with plain line breaks; `None` when it is too long or holds what ends a line, or counts as a blank, in one
/// language and not in another.
pub(crate) fn readable(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if bytes.len() > MAX_SIZE {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let text = if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    let odd = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{2028}' | '\u{2029}');
    (!text.contains(odd)).then_some(text)
}

#[cfg(test)]
#[path = "adds_tests.rs"]
mod tests;
