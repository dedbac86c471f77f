//! `go test`: plain, `-v` and `-json`.
//!
//! Without `-v` Go does not print how many tests passed. Packages are counted as passed then, and tests as failed.

use std::collections::{HashMap, HashSet};

use ralph_model::TestTally;
use serde_json::Value;

use super::names::Ran;
use super::sums::{Counted, Gathered, Outcome, Recogniser, indentation};
use crate::text::start;
use ralph_verify::test_names::PACKAGE;

/// Counts tests, each subtest once, and packages that could not be built.
#[derive(Debug, Default)]
pub(super) struct Go {
    all: Gathered,
    packages_passed: u32,
    verbose: bool,
    /// Tests that the indented lines after them may turn out to be parents of.
    stack: Vec<Shown>,
    /// Failing tests of the package whose line has yet to come.
    unplaced: Vec<String>,
    unplaced_ran: Vec<String>,
    /// Names of what ran. Without `-v` only failing tests are named, which would be missed as soon as they pass.
    packages: Ran,
    tests: Ran,
    failed_in_package: bool,
    /// In `-json`, tests whose subtests were reported, and whether one of those failed.
    parents: HashMap<String, bool>,
    /// In `-json`, tests that began and have not ended.
    running: HashSet<String>,
    json_failed: HashMap<String, u32>,
}

#[derive(Debug)]
struct Shown {
    depth: usize,
    outcome: Outcome,
    counted: bool,
}

impl Recogniser for Go {
    fn line(&mut self, line: &str) {
        let text = line.trim_start_matches(' ');
        if let Some(rest) = text.strip_prefix("--- ") {
            self.shown(indentation(line), rest);
        } else if let Some(rest) = torn(line) {
            self.shown(0, rest);
        } else if line.starts_with("{\"") && line.contains("\"Action\":\"") {
            self.json(line);
        } else if line.starts_with("=== RUN ") {
            self.verbose = true;
        } else if let Some(package) = line.strip_prefix("ok  \t") {
            self.package_passed(package);
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            self.package_failed(rest);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        let Self { mut all, .. } = *self;
        for name in self.unplaced {
            all.failing.insert(&name);
        }
        if self.verbose {
            all.ran.extend(self.tests);
        } else {
            all.sums.passed = self.packages_passed;
        }
        all.ran.extend(self.packages);
        all.counted()
    }
}

impl Go {
    const MAX_UNPLACED: usize = 200;
    /// Bytes of a package, and of a test in it.
    const MAX_LENGTH: usize = 200;
    /// Open parents and packages in `-json`; more than any real run has at a time.
    const MAX_OPEN: usize = 20_000;

    /// `FAIL: TestCart/discount (0.00s)`
    fn shown(&mut self, depth: usize, rest: &str) {
        let Some((word, rest)) = rest.split_once(": ") else { return };
        let Some((name, time)) = rest.rsplit_once(" (") else { return };
        if !time.ends_with("s)") {
            return;
        }
        let outcome = match word {
            "PASS" => Outcome::Passed,
            "FAIL" => Outcome::Failed,
            "SKIP" => Outcome::Skipped,
            _ => return,
        };
        self.all.seen = true;
        self.verbose |= outcome == Outcome::Passed;
        while self.stack.last().is_some_and(|above| above.depth >= depth) {
            self.stack.pop();
        }
        // A parent counts through its subtests, unless it fails and none of them does.
        let mut repeated = vec![];
        for above in self.stack.iter_mut().filter(|above| above.counted) {
            if above.outcome != Outcome::Failed || outcome == Outcome::Failed {
                above.counted = false;
                repeated.push(above.outcome);
            }
        }
        for outcome in repeated {
            let sum = self.all.sums.of_mut(outcome);
            *sum = sum.saturating_sub(1);
        }
        self.all.sums.count(outcome, 1);
        self.stack.push(Shown { depth, outcome, counted: true });
        if outcome != Outcome::Skipped && self.unplaced_ran.len() < TestTally::MAX_TESTS {
            self.unplaced_ran.push(start(name, Self::MAX_LENGTH).to_owned());
        }
        if outcome == Outcome::Failed {
            self.failed_in_package = true;
            let parent = name.rsplit_once('/').map(|(parent, _)| parent);
            self.unplaced.retain(|named| Some(named.as_str()) != parent);
            if self.unplaced.len() < Self::MAX_UNPLACED {
                self.unplaced.push(name.to_owned());
            }
        }
    }

    /// `example.com/shop/cart\t0.002s`, `example.com/shop/cart\t(cached) [no tests to run]`
    fn package_passed(&mut self, rest: &str) {
        self.all.seen = true;
        if !rest.ends_with("[no tests to run]") {
            self.packages_passed = self.packages_passed.saturating_add(1);
            self.package_ran(package(rest));
        }
        self.forget_package();
    }

