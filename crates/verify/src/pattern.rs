//! Builds the constant patterns of this crate and of `checks`. One that does not compile is a fault of the program, and is never left out.

use regex::Regex;

/// A constant pattern. `(?i)` is written `(?i-u:…)`: without `-u` it needs a feature of `regex` that the shipped program lacks
/// and test builds have.
#[expect(clippy::expect_used, reason = "a constant; a test builds every one of them")]
#[must_use]
pub fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern compiles")
}
