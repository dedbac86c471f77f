//! Compares the tests of two runs. Runs nothing, and does not know which run should have passed.
//!
//! Names are compared where both runs have them, numbers where names do not say enough. What counts as a name:
//!
//! - a test: `tests::discount`, `tests/test_cart.py::test_discount`, `cart.test.js > cart > discount`;
//! - a whole file, where a runner shows files only: `tests/test_cart.py`, `cart.test.js`;
//! - a whole package of Go: `package example.com/shop/cart`.
//!
//! Some runners show the tests of a file at times only: jest when there is but one file. So a test is not missed as long as
//! its file is named as a whole and no test of it is. And some name a whole only when it fails as one, such as a file that
//! cannot be loaded: a whole is not missed where parts of it are named.

use std::collections::BTreeSet;
use std::path::Path;

use ralph_model::{CheckOutcome, Shrunk, TestTally};

use crate::expected::DefinedTests;
use crate::tripwire::{ReportedNames, is_whole_of};

pub const PACKAGE: &str = "package ";
/// What stands between the name of a test and the number of its copy, where a runner prints one name several times.
pub const COPY: &str = " #";

/// What stands between the name of a whole and the name of a part of it.
const SEPARATORS: [&str; 5] = [" > ", " › ", "::", ".", "/"];

/// What is missing now of the tests that ran before, or nothing.
///
/// A test that ran before and is skipped now is missing: names and numbers are of tests that ran. More tests, or other
/// ones besides, are fine. `now` is nothing when no runner was recognised in the output, which counts as no test at all.
///
/// Ask this of a run that would otherwise pass. Most runners stop early when something is wrong, so that a run that fails
/// anyway has good reasons to show fewer tests.
///
/// `excused` are names that may be missing. `moved` are pairs of an old and a new start of names, such as `cart::tests::`
/// and `shop::cart::tests::`: a test is not missing when it ran under its new name.
///
/// Numbers are not compared where they count other things than tests: plain `go test` prints packages that passed but
/// tests that failed.
pub fn compare(
    before: &TestTally,
    now: Option<&TestTally>,
    excused: &[String],
    moved: &[(String, String)],
) -> Option<Shrunk> {
    let nothing = TestTally::default();
    let now = now.unwrap_or(&nothing);
    let (ran_before, ran_now) = (tests(before), tests(now));
    let may_miss = |name: &str| excused.iter().any(|excused| excused == original(name));
    let missing = if names_tell(before) && names_tell(now) { missing(before, now, moved) } else { vec![] };
    let (excused_missing, missing): (Vec<&str>, Vec<&str>) = missing.into_iter().partition(|name| may_miss(name));
    // Where no names were printed this time, every excused test may be among those that did not run.
    let excused_missing = match names_tell(now) {
        true => excused_missing.len(),
        false if names_tell(before) => before.names.iter().filter(|name| may_miss(name)).count(),
        false => excused.len(),
    };
    let wanted = ran_before.saturating_sub(u32::try_from(excused_missing).unwrap_or(u32::MAX));
    let fewer = ran_now < wanted && (ran_now == 0 || (numbers_tell(before) && !names_are_complete(before, now)));
    if missing.is_empty() && !fewer {
        return None;
    }
    let missing = missing.into_iter().take(Shrunk::MAX_NAMES).map(str::to_owned).collect();
    Some(Shrunk { before: ran_before, now: ran_now, missing })
}

/// Tests that files define and that did not run, where the files could not be loaded at the start: then no name is known but
/// those in the sources. Only files of which a test is named now, or that a runner listed, are compared. Where the first run was
/// cut short, so are the files of which it did not name every test.
#[must_use]
pub fn compare_defined(before: Option<&TestTally>, now: &TestTally, defined: &[DefinedTests]) -> Option<Shrunk> {
    if !names_tell(now) || now.names.iter().all(|name| is_whole(name)) {
        return None;
    }
    let (ran_now, ran_before) = (index(now), before.map(index).unwrap_or_default());
    let ran = |name: &String| ran_now.of(name).next().is_some();
    let listed = defined.iter().filter(|file| file.is_listed).map(|file| file.names.len()).sum();
    let was_not_loaded = |file: &DefinedTests| match before {
        None => true,
        Some(before) => {
            ran_nothing(before)
                || before.failing.iter().any(|name| is_whole_of(name, &file.path))
                || (file.is_listed
                    && is_cut_short(before, listed)
                    && file.names.iter().any(|name| ran_before.of(name).next().is_none()))
        }
    };
    let mut missing: Vec<String> = Vec::new();
    for DefinedTests { path, names, is_listed } in defined.iter().filter(|file| was_not_loaded(file)) {
        if *is_listed || names.iter().any(ran) {
            missing.extend(names.iter().filter(|name| !ran(name)).map(|name| format!("{path} > {name}")));
        }
    }
    missing.truncate(Shrunk::MAX_NAMES);
    let all = defined.iter().map(|file| file.names.len()).sum::<usize>();
    let before = u32::try_from(all).unwrap_or(u32::MAX);
    (!missing.is_empty()).then_some(Shrunk { before, now: tests(now), missing })
}

