//! Asks checks to fail: chooses tests to change so that they must fail, and judges whether the checks reported them. Runs nothing.
//!
//! Tests that did not pass at the start come first, then a random sample of the others. A test is changed at one of its
//! assertions at a time, and one that failed at two of them in different runs: whatever makes one of them void does not show as
//! long as another one fails. In one run each test stays as it is and has to pass. What was not reported gets another change in
//! a last run. A test that did not pass at the start and cannot be made to fail again voids the verdict, as do several others;
//! one alone only proves nothing. A test that nothing shows to be run by the checks may pass, whatever was changed in it.

mod before;
mod mention;
mod namesakes;
mod programs;
mod reported;
mod start;

use std::collections::{BTreeMap, BTreeSet};

use ralph_model::{CheckOutcome, TestTally, Tripwire, Verdict};

use crate::changes::{ChangeableTest, Place, Shows, change, changeable_tests};
use crate::selection::Selection;
use crate::test_names::is_whole;
use before::{Before, Evidence, Reported};
use mention::is_word_of;
pub use mention::mentions;
pub(crate) use mention::{is_reported_as, is_whole_of};
use namesakes::Namesakes;
pub use programs::programs;
pub(crate) use reported::ReportedNames;
use reported::{names, total};

/// How many tests that failed at the start are changed.
const MAX_FAILED: usize = 200;
/// How many of the others.
const MAX_SAMPLE: usize = 12;
/// At how many places a test that failed at the start is changed; at how many where the work decides what equals what.
const MAX_PLACES: [usize; 2] = [4, 24];
/// In how many runs tests of one name are changed, one after the other.
const MAX_TURNS: [usize; 2] = [6, 24];

/// Tests that are changed, and what became of them.
#[derive(Debug, Default)]
pub struct Plan {
    files: Vec<PlannedFile>,
    /// Tests that did not pass at the start and that cannot be changed.
    untouched: Vec<String>,
    /// Names under which runners reported tests as failing at the start.
    failing_before: Vec<String>,
    /// Files that they could not load at the start.
    unloaded: Vec<String>,
    /// How many runs it takes to change each once.
    base: usize,
    runs: usize,
    /// A run failed without reporting any of them.
    broke: bool,
    others: Vec<String>,
    /// At least half of the tests that could run did.
    most_run: bool,
    equality: Equality,
    /// Tests that fail with other tests, and those.
    followers: Vec<(String, String)>,
    /// All tests with the files that define them.
    homes: BTreeSet<(String, String)>,
}

/// Who decides in the checks what equals what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Equality {
    #[default]
    AsAtStart,
    /// The work has other methods for it: that one thing does not equal another says little.
    OfTheWork,
}

#[derive(Debug, Clone)]
pub struct TestFile {
    pub path: String,
    pub content: Vec<u8>,
    /// What it was at the start; none for a new file.
    pub original: Option<Vec<u8>>,
    /// What runs report for it as a whole: a program of CTest.
    pub reported_as: Vec<String>,
}

#[derive(Debug)]
struct PlannedFile {
    path: String,
    content: Vec<u8>,
    reported_as: Vec<String>,
    tests: Vec<PlannedTest>,
}

#[derive(Debug)]
struct PlannedTest {
    name: String,
    is_told: bool,
    may_be_skipped: bool,
    place: Place,
    failed_before: bool,
    /// The checks run it, as far as they can tell.
    is_sure: bool,
    /// The run in which it is changed first.
    turn: usize,
    tried: usize,
    /// The way in which it was changed last.
    way: usize,
    /// What the changes show with which it passed.
    passed: Vec<Shows>,
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
    /// It ran at the start, and not when it was changed.
    Missing,
    /// It passes changed with the work, and fails changed with the code of the start.
    Void,
}

#[derive(Debug, Clone, Copy)]
pub struct ChangedRun<'a> {
    pub outcomes: &'a [CheckOutcome],
    pub output: &'a str,
    pub verdict: &'a Verdict,
    /// What the checks said before the first iteration.
    pub baseline: Option<&'a Verdict>,
    /// Whether the commands stop at the first failure.
    pub stops_early: bool,
}

