use super::*;

#[test]
fn new_files_and_lock_files_are_no_work_that_moved() {
    let change = |path: &str, kind| Change { path: path.into(), kind };
    let changes = vec![
        change("coverage.xml", ChangeKind::Added),
        change("web/package-lock.json", ChangeKind::Modified),
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