fn index(tally: &TestTally) -> ReportedNames<'_> {
    ReportedNames::new(tally.names.iter().map(String::as_str).collect())
}

/// Whether a run counted fewer tests, skipped ones among them, than runners listed: it stopped early.
#[must_use]
pub fn is_cut_short(tally: &TestTally, listed: usize) -> bool {
    usize::try_from(tally.passed.saturating_add(tally.failed).saturating_add(tally.skipped))
        .is_ok_and(|ran| ran < listed)
}

/// What is missing when no test at all runs any more.
pub fn nothing_left(before: &TestTally) -> Shrunk {
    Shrunk { before: tests(before), now: 0, missing: Vec::new() }
}

/// Whether a runner was seen and ran no test.
pub fn ran_nothing(tally: &TestTally) -> bool {
    tests(tally) == 0
}

/// Drops the names of all tests that ran: only those of the first run are kept.
pub fn forget_names(outcome: &mut CheckOutcome) {
    if let Some(tests) = &mut outcome.tests {
        tests.names = Vec::new();
    }
}

/// Takes the folder of the checks out of names: they may run in another one the next time.
pub fn make_relative(tally: &mut TestTally, directory: &Path) {
    let Some(prefix) = directory.to_str().map(|directory| format!("{}/", directory.trim_end_matches('/'))) else {
        return;
    };
    for names in [&mut tally.names, &mut tally.failing] {
        let mut changed = false;
        for name in names.iter_mut().filter(|name| name.contains(&prefix)) {
            *name = name.replace(&prefix, "");
            changed = true;
        }
        if changed {
            names.sort_unstable();
            names.dedup();
        }
    }
}

/// How many tests ran. A package that could not be built is counted as failing and is no test.
fn tests(tally: &TestTally) -> u32 {
    let packages = tally.failing.iter().filter(|name| name.starts_with(PACKAGE)).count();
    let counted = tally.passed.saturating_add(tally.failed);
    counted.saturating_sub(u32::try_from(packages).unwrap_or(u32::MAX))
}

const fn names_tell(tally: &TestTally) -> bool {
    !tally.names.is_empty() && tally.names.len() < TestTally::MAX_TESTS
}

fn numbers_tell(tally: &TestTally) -> bool {
    !tally.names.iter().any(|name| name.starts_with(PACKAGE))
}

/// Whether every test that was counted before has a name and both runs show names of tests: then a lower number means
/// only that something was counted twice, such as each failing part of one test.
fn names_are_complete(before: &TestTally, now: &TestTally) -> bool {
    let named: BTreeSet<&str> = before.names.iter().map(String::as_str).collect();
    let of_tests = |tally: &TestTally| tally.names.iter().filter(|name| !is_whole(name)).count();
    let unnamed = before.failing.iter().filter(|name| !named.contains(name.as_str())).count();
    let counted = usize::try_from(tests(before)).unwrap_or(usize::MAX);
    names_tell(before) && names_tell(now) && of_tests(now) > 0 && of_tests(before) >= counted.saturating_sub(unnamed)
}

/// What stands between the file and the title of a test of AVA.
const FILE: &str = " › ";

