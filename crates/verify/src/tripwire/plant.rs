//! Chooses the form of the planted tests for every file. Writes nothing.

use std::collections::BTreeMap;

use ralph_model::Runner;

use crate::tripwire::command::{Calls, Filter};
use crate::tripwire::names::Names;
use crate::tripwire::project::Project;
use crate::tripwire::{go, javascript, python, rust};

/// A file of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File<'a> {
    /// Where it is, relative to the workspace, with `/` between folders.
    pub path: &'a str,
    /// What it holds.
    pub content: &'a [u8],
}

/// A file with failing tests in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plant {
    /// Where it is, relative to the workspace.
    pub path: String,
    /// The whole file as it has to be while the wire is tripped.
    pub content: Vec<u8>,
    /// Names of the planted tests, one each, in the order in which they stand in the file.
    pub marks: Vec<String>,
    /// Whether the file exists only for the wire.
    pub is_new: bool,
    /// The runner that has to report it.
    pub runner: Runner,
    /// Whether a run of the file has to run the planted tests.
    pub presence: Presence,
    /// How much a run shows after something failed.
    pub stops: Stops,
}

/// Whether a run of a file runs the tests that are planted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It does.
    Sure,
    /// The file has conditions of its own: a build tag, a feature, a mark that skips it.
    Conditional,
}

/// When a run is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stops {
    /// Never: all failures are shown.
    Never,
    /// After the first file or test binary that has failures.
    AfterFile,
    /// After the first failing test, and tests run in the order in which they stand in the file.
    AfterFirst,
    /// After any failing test, and tests run in any order.
    AfterFailure,
}

/// What a form makes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planted {
    pub(crate) content: Vec<u8>,
    pub(crate) marks: Vec<String>,
    pub(crate) presence: Presence,
}

impl Presence {
    pub(crate) const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sure, Self::Sure) => Self::Sure,
            (Self::Sure | Self::Conditional, Self::Sure | Self::Conditional) => Self::Conditional,
        }
    }
}

