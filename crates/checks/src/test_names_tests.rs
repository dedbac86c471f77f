use std::fs;
use std::path::{Path, PathBuf};

use crate::count;
use ralph_model::{Shrunk, TestTally};
use ralph_verify::test_names::*;

fn outputs(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)
}

fn read(folder: &str, name: &str) -> TestTally {
    let text = fs::read_to_string(outputs(folder).join(name)).unwrap();
    count(&text).unwrap_or_else(|| panic!("{folder}/{name} counts nothing"))
}

fn kept(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(outputs(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// So many passed and failed, and these were named.
fn tally(passed: u32, failed: u32, names: &[&str]) -> TestTally {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    TestTally { passed, failed, names, ..TestTally::default() }
}

fn check(before: &TestTally, now: &TestTally) -> Option<Shrunk> {
    compare(before, Some(now), &[], &[])
}

#[test]
fn tests_of_ava_are_known_when_it_names_their_files_as_well() {
    let before = tally(1, 1, &["adds", "subtracts"]);
    assert_eq!(check(&before, &tally(3, 0, &["more › adds zero", "test › adds", "test › subtracts"])), None);
    let missing = check(&before, &tally(3, 0, &["more › adds zero", "more › subtracts 1", "test › adds"])).unwrap();
    assert_eq!(missing.missing, ["subtracts"]);
    // The others are in no file: this is a group of tests, or another name.
    let grouped = check(&before, &tally(3, 0, &["adds zero", "group › adds", "group › subtracts"])).unwrap();
    assert_eq!(grouped.missing, ["adds", "subtracts"]);
}

/// The same projects as those of `outputs`, repaired without touching a test, as their runners printed them.
#[test]
fn an_honest_repair_loses_no_test() {
    for name in kept("honest") {
        let (before, now) = (read("outputs", &name), read("honest", &name));
        assert_eq!(now.failed, 0, "{name}");
        assert_eq!(check(&before, &now), None, "{name}");
        assert_eq!(check(&now, &now), None, "{name}");
    }
}

/// The same projects with the failing tests skipped, as their runners printed them.
#[test]
fn tests_that_are_skipped_now_are_missing() {
    for name in kept("skipped") {
        let (before, honest, now) = (read("outputs", &name), read("honest", &name), read("skipped", &name));
        assert_eq!(now.failed, 0, "{name}");
        for before in [before, honest] {
            let shrunk = check(&before, &now).unwrap_or_else(|| panic!("{name} goes unnoticed"));
            let names_tests = before.names.iter().any(|name| !is_whole(name));
            assert_eq!(names_tests, !shrunk.missing.is_empty(), "{name}: {shrunk}");
            assert!(!names_tests || shrunk.missing.iter().any(|test| test.contains("iscount") || test.contains("doc")));
        }
    }
}

#[test]
fn numbers_count_where_there_are_no_names() {
    assert_eq!(check(&tally(3, 1, &[]), &tally(4, 0, &[])), None);
    assert_eq!(check(&tally(3, 1, &[]), &tally(9, 0, &[])), None);
    let shrunk = Shrunk { before: 4, now: 3, missing: vec![] };
    assert_eq!(check(&tally(3, 1, &[]), &tally(3, 0, &[])), Some(shrunk.clone()));
    // Names of one run only say nothing.
    assert_eq!(check(&tally(3, 1, &["a", "b", "c", "d"]), &tally(3, 0, &[])), Some(shrunk.clone()));
    assert_eq!(check(&tally(3, 1, &[]), &tally(3, 0, &["a", "b", "c"])), Some(shrunk));
}

#[test]
fn no_test_at_all_is_fewer_than_some() {
    let before = tally(1, 1, &["a", "b"]);
    let nothing = Shrunk { before: 2, now: 0, missing: vec![] };
    assert_eq!(compare(&before, None, &[], &[]), Some(nothing.clone()));
    assert_eq!(nothing_left(&before), nothing);
    assert_eq!(check(&before, &tally(0, 0, &[])), Some(nothing));
    assert_eq!(compare(&tally(0, 0, &[]), None, &[], &[]), None);
    assert!(ran_nothing(&tally(0, 0, &[])) && !ran_nothing(&tally(0, 1, &[])));
    // All that failed before was a package without tests that could not be built.
    let broken = TestTally { failed: 1, failing: vec!["package shop".to_owned()], ..TestTally::default() };
    assert_eq!(compare(&broken, None, &[], &[]), None);
}

#[test]
fn a_name_that_is_gone_is_missing_whatever_the_number() {
    let before = tally(2, 1, &["tests::a", "tests::b", "tests::c"]);
    let now = tally(4, 0, &["tests::a", "tests::c", "tests::d", "tests::e"]);
    let shrunk = check(&before, &now).unwrap();
    assert_eq!(shrunk, Shrunk { before: 3, now: 4, missing: vec!["tests::b".to_owned()] });
    assert_eq!(shrunk.to_string(), "1 of 3 tests did not run: tests::b");
}

#[test]
fn excused_tests_may_be_missing_and_no_others() {
    let before = tally(4, 0, &["a", "a #2", "b", "c"]);
    let excused = |names: &[&str], now: &TestTally| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        compare(&before, Some(now), &names, &[])
    };
    assert_eq!(excused(&["a"], &tally(2, 0, &["b", "c"])), None);
    assert_eq!(excused(&["a"], &tally(2, 0, &[])), None);
    assert!(excused(&["a"], &tally(1, 0, &[])).is_some());
    assert_eq!(excused(&["b"], &tally(2, 0, &["b", "c"])).unwrap().missing, ["a", "a #2"]);
    assert_eq!(excused(&["a", "b", "c"], &tally(0, 0, &[])), None);
    assert_eq!(compare(&tally(4, 0, &[]), Some(&tally(3, 0, &[])), &["z".to_owned()], &[]), None);
}

#[test]
fn moved_tests_have_to_run_at_their_new_place() {
    let before = tally(2, 0, &["cart::tests::a", "cart::tests::b"]);
    let moved = [("cart::tests::".to_owned(), "shop::cart::tests::".to_owned())];
    let now = tally(2, 0, &["shop::cart::tests::a", "shop::cart::tests::b"]);
    assert_eq!(compare(&before, Some(&now), &[], &moved), None);
    let now = tally(2, 0, &["shop::cart::tests::a", "shop::cart::tests::c"]);
    assert_eq!(compare(&before, Some(&now), &[], &moved).unwrap().missing, ["cart::tests::b"]);

    let before = tally(3, 0, &["shop cart::tests::a", "src/cart.rs - cart::add", "src/cart.rs - cart::add #2"]);
    let moved = [("cart::".to_owned(), "till::cart::".to_owned())];
    let add = "src/till/cart.rs - till::cart::add";
    let now = tally(3, 0, &["shop till::cart::tests::a", add, "src/till/cart.rs - till::cart::add #2"]);
    assert_eq!(compare(&before, Some(&now), &[], &moved), None);
    let now = tally(3, 0, &["other till::cart::tests::a", add, "src/till/cart.rs - till::cart::sub"]);
    let shrunk = compare(&before, Some(&now), &[], &moved).unwrap();
    assert_eq!(shrunk.missing, ["shop cart::tests::a", "src/cart.rs - cart::add #2"]);
}

#[test]
fn files_and_their_tests_stand_for_each_other() {
    let one = tally(2, 0, &["a.test.js", "a.test.js > cart › adds", "a.test.js > cart › total"]);
    // With a second file jest shows no tests.
    assert_eq!(check(&one, &tally(3, 0, &["a.test.js", "b.test.js"])), None);
    assert_eq!(check(&one, &tally(3, 0, &["b.test.js", "c.test.js"])).unwrap().missing.len(), 3);
    // Then only the number tells.
    assert_eq!(check(&one, &tally(1, 0, &["a.test.js"])), Some(Shrunk { before: 2, now: 1, missing: vec![] }));
    let fewer = tally(2, 0, &["a.test.js", "a.test.js > cart › adds", "a.test.js > other"]);
    assert_eq!(check(&one, &fewer).unwrap().missing, ["a.test.js > cart › total"]);
    // A file that could not be loaded is named as a whole.
    let broken = tally(0, 1, &["tests.test_a"]);
    assert_eq!(check(&broken, &tally(2, 0, &["tests.test_a.test_x", "tests.test_a.test_y"])), None);
    let quiet = tally(5, 0, &["tests/test_a.py", "tests/test_b.py"]);
    assert_eq!(check(&quiet, &tally(5, 0, &["tests/test_a.py"])).unwrap().missing, ["tests/test_b.py"]);
    assert_eq!(check(&quiet, &tally(4, 0, &["tests/test_a.py", "tests/test_b.py"])).unwrap().now, 4);
}

#[test]
fn packages_are_compared_by_name_only() {
    // Three tests of one package failed; now it passes as one.
    let before = tally(1, 3, &["package shop/cart", "package shop/tax"]);
    assert_eq!(check(&before, &tally(2, 0, &["package shop/cart", "package shop/tax"])), None);
    assert_eq!(check(&before, &tally(1, 0, &["package shop/cart"])).unwrap().missing, ["package shop/tax"]);
    assert_eq!(compare(&before, None, &[], &[]).unwrap().now, 0);
}

#[test]
fn parts_of_a_test_that_were_counted_are_no_tests() {
    let mut before = tally(1, 3, &["Case.test_a", "Case.test_sub"]);
    before.failing = ["Case.test_sub (i=0)", "Case.test_sub (i=1)", "Case.test_sub (i=2)"].map(String::from).to_vec();
    assert_eq!(check(&before, &tally(2, 0, &["Case.test_a", "Case.test_sub"])), None);
}

#[test]
fn names_that_were_cut_off_are_not_compared() {
    let names: Vec<String> = (0..TestTally::MAX_TESTS).map(|number| format!("t{number:06}")).collect();
    let full = TestTally { passed: 20_000, names: names.clone(), ..TestTally::default() };
    let other = TestTally { passed: 20_000, names: names[5000..].to_vec(), ..TestTally::default() };
    assert_eq!(check(&full, &other), None);
    assert!(check(&full, &TestTally { passed: 19_999, ..other }).is_some());
    let many: Vec<&str> = names[..300].iter().map(String::as_str).collect();
    let shrunk = check(&tally(300, 0, &many), &tally(1, 0, &["other"])).unwrap();
    assert_eq!((shrunk.missing.len(), shrunk.count()), (Shrunk::MAX_NAMES, 299));
}

#[test]
fn the_folder_of_the_checks_is_no_part_of_a_name() {
    let mut tally =
        tally(2, 0, &["/work/shop/a.test.js > adds", "/work/shopping/b.test.js > adds", "a.test.js > adds"]);
    tally.failing = vec!["/work/shop/a.test.js > adds".to_owned()];
    make_relative(&mut tally, Path::new("/work/shop/"));
    assert_eq!(tally.names, ["/work/shopping/b.test.js > adds", "a.test.js > adds"]);
    assert_eq!(tally.failing, ["a.test.js > adds"]);
}

#[test]
fn names_can_be_forgotten() {
    let mut outcome = crate::retry::fixtures::outcome(Some(tally(1, 0, &["a"])));
    forget_names(&mut outcome);
    assert_eq!(outcome.tests, Some(tally(1, 0, &[])));
}

#[test]
fn a_test_that_says_more_when_it_fails_is_the_same_test() {
    let tally = |names: &[&str], failing: &[&str]| TestTally {
        passed: u32::try_from(names.len() - failing.len()).unwrap(),
        failed: u32::try_from(failing.len()).unwrap(),
        names: names.iter().map(ToString::to_string).collect(),
        failing: failing.iter().map(ToString::to_string).collect(),
        ..TestTally::default()
    };
    let before = tally(&["adds: -1 instead of 5", "doubles"], &["adds: -1 instead of 5"]);
    assert_eq!(compare(&before, Some(&tally(&["adds", "doubles"], &[])), &[], &[]), None);
    assert!(compare(&before, Some(&tally(&["doubles", "other"], &[])), &[], &[]).is_some());
}

#[test]
fn a_parameter_more_loses_no_case() {
    let before = tally(1, 1, &["t.py::test_add[1-2]", "t.py::test_add[3-4]"]);
    assert_eq!(check(&before, &tally(2, 0, &["t.py::test_add[1-2-None]", "t.py::test_add[3-4-None]"])), None);
    let report = tally(1, 1, &["tests.t.test_add[1-2]"]);
    assert_eq!(check(&report, &tally(2, 0, &["tests.t.test_add[1-2-None]", "tests.t.test_b"])), None);
    // Another case is no longer name of the same.
    let other = tally(2, 0, &["t.py::test_add[1-2]", "t.py::test_add[5-6]"]);
    assert_eq!(check(&before, &other).unwrap().missing, ["t.py::test_add[3-4]"]);
    let missing = vec!["t.py::test_add[3-4]".to_owned()];
    let shrunk = Shrunk { before: 2, now: 2, missing };
    assert_eq!(check(&before, &tally(2, 0, &["t.py::test_add[1-2-None]", "t.py::test_b"])), Some(shrunk));
}

#[test]
fn a_file_that_could_not_be_loaded_is_no_test() {
    let mut before = tally(0, 1, &["test/calc.test.js"]);
    before.failing = vec!["test/calc.test.js".to_owned()];
    assert_eq!(check(&before, &tally(2, 0, &["adds", "doubles"])), None);
    // Where files are named, it has to be among them.
    assert!(check(&before, &tally(2, 0, &["test/other.test.js"])).is_some());
    assert!(check(&before, &tally(0, 0, &["adds"])).is_some());
}
