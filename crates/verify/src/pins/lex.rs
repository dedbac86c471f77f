//! Small lexers: enough of each language to tell code from blanks and comments. They never panic, and give up on what
//! they do not understand.

pub(crate) mod go;
pub(crate) mod javascript;
pub(crate) mod python;
pub(crate) mod rust;
mod rust_items;
mod rust_tokens;

/// What gives away a comment that a tool obeys.
const DIRECTIVES: [&str; 29] = [
    "type:",
    "noqa",
    "pragma",
    "pylint:",
    "mypy:",
    "pyright:",
    "ruff:",
    "isort:",
    "coding:",
    "coding=",
    "nosec",
    "fmt:",
    "go:build",
    "go:generate",
    "go:embed",
    "go:linkname",
    "+build",
    "nolint",
    "@ts-",
    "istanbul",
    "eslint",
    "@jest-",
    "@vitest-",
    "c8 ignore",
    "v8 ignore",
    "@flow",
    "@jsx",
    "sourcemappingurl",
    "biome-ignore",
];

/// Whether a comment tells a tool what to do.
fn is_directive(comment: &str) -> bool {
    let comment = comment.to_lowercase();
    ["//line ", "/*line ", "//export "].iter().any(|start| comment.starts_with(start))
        || DIRECTIVES.iter().any(|directive| comment.contains(directive))
}

/// A comment with single blanks, for comparing.
fn squeezed(comment: &str) -> String {
    comment.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where a quoted text ends, from the first byte after its opening quote; `None` when it is not closed on its line.
fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return None,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// Bytes of the name that a text begins with; letters, digits, `_` and what the language adds.
fn name_length(text: &str, more: &[char]) -> usize {
    text.find(|c: char| !(c == '_' || c.is_alphanumeric() || more.contains(&c))).unwrap_or(text.len())
}

/// Bytes of the number that a text begins with.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        let exponent =
            end > 0 && matches!(bytes[end - 1], b'e' | b'E') && matches!(byte, b'+' | b'-') && !text.starts_with("0x");
        let fraction = *byte == b'.' && bytes.get(end + 1) != Some(&b'.');
        if !(byte.is_ascii_alphanumeric() || *byte == b'_' || exponent || fraction) {
            break;
        }
        end += 1;
    }
    end.max(1)
}
