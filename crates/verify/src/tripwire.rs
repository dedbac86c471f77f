//! Asks checks to fail: chooses tests to change so that they must fail, and judges whether the checks reported them. Runs nothing.
//!
//! Tests that failed at the start come first, then a random sample of the others. Half of them are changed in a first run and
//! the other half in a second, so that each is seen to fail when it is changed and to pass when it is not. What was not reported
//! gets another change in the next run. A test that failed at the start and cannot be made to fail again voids the verdict, as do
//! several others; one alone only proves nothing.

mod mention;

use ralph_model::{CheckOutcome, Ended, TestTally, Tripwire, Verdict};

use crate::changes::{ChangeableTest, change, changeable_tests};
use crate::test_names::is_whole;
pub use mention::mentions;

/// How many tests that failed at the start are changed.
const MAX_FAILED: usize = 40;
/// How many of the others.
const MAX_SAMPLE: usize = 12;
/// How many runs there are at most: one for each half, and one more for what was not reported.
const MAX_RUNS: usize = 3;

/// Tests that are changed, and what became of them.
#[derive(Debug, Default)]
pub struct Plan {
    files: Vec<PlannedFile>,
    runs: usize,
    /// A run failed without reporting any of them.
    broke: bool,
    /// Other tests that failed.
    others: Vec<String>,
}

#[derive(Debug)]
struct PlannedFile {
    path: String,
    content: Vec<u8>,
    tests: Vec<PlannedTest>,
}

#[derive(Debug)]
struct PlannedTest {
    test: ChangeableTest,
    failed_before: bool,
    /// The run in which it is changed first.
    turn: usize,
    /// In how many ways it was changed.
    tried: usize,
    /// It is changed in the run that comes next, or that was noted last.
    is_changed: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is not known whether it ran.
    Unseen,
    Reported,
    /// It ran and was not reported as failing.
    Passes,
}

/// A run of the checks with tests changed.
#[derive(Debug, Clone, Copy)]
pub struct ChangedRun<'a> {
    /// How the checks ended.
    pub outcomes: &'a [CheckOutcome],
    /// Lines of the outputs that name changed tests.
    pub output: &'a str,
    /// The verdict that has to be confirmed.
    pub verdict: &'a Verdict,
    /// What the checks said before the first iteration.
    pub baseline: Option<&'a Verdict>,
    /// Whether the commands stop at the first failure.
    pub stops_early: bool,
}

impl Plan {
    /// Chooses tests of these files; only such as ran before the first iteration, where that is known.
    #[must_use]
    pub fn new(files: &[(String, Vec<u8>)], baseline: Option<&Verdict>, seed: u64) -> Self {
        let names = |pick: fn(&TestTally) -> &Vec<String>| -> Vec<&str> {
            let tallies =
                baseline.into_iter().flat_map(|verdict| &verdict.checks).filter_map(|check| check.tests.as_ref());
            tallies.flat_map(pick).map(String::as_str).collect()
        };
        let (ran, failed) = (names(|tally| &tally.names), names(|tally| &tally.failing));
        let mut chosen: Vec<(usize, PlannedTest)> = Vec::new();
        for (file, (path, content)) in files.iter().enumerate() {
            for test in changeable_tests(path, content, seed) {
                let is_known = ran.is_empty()
                    || ran
                        .iter()
                        .any(|name| is_reported_as(name, &test.name) || (is_whole(name) && mentions_file(path, name)));
                if is_known {
                    let failed_before = failed.iter().any(|name| is_reported_as(name, &test.name));
                    chosen.push((
                        file,
                        PlannedTest { test, failed_before, turn: 0, tried: 0, is_changed: false, state: State::Unseen },
                    ));
                }
            }
        }
        // A random order that needs no generator: the seed is random.
        let order =
            |at: usize| (seed ^ u64::try_from(at).unwrap_or(0)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let mut numbered: Vec<(usize, (usize, PlannedTest))> = chosen.into_iter().enumerate().collect();
        numbered.sort_by_key(|(at, (_, planned))| (!planned.failed_before, order(*at)));
        let mut left = [MAX_SAMPLE, MAX_FAILED];
        numbered.retain(|(_, (_, planned))| {
            let left = &mut left[usize::from(planned.failed_before)];
            let fits = *left > 0;
            *left = left.saturating_sub(1);
            fits
        });
        for (at, (_, (_, planned))) in numbered.iter_mut().enumerate() {
            planned.turn = at % 2;
        }
        let mut plan = Self::default();
        for (at, (path, content)) in files.iter().enumerate() {
            let (own, rest): (Vec<_>, Vec<_>) = numbered.into_iter().partition(|(_, (file, _))| *file == at);
            numbered = rest;
            if !own.is_empty() {
                let tests = own.into_iter().map(|(_, (_, test))| test).collect();
                plan.files.push(PlannedFile { path: path.clone(), content: content.clone(), tests });
            }
        }
        plan
    }

    /// Whether no test can be changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Names of the tests that are changed.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.tests().map(|planned| planned.test.name.as_str()).collect()
    }

