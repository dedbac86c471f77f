//! Counts tests from what runners print and from the reports that they write. Never from an exit code.
//!
//! Every runner has a recogniser that looks at one line at a time and keeps a few numbers. A line counts only in the
//! exact place and form in which its runner prints it, because tests print all sorts of things themselves.

mod ava;
mod bun;
mod ctest;
mod deno;
mod go;
mod gradle;
mod jest;
mod json;
mod junit;
mod maven;
mod minitest;
mod mocha;
mod names;
mod phpunit;
mod pytest;
mod rspec;
mod rust;
mod sums;
mod tap;
mod unittest;
mod vitest;

use std::sync::LazyLock;

use ralph_model::{Runner, TestTally};
use ralph_text::strip_escapes;
use regex::Regex;

use crate::text::Lines;
pub(crate) use json::{Found, Reports};
use ralph_verify::pattern;
use sums::{Counted, Gathered};

/// Counts tests in a stream of output.
///
/// Pieces may be cut anywhere; colours are ignored. Memory is bounded whatever is fed.
#[derive(Debug, Default)]
pub struct Counter {
    lines: Lines,
    reports: Reports,
    runners: Runners,
}

impl Counter {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of output.
    pub fn feed(&mut self, piece: &str) {
        let runners = &mut self.runners;
        self.lines.feed(piece, &mut |line| runners.line(&strip_escapes(line)));
        self.reports.feed(piece);
    }

    /// What was counted; nothing when no runner was recognised.
    pub fn finish(mut self) -> Option<TestTally> {
        let runners = &mut self.runners;
        self.lines.finish(&mut |line| runners.line(&strip_escapes(line)));
        self.runners.reports(self.reports.finish());
        self.runners.finish()
    }
}

pub fn count(text: &str) -> Option<TestTally> {
    let mut counter = Counter::new();
    counter.feed(text);
    counter.finish()
}

/// Counts tests in a report file: JUnit XML, or the JSON of jest, vitest and mocha.
pub(crate) fn report(text: &str) -> Option<TestTally> {
    if json::is_json(text) { json::report(text) } else { junit::report(text) }
}

/// All recognisers side by side: one command may start several runners.
#[derive(Debug, Default)]
pub(crate) struct Runners {
    rust: rust::Rust,
    pytest: pytest::Pytest,
    unittest: unittest::Unittest,
    jest: jest::Jest,
    vitest: vitest::Vitest,
    mocha: mocha::Mocha,
    bun: bun::Bun,
    tap: tap::Tap,
    go: go::Go,
    maven: maven::Maven,
    rspec: rspec::Rspec,
    minitest: minitest::Minitest,
    phpunit: phpunit::Phpunit,
    gradle: gradle::Gradle,
    dotnet: gradle::Dotnet,
    ctest: ctest::Ctest,
    deno: deno::Deno,
    ava: ava::Ava,
    reports: Found,
    /// The only runner that the command starts.
    only: Option<Runner>,
}

impl Runners {
    /// For the output of a command that starts this runner and no other.
    pub(crate) fn only(only: Option<Runner>) -> Self {
        Self { only, ..Self::default() }
    }

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
        self.rspec.line(line);
        self.minitest.line(line);
        self.phpunit.line(line);
        self.gradle.line(line);
        self.dotnet.line(line);
        self.ctest.line(line);
        self.deno.line(line);
        self.ava.line(line);
    }

    pub(crate) fn reports(&mut self, found: Found) {
        self.reports.add(found);
    }

    /// The sum over all runners that were seen.
    pub(crate) fn finish(self) -> Option<TestTally> {
        // jest prints its results for people beside the report, and vitest can be made to.
        let jest = sum([self.jest.finish(), self.vitest.finish()]);
        let mut parts = [
            self.rust.finish(),
            self.pytest.finish(),
            self.unittest.finish(),
            Gathered::choose(jest, self.reports.jest),
            Gathered::choose(self.mocha.finish(), self.reports.mocha),
            self.bun.finish(),
            self.tap.finish(),
            self.go.finish(),
            self.maven.finish(),
        ];
        // Output of these in the output of another is most likely that of a test: tests print all sorts of things.
        let mut others = [
            self.rspec.finish(),
            self.minitest.finish(),
            self.phpunit.finish(),
            self.gradle.finish(),
            self.dotnet.finish(),
            self.ctest.finish(),
            self.deno.finish(),
            self.ava.finish(),
        ];
        let own = self.only.map_or(&[][..], |runner| match runner {
            Runner::CargoTest | Runner::Nextest => &[0],
            Runner::Pytest => &[1],
            Runner::Unittest => &[2],
            Runner::Jest | Runner::Vitest => &[3],
            Runner::Mocha => &[4],
            Runner::Bun => &[5],
            Runner::NodeTest | Runner::Tape | Runner::Tap | Runner::Bats => &[6],
            Runner::GoTest => &[7],
            Runner::Junit => &[8, 12],
            Runner::Rspec => &[9],
            Runner::Minitest => &[10],
            Runner::Phpunit => &[11],
            Runner::Dotnet => &[13],
            Runner::Ctest => &[14],
            Runner::Deno => &[15],
            Runner::Ava => &[16, 6],
        });
        for own in own {
            let part = parts.iter_mut().chain(&mut others).nth(*own);
            if let Some(part) = part.filter(|part| part.as_ref().is_some_and(|counted| counted.sums.ran() > 0)) {
                return part.take().map(Gathered::tally);
            }
        }
        sum(parts).or_else(|| sum(others)).map(Gathered::tally)
    }
}

fn sum<const PARTS: usize>(parts: [Counted; PARTS]) -> Counted {
    parts.into_iter().flatten().reduce(|mut all, part| {
        all.add(part);
        all
    })
}

/// The line without what a monorepo tool or a process manager puts before it: `web:test: `, `packages/web test: `,
/// `[0] `, `web-1  | `.
fn without_prefix(line: &str) -> &str {
    static PREFIX: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(?:\[[\w@./-]+\] |[\w@./-]+[: ][\w:-]*test[\w:-]*: |[\w.-]+ +\| )"));
    // Cheap refusal first: this runs for every line of a flood.
    if !line.contains(": ") && !line.contains("] ") && !line.contains(" | ") {
        return line;
    }
    let found = PREFIX.find(line);
    found.map_or(line, |found| &line[found.end()..])
}

#[cfg(test)]
#[path = "count_tests.rs"]
mod tests;