impl Plan {
    /// Chooses tests of these files; only such as ran before the first iteration, where that is known.
    #[must_use]
    pub fn new(
        files: &[TestFile],
        selection: &Selection,
        baseline: Option<&Verdict>,
        verdict: &Verdict,
        equality: Equality,
        seed: u64,
    ) -> Self {
        let which = usize::from(equality == Equality::OfTheWork);
        let before = Before::new(baseline, verdict);
        // A random order that needs no generator: the seed is random.
        let order =
            |at: usize| (seed ^ u64::try_from(at).unwrap_or(0)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let is_unloaded = |name: &&str| is_whole(name) || files.iter().any(|file| is_whole_of(name, &file.path));
        let (unloaded, failing): (Vec<&str>, Vec<&str>) = before.failing.all().iter().copied().partition(is_unloaded);
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let mut plan = Self { failing_before: owned(failing), unloaded: owned(unloaded), equality, ..Self::default() };
        // Tests that cannot be told apart in a report are changed in different runs.
        let mut groups: BTreeMap<(String, &str), Vec<(usize, PlannedTest)>> = BTreeMap::new();
        let mut count = 0;
        let wholes: Vec<Reported<'_>> = files.iter().map(|file| before.of_file(file)).collect();
        let tests = |(at, (file, whole)): (usize, (&TestFile, &Reported<'_>))| {
            let tests = changeable_tests(&file.path, &file.content, file.original.as_deref(), seed);
            let run = |test: ChangeableTest| Some((at, before.evidence(selection, file, whole, &test.name)?, test));
            tests.into_iter().filter_map(run).collect::<Vec<_>>()
        };
        let tests: Vec<_> = files.iter().zip(&wholes).enumerate().flat_map(tests).collect();
        // Where the runners skip some or count fewer tests than there are, those without a name may be the ones that do not run.
        let number = u32::try_from(tests.len()).unwrap_or(u32::MAX);
        let all_run = !before.has_skipped && before.total.is_none_or(|total| total >= number);
        plan.most_run = before.total.is_none_or(|total| total.saturating_mul(2) >= number);
        // Jest names the file of a test that passes, and not of one that fails.
        let tells = |failing: &&str| files.iter().any(|file| mentions(&file.path, failing));
        let failing = before.failing.all();
        let failures_tell = !failing.is_empty() && failing.iter().all(tells);
        let home = |at: usize| files.get(at).map(|file| file.path.clone()).unwrap_or_default();
        plan.homes = tests.iter().map(|(at, _, test)| (test.name.clone(), home(*at))).collect();
        let namesakes = Namesakes::of(tests.iter().map(|(at, _, test)| (home(*at), test)));
        for (at, evidence, test) in tests {
            plan.followers.extend(test.fails_with.iter().map(|other| (test.name.clone(), other.clone())));
            if let Some((file, whole)) = files.get(at).zip(wholes.get(at)) {
                let own = before.of_test(&test.name).only(|reported| namesakes.is_of(reported, file, &test));
                // Classes of other files may inherit a test, so its name alone is enough where no other file has one.
                let mut alike = plan.homes.range((test.name.clone(), String::new())..);
                let is_shared = alike.nth(1).is_some_and(|(name, _)| *name == test.name);
                let is_told = failures_tell && is_shared && own.names().any(|reported| mentions(&file.path, reported));
                let own = if is_told { own.only(|reported| mentions(&file.path, reported)) } else { own };
                let did_run = own.names().next().is_some() || !file.reported_as.is_empty();
                let is_unloaded = !whole.failing.is_empty();
                if test.may_be_skipped && !did_run && !is_unloaded {
                    continue;
                }
                let is_named = did_run || is_unloaded || own.names().next().is_some();
                let is_sure = all_run || (evidence == Evidence::Named && is_named);
                let failed_before = !before.passed(&own, whole);
                let is_old = file
                    .original
                    .as_ref()
                    .is_none_or(|original| is_word_of(&test.name, &String::from_utf8_lossy(original)));
                if test.places.is_empty() && failed_before && is_old && is_sure {
                    plan.untouched.push(test.name.clone());
                }
                let told = if is_told { file.path.as_str() } else { "" };
                let group = groups.entry((test.name.clone(), told)).or_default();
                let mut places: Vec<(usize, Place)> = Vec::new();
                for place in test.places {
                    count += 1;
                    places.push((at + files.len() * count, place));
                }
                places.sort_by_key(|(number, place)| (!place.is_always, order(*number)));
                places.truncate(if failed_before { MAX_PLACES[which] } else { 1 });
                for (turn, (number, place)) in places.into_iter().enumerate() {
                    let (name, state) = (test.name.clone(), State::Unseen);
                    let planned = PlannedTest {
                        name,
                        is_told,
                        may_be_skipped: test.may_be_skipped,
                        place,
                        failed_before,
                        is_sure,
                        turn,
                        tried: 0,
                        way: 0,
                        is_changed: false,
                        passed: Vec::new(),
                        state,
                    };
                    group.push((number, planned));
                }
            }
        }
        let mut groups: Vec<Vec<(usize, PlannedTest)>> =
            groups.into_values().filter(|group| !group.is_empty()).collect();
        for group in &mut groups {
            // One place of each test first.
            group.sort_by_key(|(number, planned)| (!planned.failed_before, planned.turn, order(*number)));
            let failed = group.iter().filter(|(_, planned)| planned.failed_before).count();
            let left_out = group.drain(failed.clamp(1, MAX_TURNS[which])..);
            let untouched = left_out.filter(|(_, planned)| planned.failed_before && planned.turn == 0);
            plan.untouched.extend(untouched.map(|(_, planned)| planned.name));
        }
        let number = |group: &Vec<(usize, PlannedTest)>| {
            group.first().map_or((true, 0), |(number, planned)| (!planned.failed_before, order(*number)))
        };
        groups.sort_by_key(number);
        let mut left = [MAX_SAMPLE, MAX_FAILED];
        groups.retain(|group| {
            let left = &mut left[usize::from(group.iter().any(|(_, planned)| planned.failed_before))];
            let fits = *left > 0;
            *left = left.saturating_sub(1);
            fits
        });
        plan.base = groups.iter().map(|group| group.len() + 1).max().unwrap_or(2);
        let mut chosen: BTreeMap<usize, Vec<PlannedTest>> = BTreeMap::new();
        for (at, group) in groups.into_iter().enumerate() {
            for (place, (number, mut planned)) in group.into_iter().enumerate() {
                planned.turn = (at + place) % plan.base;
                chosen.entry(number % files.len()).or_default().push(planned);
            }
        }
        plan.files = chosen
            .into_iter()
            .filter_map(|(at, tests)| {
                let TestFile { path, content, reported_as, .. } = files.get(at)?.clone();
                Some(PlannedFile { path, content, reported_as, tests })
            })
            .collect();
        plan
    }

    /// Whether no test can be changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn names(&self) -> Vec<&str> {
        self.tests().map(|planned| planned.name.as_str()).collect()
    }

    fn tests(&self) -> impl Iterator<Item = &PlannedTest> {
        self.planned().map(|(_, planned)| planned)
    }

    fn planned(&self) -> impl Iterator<Item = (&PlannedFile, &PlannedTest)> {
        self.files.iter().flat_map(|file| file.tests.iter().map(move |planned| (file, planned)))
    }

    /// The files for the next run with tests changed, which may be none; nothing when no run is needed.
    pub fn next_files(&mut self) -> Option<Vec<(String, Vec<u8>)>> {
        let (runs, broke) = (self.runs, self.broke);
        let is_last = runs >= self.base;
        let mut named = BTreeSet::new();
        let shares: BTreeSet<&str> =
            self.followers.iter().flat_map(|(one, other)| [one.as_str(), other.as_str()]).collect();
        // Lines of tables that are changed already: what is expected of one row and what of another test could change alike.
        let mut taken = BTreeSet::new();
        let planned = self.files.iter_mut().flat_map(|PlannedFile { path, content, tests, .. }| {
            let (path, content) = (&*path, &*content);
            tests.iter_mut().map(move |planned| (path, content, planned))
        });
        for (path, content, planned) in planned {
            let again = match planned.state {
                State::Reported => false,
                State::Passes | State::Missing | State::Void => is_last || broke,
                State::Unseen => broke || (is_last && planned.failed_before),
            };
            let is_due = if planned.tried == 0 { planned.turn == runs || broke || is_last } else { again };
            // Another function is no better witness against one that let a wrong value pass.
            let most = if planned.place.is_sure() && planned.state == State::Passes { 1 } else { 2 };
            let can_be = planned.tried < planned.place.ways().min(most)
                || (planned.tried == 1 && planned.state == State::Missing);
            let way = if planned.tried == 0 { 0 } else { planned.place.ways() - 1 };
            let lines = match shares.contains(planned.name.as_str()) {
                true => planned.place.lines(way, content),
                false => Vec::new(),
            };
            let is_free = lines.iter().all(|line| !taken.contains(&(path, *line)));
            planned.is_changed = is_due && can_be && is_free && {
                let told = planned.is_told.then_some(path);
                named.insert((planned.name.clone(), told))
            };
            if planned.is_changed {
                taken.extend(lines.into_iter().map(|line| (path, line)));
            }
        }
        let any = !named.is_empty();
        // In the second run the tests that were changed have to pass as they are.
        if (runs != 1 && !any) || runs > self.base || !self.others.is_empty() {
            return None;
        }
        let mut files = Vec::new();
        for file in &mut self.files {
            let way = |planned: &PlannedTest| if planned.tried == 0 { 0 } else { planned.place.ways() - 1 };
            let open: Vec<(&Place, usize)> = file
                .tests
                .iter()
                .filter(|planned| planned.is_changed)
                .map(|planned| (&planned.place, way(planned)))
                .collect();
            files.extend(
                change(&file.content, &open).filter(|_| !open.is_empty()).map(|content| (file.path.clone(), content)),
            );
            for planned in file.tests.iter_mut().filter(|planned| planned.is_changed) {
                planned.way = way(planned);
                planned.tried += 1;
            }
        }
        Some(files)
    }

    /// Whether a run will follow the one that comes next or is under way.
    pub const fn needs_more(&self) -> bool {
        self.runs + 1 < self.base
    }

    /// Notes what a run with the files of [`Self::next_files`] showed.
    pub fn note(&mut self, run: &ChangedRun<'_>) {
        let (failing, ran) = (names(run.outcomes, |tally| &tally.failing), names(run.outcomes, |tally| &tally.names));
        let (failing_names, ran_names) = (ReportedNames::new(failing.clone()), ReportedNames::new(ran.clone()));
        let passed = run.outcomes.iter().all(|outcome| outcome.passed);
        let is_counted = run.outcomes.iter().any(|outcome| outcome.tests.is_some());
        let is_cut = failing.len() >= TestTally::MAX_NAMES;
        let is_whole_run = is_counted && !run.stops_early && !is_cut;
        // A change that ends the program takes what would have come after it along.
        let broke_off = !passed && total(run.outcomes) < total(&run.verdict.checks);
        // Where as many tests ran as for the verdict, each of them did.
        let all_ran = is_whole_run && !failing.is_empty() && total(run.outcomes) >= total(&run.verdict.checks);
        let before = Before::new(run.baseline, run.verdict);
        self.runs += 1;
        for file in &mut self.files {
            let PlannedFile { path, reported_as, tests, .. } = file;
            let names_file = |names: &[&str]| names.iter().any(|name| is_whole_of(name, path));
            let file_fails = names_file(&failing);
            let file_ran = names_file(&ran) && !run.stops_early;
            for planned in tests.iter_mut().filter(|planned| planned.is_changed && planned.state != State::Reported) {
                let is_among = |names: &ReportedNames<'_>| planned.is_among(path, reported_as, names);
                let named = is_among(&failing_names);
                // Where no runner is known the name in the output has to do.
                let shown = !is_counted && !passed && is_word_of(&planned.name, run.output);
                // A file that a change broke as a whole shows nothing of its tests.
                let all_did = file_ran || all_ran || (passed && ran.is_empty());
                let did_run =
                    !file_fails && !broke_off && (is_among(&ran_names) || (all_did && !planned.may_be_skipped));
                let is_missing = is_whole_run && !broke_off && !ran.is_empty() && !file_fails && is_among(&before.ran);
                planned.state = match () {
                    () if named || shown => State::Reported,
                    () if !planned.is_sure => State::Unseen,
                    () if did_run && !is_cut => State::Passes,
                    () if is_missing => State::Missing,
                    () => planned.state,
                };
                if planned.state == State::Passes {
                    planned.passed.extend(planned.place.shows(planned.way));
                }
            }
        }
        let changed = || self.planned().filter(|(_, planned)| planned.is_changed);
        let is_inherited = |name: &str| {
            changed().any(|(_, planned)| is_reported_as(name, &planned.name))
                && !self.homes.iter().any(|(test, path)| is_reported_as(name, test) && mentions(path, name))
        };
        let is_changed = |failing: &str| {
            changed().any(|(file, planned)| planned.is_in(&file.path, &file.reported_as, failing))
                || is_inherited(failing)
        };
        let suites =
            |name: &str| failing.iter().any(|other| *other != name && other.starts_with(name) && is_changed(other));
        let is_known = |name: &str| {
            before.ran.all().contains(&name)
                || before.failing.all().contains(&name)
                || self.tests().any(|planned| is_reported_as(name, &planned.name))
        };
        let is_whole = |name: &str| is_whole(name) || self.files.iter().any(|file| is_whole_of(name, &file.path));
        let changed_names: BTreeSet<&str> = changed().map(|(_, planned)| planned.name.as_str()).collect();
        let followers: BTreeSet<&str> = self
            .followers
            .iter()
            .filter(|(_, other)| changed_names.contains(other.as_str()))
            .map(|(follower, _)| follower.as_str())
            .collect();
        let follows_changed = |name: &str| followers.iter().any(|follower| is_reported_as(name, follower));
        let is_other = |name: &&&str| {
            is_known(name) && !is_whole(name) && !is_changed(name) && !suites(name) && !follows_changed(name)
        };
        let mut others: Vec<String> = failing.iter().filter(is_other).take(20).map(|name| (*name).to_owned()).collect();
        if changed().next().is_none() && !passed && others.is_empty() {
            others.push("the checks fail as a whole".to_owned());
        }
        let reported = self.tests().any(|planned| planned.is_changed && planned.state == State::Reported);
        self.broke = !passed && !reported && others.is_empty();
        self.others = others;
    }

    /// What all runs together say; nothing where they say neither one nor the other.
    pub fn judge(&self, verdict: &Verdict) -> Option<Tripwire> {
        if !self.others.is_empty() {
            return Some(Tripwire::OthersFail { failing: self.others.clone() });
        }
        let with = |wanted: &dyn Fn(&PlannedTest) -> bool| -> BTreeSet<&str> {
            self.tests().filter(|planned| wanted(planned)).map(|planned| planned.name.as_str()).collect()
        };
        let reported = with(&|planned| planned.state == State::Reported);
        let passes: Vec<&PlannedTest> = self
            .tests()
            .filter(|planned| match planned.state {
                State::Passes | State::Void => true,
                State::Missing => planned.failed_before,
                State::Unseen | State::Reported => false,
            })
            .collect();
        // An assertion that a test does not reach cannot fail; one that lets a wrong value pass, or its own opposite, is void.
        let is_void = |planned: &&PlannedTest| {
            let is_shown = reported.contains(planned.name.as_str());
            planned.state == State::Void
                || (planned.failed_before
                    && ((planned.place.is_always && planned.lets_pass(&[Shows::Value, Shows::OtherKind]))
                        || (!is_shown && planned.is_doubted())))
        };
        // Only the opposite fails: what the test compares may be equal to anything.
        let is_hollow = |planned: &&PlannedTest| {
            let shows = planned.place.shows(planned.way);
            let is_soft = matches!(shows, Some(Shows::Opposite | Shows::OtherKind));
            let is_doubted = planned.lets_pass(&[Shows::LikelyValue]) || self.equality == Equality::OfTheWork;
            planned.failed_before && planned.state == State::Reported && is_soft && is_doubted
        };
        let hollow = self.tests().filter(is_hollow).map(|planned| planned.name.as_str());
        // Another input may give the same, and the test was seen to fail at another assertion.
        let tells = |planned: &&&PlannedTest| {
            planned.passed.iter().any(|shows| *shows != Shows::Input) || !reported.contains(planned.name.as_str())
        };
        let open = passes.iter().filter(|planned| planned.state != State::Passes || tells(planned));
        let unproven: BTreeSet<&str> = open.map(|planned| planned.name.as_str()).chain(hollow).collect();
        let is_reached = |planned: &&&PlannedTest| {
            planned.is_doubted() && (planned.place.is_always || !reported.contains(planned.name.as_str()))
        };
        let doubted: BTreeSet<&str> = passes.iter().filter(is_reached).map(|planned| planned.name.as_str()).collect();
        let names = |names: &BTreeSet<&str>| -> Vec<String> {
            // Of a file that could not be loaded at the start, with the name that it was reported under.
            let whole = |name: &str| {
                let (file, _) = self.planned().find(|(_, it)| it.name == name && it.failed_before)?;
                self.unloaded.iter().find(|whole| is_whole_of(whole, &file.path))
            };
            let named =
                |name: &&str| whole(name).map_or_else(|| (*name).to_owned(), |whole| format!("{whole}::{name}"));
            names.iter().take(20).map(named).collect()
        };
        let is_void = passes.iter().any(is_void)
            || (doubted.len() >= 2 && doubted.len() * 4 > doubted.len() + reported.len())
            || (reported.is_empty() && !doubted.is_empty());
        if is_void {
            return Some(Tripwire::TestsPass { tests: names(&unproven) });
        }
        // Nothing but changes that may not matter.
        if reported.is_empty() && !passes.is_empty() {
            return None;
        }
        if reported.is_empty() && !self.tests().any(|planned| planned.is_sure) {
            // Most of them ran, and the checks reported none; or none of them was among those that ran.
            let tests = names(&with(&|_| true));
            return self.most_run.then_some(Tripwire::TestsPass { tests });
        }
        if reported.is_empty() {
            // Checks that counted tests a moment ago do not come as far now: whatever broke them, they confirm nothing.
            let counted = |check: &CheckOutcome| check.tests.as_ref().is_some_and(|tests| tests.passed > 0);
            let planted = self.files.iter().map(|file| file.path.clone()).collect();
            return verdict.checks.iter().any(counted).then_some(Tripwire::Broken { planted });
        }
        let number = |names: &BTreeSet<&str>| u32::try_from(names.difference(&unproven).count()).unwrap_or(u32::MAX);
        let failed_before = with(&|planned| planned.state == State::Reported && planned.failed_before);
        let (changed, failed_before) = (number(&reported), number(&failed_before));
        let unseen = with(&|planned| planned.is_sure && planned.failed_before && planned.state == State::Unseen);
        let unproven: BTreeSet<&str> = unproven
            .union(&unseen)
            .copied()
            .filter(|name| !reported.contains(name) || unproven.contains(name))
            .collect();
        let unproven = unproven
            .into_iter()
            .chain(self.untouched.iter().map(String::as_str))
            .chain(self.failing_before.iter().map(String::as_str).filter(|name| !self.is_planned(name)))
            .collect();
        Some(Tripwire::TestsFail { changed, failed_before, unproven: names(&unproven) })
    }
}

impl Plan {
    /// Whether a test that a runner reported at the start is among those that are changed, or cannot be.
    fn is_planned(&self, name: &str) -> bool {
        // Hooks are no tests, and a module that cannot be loaded is none.
        let is_other = name.contains(" hook") || name.contains("_FailedTest");
        is_other
            || self.untouched.iter().any(|test| is_reported_as(name, test))
            || self.files.iter().any(|file| is_whole_of(name, &file.path))
            || self.planned().any(|(file, planned)| planned.is_in(&file.path, &file.reported_as, name))
    }
}

impl PlannedTest {
    /// Whether it passed with a change that shows one of these.
    fn lets_pass(&self, shows: &[Shows]) -> bool {
        self.passed.iter().any(|passed| shows.contains(passed))
    }