    fn tests(&self) -> impl Iterator<Item = &PlannedTest> {
        self.files.iter().flat_map(|file| &file.tests)
    }

    /// The files for the next run with tests changed, which may be none; nothing when no run is needed.
    pub fn next_files(&mut self) -> Option<Vec<(String, Vec<u8>)>> {
        let runs = self.runs;
        let broke = self.broke;
        let mut any = false;
        for planned in self.files.iter_mut().flat_map(|file| &mut file.tests) {
            let again =
                planned.tried > 0 && (planned.state == State::Passes || (planned.state == State::Unseen && broke));
            let is_first = planned.tried == 0 && (planned.turn == runs || broke);
            // Another function is no better witness against one that let a wrong value pass.
            let most = if planned.test.is_sure && !broke { 1 } else { 2 };
            planned.is_changed = planned.tried < planned.test.ways().min(most) && (is_first || again);
            any |= planned.is_changed;
        }
        let is_needed = match runs {
            0 => any,
            // The tests that were changed have to pass as they are.
            1 => true,
            _ => any,
        };
        if !is_needed || runs >= MAX_RUNS || !self.others.is_empty() {
            return None;
        }
        let mut files = Vec::new();
        for file in &mut self.files {
            let way = |planned: &PlannedTest| if planned.tried == 0 { 0 } else { planned.test.ways() - 1 };
            let open: Vec<(&ChangeableTest, usize)> = file
                .tests
                .iter()
                .filter(|planned| planned.is_changed)
                .map(|planned| (&planned.test, way(planned)))
                .collect();
            files.extend(
                change(&file.content, &open).filter(|_| !open.is_empty()).map(|content| (file.path.clone(), content)),
            );
            file.tests.iter_mut().for_each(|planned| planned.tried += usize::from(planned.is_changed));
        }
        Some(files)
    }

    /// Notes what a run with the files of [`Self::next_files`] showed.
    pub fn note(&mut self, run: &ChangedRun<'_>) {
        let all = |pick: fn(&TestTally) -> &Vec<String>| -> Vec<String> {
            run.outcomes.iter().filter_map(|outcome| outcome.tests.as_ref()).flat_map(pick).cloned().collect()
        };
        let (failing, ran) = (all(|tally| &tally.failing), all(|tally| &tally.names));
        let passed = run.outcomes.iter().all(|outcome| outcome.passed);
        let is_counted = run.outcomes.iter().any(|outcome| outcome.tests.is_some());
        let is_cut = failing.len() >= TestTally::MAX_NAMES;
        self.runs += 1;
        let names: Vec<String> = self.tests().filter(|one| one.is_changed).map(|one| one.test.name.clone()).collect();
        for file in &mut self.files {
            for planned in
                file.tests.iter_mut().filter(|planned| planned.is_changed && planned.state != State::Reported)
            {
                let name = &planned.test.name;
                let named = failing.iter().any(|failing| is_reported_as(failing, name));
                // Where no runner is known the name in the output has to do.
                let shown = !is_counted && !passed && is_word_of(name, run.output);
                let whole = ran.iter().any(|ran| is_whole(ran) && mentions_file(&file.path, ran)) && !run.stops_early;
                let did_run = whole || ran.iter().any(|ran| is_reported_as(ran, name)) || (passed && ran.is_empty());
                planned.state = match () {
                    () if named || shown => State::Reported,
                    () if did_run && !is_cut => State::Passes,
                    () => planned.state,
                };
            }
        }
        let is_changed = |failing: &str| names.iter().any(|name| is_reported_as(failing, name));
        let suites =
            |name: &str| failing.iter().any(|other| other != name && other.starts_with(name) && is_changed(other));
        let known: Vec<&String> = run
            .baseline
            .into_iter()
            .flat_map(|verdict| &verdict.checks)
            .filter_map(|check| check.tests.as_ref())
            .flat_map(|tests| tests.names.iter().chain(&tests.failing))
            .collect();
        let is_known = |name: &String| {
            known.contains(&name) || self.tests().any(|planned| is_reported_as(name, &planned.test.name))
        };
        let is_other = |name: &&String| is_known(name) && !is_whole(name) && !is_changed(name) && !suites(name);
        let mut others: Vec<String> = failing.iter().filter(is_other).take(20).cloned().collect();
        if names.is_empty() && !passed && others.is_empty() {
            others.push("the checks fail as a whole".to_owned());
        }
        let reported = self.tests().any(|planned| planned.is_changed && planned.state == State::Reported);
        self.broke = !passed && !reported && others.is_empty();
        self.others = others;
    }