    /// `example.com/shop/cart\t0.002s`, `example.com/shop/cart [build failed]`
    fn package_failed(&mut self, rest: &str) {
        self.all.seen = true;
        let package = package(rest);
        if !self.failed_in_package {
            // It did not build, or ended in the middle of a test.
            self.all.sums.count(Outcome::Failed, 1);
            self.all.failing.insert(&format!("{PACKAGE}{package}"));
        }
        for name in std::mem::take(&mut self.unplaced) {
            self.all.failing.insert(&format!("{package}.{name}"));
        }
        if !rest.ends_with(" failed]") {
            self.package_ran(package);
        }
        self.forget_package();
    }

    fn package_ran(&mut self, package: &str) {
        self.packages.once(&format!("{PACKAGE}{package}"));
        for name in std::mem::take(&mut self.unplaced_ran) {
            self.tests.once(&bounded(package, &name));
        }
    }

    fn forget_package(&mut self) {
        self.failed_in_package = false;
        self.stack.clear();
        self.unplaced.clear();
        self.unplaced_ran.clear();
    }

    /// `{"Action":"fail","Package":"example.com/shop","Test":"TestCart/discount","Elapsed":0}`
    fn json(&mut self, line: &str) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        let text = |field: &str| event.get(field).and_then(Value::as_str);
        let (Some(action), Some(package)) = (text("Action"), text("Package")) else { return };
        let outcome = match action {
            "run" => {
                if let Some(test) = text("Test")
                    && self.running.len() < Self::MAX_OPEN
                {
                    self.running.insert(bounded(package, test));
                }
                return;
            }
            "pass" => Outcome::Passed,
            "fail" => Outcome::Failed,
            "skip" => Outcome::Skipped,
            _ => return,
        };
        self.all.seen = true;
        self.verbose = true;
        match text("Test") {
            Some(test) => self.json_test(package, test, outcome),
            None => self.json_package(package, outcome),
        }
    }

    fn json_test(&mut self, package: &str, test: &str, outcome: Outcome) {
        let failed = outcome == Outcome::Failed;
        if failed && (self.json_failed.len() < Self::MAX_OPEN || self.json_failed.contains_key(package)) {
            let failures = self.json_failed.entry(package.to_owned()).or_default();
            *failures = failures.saturating_add(1);
        }
        let key = bounded(package, test);
        self.running.remove(&key);
        match self.parents.remove(&key) {
            Some(child_failed) if !failed || child_failed => {}
            Some(_) | None => {
                self.all.sums.count(outcome, 1);
                if failed {
                    self.all.failing.insert(&key);
                }
            }
        }
        if outcome != Outcome::Skipped {
            self.tests.once(&key);
        }
        // A subtest's own name may hold a slash, so every start of it can be a parent.
        for (at, _) in test.match_indices('/') {
            if self.parents.len() < Self::MAX_OPEN {
                *self.parents.entry(bounded(package, &test[..at])).or_default() |= failed;
            }
        }
    }

    fn json_package(&mut self, package: &str, outcome: Outcome) {
        let failures = self.json_failed.remove(package).unwrap_or(0);
        if outcome == Outcome::Failed && failures == 0 {
            self.all.sums.count(Outcome::Failed, 1);
            self.all.failing.insert(&format!("{PACKAGE}{package}"));
        }
        let prefix = bounded(package, "");
        let running: Vec<String> = self.running.extract_if(|key| key.starts_with(&prefix)).collect();
        for key in running.iter().filter(|key| outcome == Outcome::Passed && !self.parents.contains_key(*key)) {
            // Where a test prints something without ending its line, its end goes unreported.
            self.all.sums.count(Outcome::Passed, 1);
            self.tests.once(key);
        }
        self.parents.retain(|key, _| !key.starts_with(&prefix));
    }
}

/// The name of a test, cut so that many open ones fit into memory.
fn bounded(package: &str, test: &str) -> String {
    format!("{}.{}", start(package, Go::MAX_LENGTH), start(test, Go::MAX_LENGTH))
}

/// The package at the start of the rest of a line about it.
fn package(rest: &str) -> &str {
    rest.split(['\t', ' ']).next().unwrap_or(rest)
}

/// What follows `--- ` where a test printed something before it without ending its line.
fn torn(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("--- ")?;
    let (word, name) = rest.split_once(": ")?;
    let is_test = ["Test", "Example", "Fuzz"].iter().any(|start| name.starts_with(start));
    (matches!(word, "PASS" | "FAIL" | "SKIP") && is_test && !name.contains('/')).then_some(rest)
}
