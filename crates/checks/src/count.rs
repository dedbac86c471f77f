//! Counts tests from what runners print and from the reports that they write. Never from an exit code.
//!
//! Every runner has a recogniser that looks at one line at a time and keeps a few numbers. A line counts only in the
//! exact place and form in which its runner prints it, because tests print all sorts of things themselves.

mod go;
mod javascript;
mod junit;
mod maven;
mod python;
mod rust;
mod sums;
mod tap;

use std::sync::LazyLock;

use ralph_model::TestTally;
use regex::Regex;

use crate::text::{Lines, plain};
pub(crate) use junit::report;
use sums::{Names, Sums};

/// Counts tests in a stream of output.
///
/// Pieces may be cut anywhere; colours are ignored. Memory is bounded whatever is fed.
#[derive(Debug, Default)]
pub struct Counter {
    lines: Lines,
    runners: Runners,
}

impl Counter {
    /// A counter that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of output.
    pub fn feed(&mut self, piece: &str) {
        let runners = &mut self.runners;
        self.lines.feed(piece, &mut |line| runners.line(&plain(line)));
    }

    /// What was counted; nothing when no runner was recognised.
    #[must_use]
    pub fn finish(mut self) -> Option<TestTally> {
        let runners = &mut self.runners;
        self.lines.finish(&mut |line| runners.line(&plain(line)));
        self.runners.finish()
    }
}

/// Counts tests in a whole output.
#[must_use]
pub fn count(text: &str) -> Option<TestTally> {
    let mut counter = Counter::new();
    counter.feed(text);
    counter.finish()
}

/// All recognisers side by side: one command may start several runners.
#[derive(Debug, Default)]
pub(crate) struct Runners {
    rust: rust::Rust,
    pytest: python::Pytest,
    unittest: python::Unittest,
    jest: javascript::Jest,
    vitest: javascript::Vitest,
    mocha: javascript::Mocha,
    bun: javascript::Bun,
    tap: tap::Tap,
    go: go::Go,
    maven: maven::Maven,
}

impl Runners {
    /// Looks at one line without colours.
    pub(crate) fn line(&mut self, line: &str) {
        let line = without_prefix(line.trim_end());
        self.rust.line(line);
        self.pytest.line(line);
        self.unittest.line(line);
        self.jest.line(line);
        self.vitest.line(line);
        self.mocha.line(line);
        self.bun.line(line);
        self.tap.line(line);
        self.go.line(line);
        self.maven.line(line);
    }

    /// The sum over all runners that were seen.
    pub(crate) fn finish(self) -> Option<TestTally> {
        let parts = [
            self.rust.finish(),
            self.pytest.finish(),
            self.unittest.finish(),
            self.jest.finish(),
            self.vitest.finish(),
            self.mocha.finish(),
            self.bun.finish(),
            self.tap.finish(),
            self.go.finish(),
            self.maven.finish(),
        ];
        let mut all: Option<(Sums, Names)> = None;
        for (sums, names) in parts.into_iter().flatten() {
            let (total, named) = all.get_or_insert_default();
            total.add(sums);
            named.extend(names);
        }
        all.map(|(sums, names)| sums.tally(names))
    }
}

/// The line without what a monorepo tool or a process manager puts before it: `web:test: `, `packages/web test: `,
/// `[0] `, `web-1  | `.
fn without_prefix(line: &str) -> &str {
    static PREFIX: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^(?:\[[\w@./-]+\] |[\w@./-]+[: ][\w:-]*test[\w:-]*: |[\w.-]+ +\| )").ok());
    // Cheap refusal first: this runs for every line of a flood.
    if !line.contains(": ") && !line.contains("] ") && !line.contains(" | ") {
        return line;
    }
    let found = PREFIX.as_ref().and_then(|prefix| prefix.find(line));
    found.map_or(line, |found| &line[found.end()..])
}

#[cfg(test)]
#[path = "count_tests.rs"]
mod tests;
