use std::path::PathBuf;

use ralph_model::{AgentSpec, Money, Runner};

use super::*;
use crate::style::Look;

#[test]
fn files_are_listed_as_git_would_see_them_and_hidden_ones_too() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, content: &str| {
        let path: PathBuf = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    write(".gitignore", "target/\n");
    write(".github/workflows/ci.yml", "on: push\n");
    write("target/debug/app", "");
    write(".git/HEAD", "");
    write(".ralph/LEDGER.md", "");
    write("src/lib.rs", "");
    assert_eq!(files(root.path()), [".github/workflows/ci.yml", ".gitignore", "src/lib.rs"]);
}

#[test]
fn the_text_names_checks_pins_and_what_is_not_pinned() {
    let agent = AgentSpec { unmetered: true, ..AgentSpec::command("helper", "./helper") };
    let config = LoopConfig {
        verification_commands: vec!["cargo test".into()],
        allowed_test_changes: vec!["**/*.snap".into()],
        ..LoopConfig::new("Fix it".into(), 5, Money::dollars(1), agent, "/work".into())
    };
    let pin = Pin { glob: "tests/**/*.rs".into(), kind: PinKind::Frozen, why: "test files".into() };
    let plan = Plan {
        pins: vec![pin],
        runners: vec!["cargo test".into()],
        notes: vec!["main.rs is named by the check and looks like source: not protected".into()],
        files: 1,
        examples: vec!["tests/a.rs".into()],
    };
    let listing = |runner, command: &str, files: &[&str], failed: &str| TestListing {
        runner,
        command: command.into(),
        tests: files.iter().map(|file| ((*file).to_owned(), vec!["adds".to_owned()])).collect(),
        failed: failed.into(),
    };
    let listings = [
        listing(Runner::Pytest, "pytest --collect-only", &["checks/a.py", "checks/b.py"], ""),
        listing(Runner::Jest, "jest --listTests", &[], "exit code 1"),
        listing(Runner::Unittest, "", &[], "it cannot be asked"),
    ];
    let text = text(&config, &plan, &listings, "landlock v7 (files)").lines(Look::PLAIN).join("\n");
    for part in [
        "check       cargo test",
        "guarded: in the workspace",
        "tests/**/*.rs  frozen  test files",
        "sandbox     landlock v7 (files)",
        "**/*.snap may change",
        "note        main.rs is named",
        "pytest lists 2 tests in 2 files (checks/a.py, checks/b.py)",
        "jest did not list its tests (`jest --listTests`: exit code 1)",
        "unittest cannot list its tests",
        "No agent and no check was started",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}
