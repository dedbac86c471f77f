//! Expectations are looked for, not asked about.

use ralph_testkit::{Repo, Script, Step};

use super::{all_done, assert_end, checked, three_failing, unchecked};
use crate::harness::{User, run_words_with};

const COMMIT: &str = "git add -A && git -c user.name=Agent -c user.email=a@example.invalid commit -qm work";

/// A loop whose checks pass at once and whose expectation is met by the second iteration only.
fn met_second(repo: &Repo, expectation: &str, first: Vec<Step>, second: Vec<Step>, line: &str) {
    let user = User::new();
    let prompts = user.home().join("prompts");
    let script = Script::new().run([vec![all_done()], first].concat()).run(second).save_prompts(&prompts);
    let ended = checked(&user, repo, script, 4, &["--expect", expectation]).ok();
    let result = ended.json();
    assert_end(&result, "COMPLETED", None, 2);
    assert_eq!(result["verified"], true);
    let told = std::fs::read_to_string(prompts.join("prompt-2.txt")).unwrap();
    assert!(told.contains(line), "{line:?} is not in\n{told}");
    assert!(told.contains("Status: PARTIAL"), "{told}");
    assert!(ended.stderr.contains("something expected is missing"), "{}", ended.stderr);
}

#[test]
fn a_commit() {
    let line = "  - [MISSING] commit: no commit created";
    met_second(&three_failing(), "commit", vec![], vec![Step::run(COMMIT)], line);
}

#[test]
fn a_clean_tree() {
    let line = "  - [MISSING] clean-tree: uncommitted changes are left";
    met_second(&three_failing(), "clean-tree", vec![], vec![Step::run(COMMIT)], line);
}

#[test]
fn a_file() {
    let line = "  - [MISSING] file:docs/*.md: no file that matches docs/*.md was added or changed";
    let step = Step::write("docs/guide.md", "Guide\n");
    met_second(&three_failing(), "file:docs/*.md", vec![Step::write("guide.md", "")], vec![step], line);
}

#[test]
fn a_command() {
    let second = vec![Step::write("proof", "yes\n")];
    met_second(
        &three_failing(),
        "command:grep -q yes proof",
        vec![],
        second,
        "  - [MISSING] command:grep -q yes proof: ",
    );
}

#[test]
fn a_tool_call_that_the_agent_reports() {
    let report = |tool: &str, success: bool| {
        Step::ReportText(format!(
            r#"{{"costUSD": 0, "toolEvidence": [{{"tool": "{tool}", "success": {success}, "summary": "s"}}]}}"#
        ))
    };
    let line = "  - [MISSING] tool:git_commit: git_commit was called and did not succeed";
    let (first, second) = (vec![report("git_commit", false)], vec![report("git_commit", true)]);
    met_second(&three_failing(), "tool:git_commit", first, second, line);
    let line = "  - [MISSING] tool:git_commit: git_commit was not called";
    let (first, second) = (vec![report("fs_edit", true)], vec![report("git_commit", true)]);
    met_second(&three_failing(), "tool:git_commit", first, second, line);
}

#[test]
fn a_claim_without_checks_is_held_against_expectations() {
    let (user, repo) = (User::new(), Repo::init());
    let script = Script::new().run([Step::claim()]).run([Step::write("answer.txt", "42"), Step::claim()]);
    let result = unchecked(&user, &repo, script, 4, &["--expect", "file:answer.txt"]).ok().json();
    assert_end(&result, "COMPLETED", None, 2);
    assert_eq!(result["verified"], false, "an expectation is no check");
}

#[test]
fn a_clean_tree_outside_of_git_is_never_met() {
    let (user, repo) = (User::new(), Repo::plain());
    repo.write("check.sh", super::CHECK);
    let result =
        checked(&user, &repo, Script::new().run([all_done()]), 1, &["--expect", "clean-tree"]).with_code(10).json();
    assert_eq!(result["verified"], false);
}

#[test]
fn open_items_of_the_objectives_own_file() {
    let user = User::new();
    let prompts = user.home().join("prompts");
    let run = |more: &[&str]| {
        let repo = three_failing();
        repo.write("TASKS.md", "Plan\n\n- [ ] parse\n- [ ] print\n- [x] read\n");
        let script = Script::new()
            .run([all_done(), Step::write("TASKS.md", "- [x] parse\n")])
            .run([Step::write("TASKS.md", "- [x] parse\n- [x] print in colour\n")])
            .save_prompts(&prompts);
        let file = ["--unmetered", "--criteria", "sh check.sh", "--objective-file", "TASKS.md"];
        let mut words = run_words_with(&user.agent(script), 4, &[&file, more].concat());
        // The file has the objective.
        words.remove(1);
        user.ralph(repo.path(), words).ok()
    };
    let ended = run(&[]);
    assert_end(&ended.json(), "COMPLETED", None, 2);
    assert!(ended.stderr.contains("task list: 1 of 2 done; open: print"), "{}", ended.stderr);
    let told = std::fs::read_to_string(prompts.join("prompt-2.txt")).unwrap();
    assert!(told.contains("  - [MISSING] checklist:TASKS.md: 1 of 2 done; open: print"), "{told}");
    assert!(told.contains("Tick each item of the task list in TASKS.md"), "{told}");
    assert_end(&run(&["--no-checklist"]).json(), "COMPLETED", None, 1);
}