    /// What all runs together say; nothing where they say neither one nor the other.
    #[must_use]
    pub fn judge(&self, verdict: &Verdict) -> Option<Tripwire> {
        if !self.others.is_empty() {
            return Some(Tripwire::OthersFail { failing: self.others.clone() });
        }
        let count = |wanted: fn(&PlannedTest) -> bool| self.tests().filter(|planned| wanted(planned)).count();
        let reported = count(|planned| planned.state == State::Reported);
        let passes: Vec<&PlannedTest> = self.tests().filter(|planned| planned.state == State::Passes).collect();
        let names = || passes.iter().take(20).map(|planned| planned.test.name.clone()).collect();
        let is_void = passes.iter().any(|planned| planned.failed_before)
            || (passes.len() >= 2 && passes.len() * 4 > passes.len() + reported)
            || (reported == 0 && !passes.is_empty());
        if is_void {
            return Some(Tripwire::TestsPass { tests: names() });
        }
        if reported == 0 {
            // Checks that counted tests a moment ago do not come as far now: whatever broke them, they confirm nothing.
            let counted = |check: &CheckOutcome| check.tests.as_ref().is_some_and(|tests| tests.passed > 0);
            let planted = self.files.iter().map(|file| file.path.clone()).collect();
            return verdict.checks.iter().any(counted).then_some(Tripwire::Broken { planted });
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let failed_before = count(|planned| planned.state == State::Reported && planned.failed_before);
        Some(Tripwire::TestsFail { changed: number(reported), failed_before: number(failed_before), unproven: names() })
    }
}

/// Whether a run ended because its time was up.
#[must_use]
pub fn timed_out(outcomes: &[CheckOutcome]) -> Option<Tripwire> {
    let late = outcomes.iter().find_map(|outcome| match outcome.ended {
        Ended::TimedOut { after } | Ended::Idle { after } => Some(after),
        _ => None,
    });
    late.map(|after| Tripwire::TimedOut { after })
}

/// Whether commands give up at the first failure.
#[must_use]
pub fn stops_early(texts: &[String]) -> bool {
    const WORDS: [&str; 9] =
        ["-x", "--exitfirst", "--maxfail", "--bail", "-b", "--failfast", "-f", "-failfast", "--fail-fast"];
    let stops = |word: &str| WORDS.contains(&word.split('=').next().unwrap_or(word));
    texts.len() > 1 || texts.iter().any(|text| text.contains("&&") || text.split_whitespace().any(stops))
}

/// Whether a name that a runner prints is that of a test in a source.
fn is_reported_as(reported: &str, name: &str) -> bool {
    // Titles with values in them: `adds %i`, `costs $price`.
    let fixed = name.find(['%', '$', '{']).map_or(name, |at| name[..at].trim_end());
    let is_template = fixed.len() < name.len();
    !fixed.is_empty()
        && reported.match_indices(fixed).any(|(at, _)| {
            let (before, after) = (&reported[..at], &reported[at + fixed.len()..]);
            let starts = before.is_empty() || before.ends_with([':', '.', '>', ' ', '/', '›', '#', '\t']);
            let ends = ["[", "/", " (", "(", ":", " #", " -", ","].iter().any(|mark| after.starts_with(mark));
            starts && (after.is_empty() || ends || (is_template && !after.starts_with(char::is_alphanumeric)))
        })
}

/// Whether a text has a name as a word of its own.
fn is_word_of(name: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

/// Whether the name of a whole file or package is that of a file.
fn mentions_file(path: &str, name: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    mentions(path, name)
        || path.ends_with(name)
        || (name.starts_with(crate::test_names::PACKAGE) && name.ends_with(folder))
}

#[cfg(test)]
#[path = "tripwire_tests.rs"]
mod tests;
