//! Judges whether a run reported planted tests. Runs nothing.

use std::collections::HashSet;
use std::fmt;

use aho_corasick::AhoCorasick;
use ralph_model::TestTally;

use crate::tripwire::mention::mentions;
use crate::tripwire::names::message;
use crate::tripwire::plant::{Plant, Presence, Stops};
use ralph_model::Runner;

/// What was seen of a run.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Whether every command ended as if all was well.
    pub exit_ok: bool,
    /// Names of failing tests that were counted.
    pub failing: &'a [String],
    /// What the run printed, whole where possible; colours do not matter.
    pub output: &'a str,
}

/// Whether a run reported planted tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It did.
    Reported,
    /// It did not.
    NotReported {
        /// The planted files whose tests were not reported.
        paths: Vec<String>,
        /// What was seen instead.
        why: Why,
    },
}

/// Why a run counts as not having reported planted tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// The command passed.
    Passed,
    /// The command failed, but no planted test was reported: it may not have come as far as running tests.
    FailedOtherwise,
    /// Some planted tests were reported and others, which ran or had to run, were not.
    Partly,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "the command passed",
            Self::FailedOtherwise => "the command failed without naming any planted test",
            Self::Partly => "only some of the planted tests were reported as failing",
        })
    }
}

/// Judges what was seen of a run with `plants` in place.
///
/// The command has to fail and to report at least one planted test. Every file that is `due`, or of which any test was
/// reported, has to be reported whole, as far as the run goes on after failures.
#[must_use]
pub fn judge(plants: &[Plant], due: &dyn Fn(&str) -> bool, seen: &Seen<'_>) -> Judgement {
    let not_reported = |why: Why, paths: Vec<&Plant>| Judgement::NotReported {
        paths: paths.into_iter().map(|plant| plant.path.clone()).collect(),
        why,
    };
    if seen.exit_ok {
        return not_reported(Why::Passed, plants.iter().collect());
    }
    let output = plain(seen.output);
    let report = Report::read(plants, seen.failing, &output);
    let sightings: Vec<(&Plant, Vec<bool>)> = plants.iter().map(|plant| (plant, report.of(plant))).collect();
    if !sightings.iter().any(|(_, marks)| marks.contains(&true)) {
        return not_reported(Why::FailedOtherwise, plants.iter().collect());
    }
    let is_cut = seen.failing.len() >= TestTally::MAX_NAMES;
    let unseen: Vec<&Plant> = sightings
        .iter()
        .filter(|(plant, marks)| {
            let ran = marks.contains(&true);
            let is_due = plant.presence == Presence::Sure && due(&plant.path);
            let has_to_be_whole = match plant.stops {
                Stops::Never => ran || (is_due && !is_cut),
                Stops::AfterFile => ran || (is_due && !is_cut && mentions(&plant.path, &output)),
                Stops::AfterFirst => return skips(marks),
                Stops::AfterFailure => false,
            };
            has_to_be_whole && marks.contains(&false)
        })
        .map(|(plant, _)| *plant)
        .collect();
    if !unseen.is_empty() {
        return not_reported(Why::Partly, unseen);
    }
    // A test binary of Rust that ends itself in the middle of its tests leaves no trace but the missing result.
    if plants.iter().any(|plant| plant.runner == Runner::CargoTest) && report.is_cut_short {
        let silent = sightings.iter().filter(|(_, marks)| marks.contains(&false)).map(|(plant, _)| *plant);
        return not_reported(Why::Partly, silent.collect());
    }
    Judgement::Reported
}

/// Whether a test was passed over though it runs before one that was reported.
fn skips(marks: &[bool]) -> bool {
    marks.iter().skip_while(|seen| **seen).any(|seen| *seen)
}

/// Which planted tests a run reported as failing.
struct Report<'p> {
    shown: HashSet<&'p str>,
    is_cut_short: bool,
}

impl<'p> Report<'p> {
    fn read(plants: &'p [Plant], failing: &[String], output: &str) -> Self {
        let marks: Vec<&str> = plants.iter().flat_map(|plant| &plant.marks).map(String::as_str).collect();
        let messages: Vec<String> = marks.iter().map(|mark| message(mark)).collect();
        let mut shown = HashSet::new();
        // All at once: there may be thousands of marks, and megabytes of output.
        find_all(&messages, &marks, output, &mut shown);
        let mut named = failing.join("\n");
        for line in output.lines().filter(|line| says_failed(line)) {
            named.push('\n');
            named.push_str(line);
        }
        find_all(&marks, &marks, &named, &mut shown);
        Self { shown, is_cut_short: is_cut_short(output) }
    }

    /// Which of a file's planted tests were reported.
    fn of(&self, plant: &Plant) -> Vec<bool> {
        plant.marks.iter().map(|mark| self.shown.contains(mark.as_str())).collect()
    }
}

/// Adds the marks whose patterns a text holds as words of their own.
fn find_all<'p>(patterns: &[impl AsRef<[u8]>], marks: &[&'p str], text: &str, shown: &mut HashSet<&'p str>) {
    // Without a search nothing counts as reported, which is never taken for good news.
    let Ok(search) = AhoCorasick::new(patterns) else { return };
    for found in search.find_overlapping_iter(text) {
        let after = text.get(found.end()..).unwrap_or_default();
        if !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && let Some(mark) = marks.get(found.pattern().as_usize())
        {
            shown.insert(mark);
        }
    }
}

/// Whether a test binary of Rust announced tests and told no result.
fn is_cut_short(output: &str) -> bool {
    let is_start = |line: &&str| {
        line.strip_prefix("running ")
            .and_then(|rest| rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test")))
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let starts = output.lines().filter(is_start).count();
    let results = output.lines().filter(|line| line.starts_with("test result: ")).count();
    starts > results
}

/// Whether a line names a test that failed. Runners also quote source lines around a failure, which may name others.
fn says_failed(line: &str) -> bool {
    const STARTS: &[&str] = &[
        "FAILED ",
        "FAIL ",
        "FAIL: ",
        "ERROR ",
        "ERROR: ",
        "--- FAIL: ",
        "not ok ",
        "✖ ",
        "✗ ",
        "✕ ",
        "× ",
        "● ",
        "---- ",
        "(fail) ",
        "SIGABRT ",
    ];
    const ENDS: &[&str] = &[" FAILED", " FAIL", " ERROR", " --- FAILED"];
    let text = line.trim();
    let is_numbered = text
        .split_once(") ")
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let end = text.split(" [").next().unwrap_or(text).trim_end();
    // Go, as JSON.
    let is_event = text.contains("\"Action\":\"fail\"");
    is_event
        || STARTS.iter().any(|start| text.starts_with(start))
        || is_numbered
        || ENDS.iter().any(|word| end.ends_with(word))
}

/// A text without what colours it.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.next_if_eq(&'[').is_some() {
            letters.by_ref().find(|letter| ('@'..='~').contains(letter));
        }
    }
    plain
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
