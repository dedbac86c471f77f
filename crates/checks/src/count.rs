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
mod test_unit;
mod unittest;
mod vitest;

use ralph_model::{Runner, TestTally};
use ralph_text::strip_escapes;

use crate::text::Lines;
pub(crate) use json::{Found, Reports};
use ralph_verify::Pattern;
use sums::{Gathered, Recogniser};

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
#[derive(Debug)]
pub(crate) struct Runners {
    known: [Known; 17],
    reports: Found,
    /// The only runner that the command starts.
    only: Option<Runner>,
}

/// What recognises these runners.
#[derive(Debug)]
struct Known {
    runners: &'static [Runner],
    place: Place,
    recogniser: Box<dyn Recogniser>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    /// In the output of a first one it is most likely the output of a test: tests print all sorts of things.
    Second,
}

impl Default for Runners {
    fn default() -> Self {
        Self::only(None)
    }
}

impl Runners {
    /// For the output of a command that starts this runner and no other.
    pub(crate) fn only(only: Option<Runner>) -> Self {
        fn known<R: Recogniser + Default + 'static>(place: Place, runners: &'static [Runner]) -> Known {
            Known { runners, place, recogniser: Box::<R>::default() }
        }
        let known = [
            known::<rust::Rust>(Place::First, &[Runner::CargoTest, Runner::Nextest]),
            known::<pytest::Pytest>(Place::First, &[Runner::Pytest]),
            known::<unittest::Unittest>(Place::First, &[Runner::Unittest]),
            known::<(jest::Jest, vitest::Vitest)>(Place::First, &[Runner::Jest, Runner::Vitest]),
            known::<mocha::Mocha>(Place::First, &[Runner::Mocha]),
            known::<bun::Bun>(Place::First, &[Runner::Bun]),
            known::<ava::Ava>(Place::Second, &[Runner::Ava]),
            // AVA, too, can be made to print TAP.
            known::<tap::Tap>(Place::First, &[Runner::NodeTest, Runner::Tape, Runner::Tap, Runner::Bats, Runner::Ava]),
            known::<go::Go>(Place::First, &[Runner::GoTest]),
            known::<maven::Maven>(Place::First, &[Runner::Junit]),
            known::<gradle::Gradle>(Place::Second, &[Runner::Junit]),
            known::<rspec::Rspec>(Place::Second, &[Runner::Rspec]),
            known::<minitest::Minitest>(Place::Second, &[Runner::Minitest]),
            known::<phpunit::Phpunit>(Place::Second, &[Runner::Phpunit]),
            known::<gradle::Dotnet>(Place::Second, &[Runner::Dotnet]),
            known::<ctest::Ctest>(Place::Second, &[Runner::Ctest]),
            known::<deno::Deno>(Place::Second, &[Runner::Deno]),
        ];
        Self { known, reports: Found::default(), only }
    }

    /// Looks at one line without colours.
    pub(crate) fn line(&mut self, line: &str) {
        let line = without_prefix(line.trim_end());
        for known in &mut self.known {
            known.recogniser.line(line);
        }
    }

    pub(crate) fn reports(&mut self, found: Found) {
        self.reports.add(found);
    }

    /// The sum over all runners that were seen.
    pub(crate) fn finish(self) -> Option<TestTally> {
        let Self { known, mut reports, only } = self;
        let (mut first, mut second) = (None, None);
        for Known { runners, place, recogniser } in known {
            // jest prints its results for people beside the report, and vitest can be made to.
            let counted = match runners {
                [Runner::Jest, ..] => Gathered::choose(recogniser.finish(), reports.jest.take()),
                [Runner::Mocha] => Gathered::choose(recogniser.finish(), reports.mocha.take()),
                _ => recogniser.finish(),
            };
            let Some(counted) = counted else { continue };
            if only.is_some_and(|only| runners.contains(&only)) && counted.sums.ran() > 0 {
                return Some(counted.tally());
            }
            let sum: &mut Option<Gathered> = if place == Place::First { &mut first } else { &mut second };
            sum.get_or_insert_default().add(counted);
        }
        first.or(second).map(Gathered::tally)
    }
}

/// The line without what a monorepo tool or a process manager puts before it: `web:test: `, `packages/web test: `,
/// `[0] `, `web-1  | `.
fn without_prefix(line: &str) -> &str {
    static PREFIX: Pattern = Pattern::new(r"^(?:\[[\w@./-]+\] |[\w@./-]+[: ][\w:-]*test[\w:-]*: |[\w.-]+ +\| )");
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
