//! Every fixture fails as it is and passes with its patch.

use std::process::Output;

use ralph_testkit::{Fixture, Repo};

#[test]
fn shell() {
    red_then_green("fixable-bug/shell", "not ok 3", "ok 1 - one word");
}

#[test]
fn python() {
    red_then_green("fixable-bug/python", "FAILED (failures=1)", "test_nothing");
}

#[test]
fn rust() {
    red_then_green("fixable-bug/rust", "test subtracts_a_smaller_sign ... FAILED", "test adds_signs ... ok");
}

#[test]
fn javascript() {
    red_then_green("fixable-bug/javascript", "amounts of several digits", "one unit");
}

#[test]
fn none_is_without_a_test_here() {
    let names: Vec<_> = Fixture::ALL.iter().map(|fixture| fixture.name).collect();
    assert_eq!(names, ["fixable-bug/shell", "fixable-bug/python", "fixable-bug/rust", "fixable-bug/javascript"]);
    let folders = std::fs::read_dir(Fixture::ALL[0].folder().parent().unwrap()).unwrap();
    assert_eq!(folders.count(), names.len());
}

#[test]
#[should_panic(expected = "there is no fixture fixable-bug/cobol; there are fixable-bug/shell, fixable-bug/python")]
fn an_unknown_one_is_named() {
    let _ = Repo::fixture("fixable-bug/cobol");
}

fn red_then_green(name: &str, failing: &str, passing: &str) {
    let repo = Repo::fixture(name);
    assert!(!repo.exists("fix.patch"), "the project must not hold its own answer");
    assert!(repo.read("README.md").contains(repo.test_command()), "the README names another command");

    let before = repo.shell(repo.test_command());
    assert_eq!(before.status.code().map(|code| code != 0 && code < 126), Some(true), "{}", text(&before));
    assert!(text(&before).contains(failing), "{}", text(&before));
    assert!(text(&before).contains(passing), "{}", text(&before));
    assert_eq!(repo.git(["status", "--porcelain"]), "", "running the tests must not look like a change");

    let fix = repo.shell(&repo.fix_command());
    assert!(fix.status.success(), "{}", text(&fix));
    let changed = repo.git(["diff", "--name-only"]);
    assert_eq!(changed.lines().count(), 1, "one bug in one file: {changed}");
    assert!(!changed.contains("test"), "the fix is not in the tests: {changed}");

    let after = repo.shell(repo.test_command());
    assert!(after.status.success(), "{}", text(&after));
    assert!(text(&after).contains(passing), "{}", text(&after));
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