    /// Whether it passed with a change that it cannot pass, or did not run.
    fn is_doubted(&self) -> bool {
        matches!(self.state, State::Missing | State::Void)
            || self.lets_pass(&[Shows::Value, Shows::OtherKind, Shows::Opposite])
    }

    /// The first way in which it was changed and passed.
    fn strongest_way(&self) -> usize {
        let is_first = self.passed.iter().any(|shows| Some(*shows) == self.place.shows(0));
        if is_first { 0 } else { self.way }
    }

    fn is_doubtful(&self) -> bool {
        self.state == State::Passes && !self.failed_before && self.place.is_always
    }

    /// Whether one of the names is that of this test.
    fn is_among(&self, path: &str, reported_as: &[String], names: &ReportedNames<'_>) -> bool {
        reported_as.iter().any(|whole| names.all().contains(&whole.as_str()))
            || names.of(&self.name).any(|reported| !self.is_told || mentions(path, reported))
    }

    /// Whether a name that a runner prints is that of this test.
    fn is_in(&self, path: &str, reported_as: &[String], reported: &str) -> bool {
        reported_as.iter().any(|whole| whole == reported)
            || (is_reported_as(reported, &self.name) && (!self.is_told || mentions(path, reported)))
    }
}

#[cfg(test)]
#[path = "tripwire_tests.rs"]
mod tests;
