//! Whether a file is another only in its format. When in doubt it is not.

use crate::pins::adds::{is_certain_javascript, is_certain_python, readable};
use crate::pins::json::Json;
use crate::pins::{lex, path};

/// Whether two contents of a file differ in nothing but blanks, comments that no tool obeys, and punctuation that means
/// nothing.
#[must_use]
pub fn same_but_for_format(path: &str, before: &[u8], now: &[u8]) -> bool {
    if before == now {
        return true;
    }
    let (Some(before), Some(now)) = (readable(before), readable(now)) else { return false };
    let (before, now) = (&*before, &*now);
    let same =
        |code: fn(&str) -> Option<Vec<String>>| matches!((code(before), code(now)), (Some(a), Some(b)) if a == b);
    match path::extension(path) {
        "rs" => same(lex::rust::code) && documented_code(before) == documented_code(now),
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => {
            same(lex::javascript::code) && lex::javascript::code(now).is_some_and(|code| is_certain_javascript(&code))
        }
        "go" => same(lex::go::code),
        "py" | "pyi" => same(lex::python::code) && lex::python::code(now).is_some_and(|code| is_certain_python(&code)),
        "json" => matches!((Json::parse(before), Json::parse(now)), (Some(a), Some(b)) if a.same(&b)),
        _ => false,
    }
}

/// Lines of documentation of Rust, where there is code among them: such code is tested.
fn documented_code(text: &str) -> Vec<&str> {
    if !text.contains("```") {
        return Vec::new();
    }
    text.lines().map(str::trim).filter(|line| line.starts_with("///") || line.starts_with("//!")).collect()
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
