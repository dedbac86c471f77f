use super::*;

#[test]
fn new_files_and_lock_files_are_no_work_that_moved() {
    let change = |path: &str, kind| Change { path: path.into(), kind };
    let changes = vec![
        change("coverage.xml", ChangeKind::Added),
        change("web/package-lock.json", ChangeKind::Modified),
        change("tests/.phpunit.result.cache", ChangeKind::Modified),
        change("src/lib.rs", ChangeKind::Modified),
        change("notes.txt", ChangeKind::Deleted),
    ];
    assert_eq!(moved_work(changes), ["src/lib.rs", "notes.txt"]);
}

#[test]
fn only_passing_checks_that_changed_the_work_run_again() {
    let moved = ["src/lib.rs".to_owned()];
    let undone = Tamper::new("tests/a.py", ralph_model::TamperKind::Changed);
    let kept = Tamper::new("node_modules/jest/index.js", ralph_model::TamperKind::Installed);
    assert!(needs_another_run(&moved, &[], &[undone]));
    assert!(!needs_another_run(&[], &[], &[]), "nothing moved");
    assert!(!needs_another_run(&moved, &[], &[kept]), "somebody else may have changed the work");
}

#[test]
fn checks_leave_tests_and_steering_alone_and_write_data_again() {
    let pin = |kind| Pin { glob: "x".into(), kind, why: String::new() };
    let cases = [
        ("tests/test_a.py", Some(PinKind::Frozen), true),
        ("tests/real.sh", Some(PinKind::Frozen), true),
        ("tests/run", Some(PinKind::Frozen), true),
        ("tests/__snapshots__/a.snap", Some(PinKind::Frozen), false),
        ("tests/fixtures/golden.json", Some(PinKind::Frozen), false),
        ("jest.config.js", Some(PinKind::Steering), true),
        ("pytest.ini", Some(PinKind::Steering), true),
        ("web/package-lock.json", Some(PinKind::Steering), false),
        ("src/lib.rs", Some(PinKind::Parts), false),
        ("src/app.py", None, false),
    ];
    for (path, kind, expected) in cases {
        assert_eq!(is_left_alone(path, kind.map(pin).as_ref()), expected, "{path}");
    }
}
