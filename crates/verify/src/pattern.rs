//! Builds the constant patterns of this crate and of `checks`. One that does not compile is a fault of the program, and is never left out.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

/// A constant pattern, compiled when it is needed first.
#[derive(Debug)]
pub struct Pattern(&'static str, OnceLock<Regex>);

impl Pattern {
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self(text, OnceLock::new())
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.1.get_or_init(|| pattern(self.0))
    }
}

/// A constant pattern. `(?i)` is written `(?i-u:…)`: without `-u` it needs a feature of `regex` that the shipped program lacks
/// and test builds have.
#[expect(clippy::expect_used, reason = "a constant; a test builds every one of them")]
pub fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern compiles")
}
