//! Builds the constant patterns of this crate. One that does not compile is a fault of the program, and is never left out.

use regex::Regex;

/// A constant pattern. `(?i)` is written `(?i-u:…)`: without `-u` it needs a feature of `regex` that the shipped program lacks
/// and test builds have.
#[expect(clippy::expect_used, reason = "a constant; a test builds every one of them")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern compiles")
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
#[allow(clippy::disallowed_methods, reason = "the test reads the sources")]
mod tests;