/// Names of the one that the other does not have.
fn missing<'a>(before: &'a TestTally, now: &TestTally, moved: &[(String, String)]) -> Vec<&'a str> {
    let named: BTreeSet<&str> = now.names.iter().map(String::as_str).collect();
    let begins = |start: String| named.range(start.as_str()..).next().is_some_and(|name| name.starts_with(&start));
    let has_parts = |name: &str| SEPARATORS.iter().any(|separator| begins(format!("{name}{separator}")));
    let is_there = |name: &str| {
        named.contains(name)
            || has_parts(name)
            || file(name).is_some_and(|file| named.contains(file) && !has_parts(file))
            || moved.iter().any(|(old, new)| runs_elsewhere(name, old, new, &named))
    };
    // A parameter more changes the names of all cases of a test: `test_add[1-2]` is `test_add[1-2-None]` now.
    let has_case = |name: &str| {
        let Some((test, case)) = case_of(name) else { return false };
        let (first, last) = (format!("{test}[{case}-"), format!("-{case}]"));
        now.names.iter().any(|name| name.starts_with(&first) || (name.starts_with(test) && name.ends_with(&last)))
    };
    // A file that could not be loaded is no test: where tests are named without their files, its own are among them.
    let was_not_loaded = |name: &str| {
        is_file(name)
            && before.failing.iter().any(|failing| failing == name)
            && !now.names.iter().any(|name| is_whole(name) || file(name).is_some())
            && tests(now) >= tests(before)
    };
    // Some scripts say more about a test when it fails: `adds: -1 instead of 5`.
    let says_more = |name: &str| {
        let starts = [": ", " - ", " (", ", "].into_iter().filter_map(|mark| name.find(mark)).map(|end| &name[..end]);
        before.failing.iter().any(|failing| failing == name)
            && starts.into_iter().any(|start| !is_file(start) && named.contains(start))
    };
    // AVA names the files of tests as soon as there are several.
    let has_file = now.names.iter().all(|name| name.contains(FILE)) && !before.names.iter().any(|it| it.contains(FILE));
    let now_in_file = |name: &str| {
        has_file && now.names.iter().any(|now| now.strip_suffix(name).is_some_and(|it| it.ends_with(FILE)))
    };
    let is_known = |name: &&str| is_there(name) || says_more(name) || has_case(name) || was_not_loaded(name);
    before.names.iter().map(String::as_str).filter(|name| !is_known(name) && !now_in_file(name)).collect()
}

fn case_of(name: &str) -> Option<(&str, &str)> {
    let (test, rest) = name.split_once('[')?;
    rest.strip_suffix(']').filter(|_| !test.contains(' ')).map(|case| (test, case))
}

/// Whether a test ran under a name that starts otherwise.
fn runs_elsewhere(name: &str, old: &str, new: &str, named: &BTreeSet<&str>) -> bool {
    let renamed = |name: &str| name.strip_prefix(old).map(|rest| format!("{new}{rest}"));
    if let Some((file, item)) = name.split_once(" - ")
        && file.ends_with(".rs")
    {
        // A doc test has its file before the name of what it explains, and that moved as well.
        return renamed(item).is_some_and(|item| {
            named
                .iter()
                .any(|name| name.split_once(" - ").is_some_and(|(file, it)| file.ends_with(".rs") && it == item))
        });
    }
    // nextest puts the test binary before the name.
    let in_binary = |(binary, test): (&str, &str)| Some(format!("{binary} {}", renamed(test)?));
    [renamed(name), name.split_once(' ').and_then(in_binary)]
        .into_iter()
        .flatten()
        .any(|name| named.contains(name.as_str()))
}

/// The file that a test is in, where its name says so.
fn file(name: &str) -> Option<&str> {
    let end = [" > ", "::"].into_iter().filter_map(|separator| name.find(separator)).min()?;
    Some(&name[..end]).filter(|file| is_file(file))
}

/// Whether a name is of a whole file or package.
pub fn is_whole(name: &str) -> bool {
    name.starts_with(PACKAGE) || is_file(name)
}

/// Whether a text looks like the path of a file with tests.
fn is_file(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let extension = last.rsplit_once('.').map(|(_, extension)| extension);
    !name.contains(" > ")
        && !name.contains("::")
        && extension.is_some_and(|extension| {
            ["py", "js", "jsx", "cjs", "mjs", "ts", "tsx", "cts", "mts", "vue", "svelte"].contains(&extension)
        })
}

/// The name without the number of its copy.
fn original(name: &str) -> &str {
    match name.rsplit_once(COPY) {
        Some((original, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => original,
        _ => name,
    }
}