/// The files of a project with failing tests planted in them; empty where no form is known.
///
/// Tests are planted in every file that holds some, because code that weakens a runner may do so only when a test imports
/// it. Only where a runner has no such file at all, it gets new ones.
///
/// `commands` are the texts of the checks and of the scripts that they lead to: what stops or filters a run is read from
/// them, and a runner whose filter no planted test could pass gets none. `tests` are the test files. `sources` are Rust
/// sources with tests inside, manifests and settings of runners (`Cargo.toml`, `package.json`, `pyproject.toml`,
/// `pytest.ini`, `setup.cfg`, `tox.ini`, `jest.config.*`, `vitest.config.*`, `.mocharc*`), and, when there are no tests,
/// Go sources. A file may stand in both.
#[must_use]
pub fn plants(
    runners: &[Runner],
    commands: &[&str],
    tests: &[File<'_>],
    sources: &[File<'_>],
    seed: u64,
) -> Vec<Plant> {
    let mut files: BTreeMap<&str, &File<'_>> = BTreeMap::new();
    // What is pinned counts before what the tree has.
    for file in tests.iter().chain(sources) {
        files.entry(file.path).or_insert(file);
    }
    let files: Vec<&File<'_>> = files.into_values().collect();
    let project = Project::read(&files);
    let mut field = Field { names: Names::new(seed), project: &project, files: &files, plants: vec![] };
    let mut rows: Vec<Row> = runners.iter().map(|runner| Row::new(*runner, commands, &project)).collect();
    rows.sort_by_key(|row| row.runner);
    rows.dedup_by_key(|row| row.runner);
    rows.retain(|row| row.calls.filter != Filter::Unknown);
    field.rust(&rows);
    field.python(&rows);
    field.javascript(&rows);
    field.go(&rows);
    field.plants
}

/// A runner and how it is called.
#[derive(Debug)]
struct Row {
    runner: Runner,
    calls: Calls,
}

impl Row {
    fn new(runner: Runner, commands: &[&str], project: &Project<'_>) -> Self {
        let settings = match runner {
            Runner::Pytest => project.pytest("addopts"),
            Runner::Jest | Runner::Vitest | Runner::Mocha if project.bails() => vec!["--bail".to_owned()],
            _ => vec![],
        };
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        Self { runner, calls: Calls::read(runner, commands, &settings) }
    }
}

/// What is planted, and where.
struct Field<'a> {
    names: Names,
    project: &'a Project<'a>,
    files: &'a [&'a File<'a>],
    plants: Vec<Plant>,
}

impl Field<'_> {
    fn put(&mut self, path: &str, planted: Planted, row: &Row, is_new: bool) {
        let Planted { content, marks, presence } = planted;
        let (path, runner, stops) = (path.to_owned(), row.runner, row.calls.stops);
        self.plants.push(Plant { path, content, marks, is_new, runner, presence, stops });
    }

    fn new_ones(&mut self, planted: impl IntoIterator<Item = (String, Planted)>, row: &Row) {
        for (path, planted) in planted {
            if !self.files.iter().any(|file| file.path == path) {
                self.put(&path, planted, row, true);
            }
        }
    }

    fn rust(&mut self, rows: &[Row]) {
        let Some(row) = only(rows, Runner::is_rust) else { return };
        let prefix = row.calls.filter.prefix();
        let before = self.plants.len();
        for file in self.files.iter().filter(|file| file.path.ends_with(".rs")) {
            if let Some(planted) = rust::plant(file.path, file.content, self.project, &prefix, &mut self.names) {
                self.put(file.path, planted, row, false);
            }
        }
        if self.plants.len() == before {
            let planted = rust::fresh(self.project, &prefix, &mut self.names);
            self.new_ones(planted, row);
        }
    }

    fn python(&mut self, rows: &[Row]) {
        let Some(row) = only(rows, Runner::is_python) else { return };
        let runners: Vec<Runner> = rows.iter().map(|row| row.runner).collect();
        let prefix = row.calls.filter.prefix();
        let before = self.plants.len();
        for file in self.files.iter().filter(|file| file.path.ends_with(".py")) {
            let planted = python::plant(file.path, file.content, &runners, self.project, &prefix, &mut self.names);
            if let Some(planted) = planted {
                self.put(file.path, planted, row, false);
            }
        }
        if self.plants.len() == before {
            let planted = python::fresh(&runners, &row.calls, self.project, &prefix, &mut self.names);
            self.new_ones(planted, row);
        }
    }

    fn javascript(&mut self, rows: &[Row]) {
        let runners: Vec<Runner> = rows.iter().map(|row| row.runner).filter(|runner| runner.is_javascript()).collect();
        for row in rows.iter().filter(|row| row.runner.is_javascript()) {
            let mine: Vec<&&File<'_>> = self
                .files
                .iter()
                .filter(|file| javascript::runner_of(file.content, &runners) == Some(row.runner))
                .collect();
            let mut calls = row.calls.clone();
            // One `only` keeps the tests of all other files from running.
            calls.only_marked |=
                row.runner == Runner::Mocha && mine.iter().any(|file| javascript::has_only(file.content));
            let before = self.plants.len();
            for file in mine {
                let planted =
                    javascript::plant(file.path, file.content, row.runner, self.project, &calls, &mut self.names);
                if let Some(planted) = planted {
                    self.put(file.path, planted, row, false);
                }
            }
            if self.plants.len() == before && runners.len() == 1 {
                let planted = javascript::fresh(row.runner, self.project, &calls, &mut self.names);
                self.new_ones(planted, row);
            }
        }
    }

    fn go(&mut self, rows: &[Row]) {
        let Some(row) = only(rows, |runner| runner == Runner::GoTest) else { return };
        let prefix = row.calls.filter.prefix();
        let before = self.plants.len();
        for file in self.files {
            if let Some(planted) = go::plant(file.path, file.content, &prefix, &mut self.names) {
                self.put(file.path, planted, row, false);
            }
        }
        if self.plants.len() == before {
            let planted = go::fresh(self.files, &prefix, &mut self.names);
            self.new_ones(planted, row);
        }
    }
}

/// The row of the runners of a language: of several the one that shows less after a failure.
fn only(rows: &[Row], is_one: impl Fn(Runner) -> bool) -> Option<&Row> {
    rows.iter().filter(|row| is_one(row.runner)).max_by_key(|row| row.calls.stops)
}

#[cfg(test)]
#[path = "plant_tests.rs"]
mod tests;
