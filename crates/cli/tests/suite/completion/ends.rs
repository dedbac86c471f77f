//! Loops that end without success.

use std::time::Duration;

use ralph_testkit::{Repo, Script, Step};

use super::{assert_end, checked, done, three_failing, unchecked};
use crate::harness::User;

#[test]
fn all_iterations_used() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().run([done(&["one"])]).run([done(&["one", "two"])]).run([done(&["two"])]);
    let result = checked(&user, &repo, script, 3, &[]).with_code(10).json();
    assert_end(&result, "ABORTED", Some("MAX_ITERATIONS"), 3);
    assert_eq!(result["verified"], false);
    assert_eq!((result["best"]["iteration"].as_u64(), result["best"]["failing"].as_u64()), (Some(2), Some(1)));
    // The last state is kept, the best one only named.
    assert_eq!(repo.read("done.txt"), "two\n");
    assert_eq!(result["kept"], serde_json::Value::Null);
}

#[test]
fn an_agent_that_changes_nothing_stalls() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().otherwise([Step::say("thinking")]);
    let result = checked(&user, &repo, script, 9, &["--stall", "3"]).with_code(14).json();
    assert_end(&result, "ABORTED", Some("STALL"), 3);
}

#[test]
fn going_back_and_forth_is_a_stall() {
    let (user, repo) = (User::new(), three_failing());
    let mut script = Script::new();
    for _ in 0..5 {
        script = script.run([Step::write("way", "left")]).run([Step::write("way", "right")]);
    }
    let result = checked(&user, &repo, script, 10, &["--stall", "3", "--same-error", "40"]).with_code(14).json();
    // Two new trees, then three that were seen before.
    assert_end(&result, "ABORTED", Some("STALL"), 5);
}

#[test]
fn build_output_that_git_ignores_is_no_progress() {
    let (user, repo) = (User::new(), three_failing());
    repo.write(".gitignore", "build/\n");
    repo.commit("ignore");
    let script = Script::new().otherwise([Step::append("build/out", "x")]);
    let result = checked(&user, &repo, script, 9, &["--stall", "2"]).with_code(14).json();
    assert_end(&result, "ABORTED", Some("STALL"), 2);
}

#[test]
fn the_same_error_again_and_again() {
    let (user, repo) = (User::new(), Repo::init());
    // Everything about it differs but the error: time, line, address, order.
    repo.write("check.sh", "n=$(wc -l < log 2>/dev/null || echo 0)\necho \"app.py:$((10 + n)): error: no such column 'x' at 0x7ff$n after 0.$n s\"\nexit 1\n");
    repo.commit("check");
    let script = Script::new().otherwise([Step::append("log", "another try\n")]);
    let result = checked(&user, &repo, script, 20, &[]).with_code(15).json();
    assert_end(&result, "ABORTED", Some("SAME_ERROR_5X"), 5);
    assert!(result["details"].as_str().unwrap().contains("no such column"), "{result:#}");
}

#[test]
fn the_same_error_threshold_can_be_set() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().otherwise([Step::append("log", "another try\n")]);
    let result = checked(&user, &repo, script, 20, &["--same-error", "2"]).with_code(15).json();
    assert_end(&result, "ABORTED", Some("SAME_ERROR_5X"), 2);
}

#[test]
fn a_stall_switches_to_deep_debugging_once() {
    let (user, repo) = (User::new(), three_failing());
    let prompts = user.home().join("prompts");
    let script = Script::new().otherwise([Step::say("thinking")]).save_prompts(&prompts);
    let ended =
        checked(&user, &repo, script, 20, &["--stall", "2", "--deep-debug", "--same-error", "40"]).with_code(14);
    assert_end(&ended.json(), "ABORTED", Some("STALL"), 4);
    let prompt = |number: u32| std::fs::read_to_string(prompts.join(format!("prompt-{number}.txt"))).unwrap();
    let before = prompt(2);
    let (skill, after) = (prompt(3), prompt(4));
    assert!(!before.to_lowercase().contains("bug_fixed") && before.contains("Iteration 2"), "{before}");
    for text in [&skill, &after] {
        let beginning = text.split("[Ralph Loop Context").next().unwrap();
        assert!(beginning.len() > 300, "the skill is missing: {beginning}");
        assert!(text.contains("- History:\n  1: "), "{text}");
    }
    assert!(ended.stderr.contains("systematic-debugging"), "{}", ended.stderr);
}

#[test]
fn the_time_is_up() {
    // Only a busy machine needs the longer ones to begin at all.
    for time in ["1s", "5s", "25s"] {
        let (user, repo) = (User::new(), three_failing());
        let script = Script::new().otherwise([Step::append("log", "x"), Step::sleep(Duration::from_millis(400))]);
        let result =
            checked(&user, &repo, script, 50, &["--max-duration", time, "--same-error", "50"]).with_code(13).json();
        assert_eq!(result["reason"], "MAX_DURATION");
        if result["iterations"].as_u64().unwrap() < 1 {
            continue;
        }
        let refused = user.ralph(repo.path(), ["resume"]).with_code(2);
        assert!(refused.stderr.contains("--max-duration DURATION"), "{}", refused.stderr);
        let one_more = (result["iterations"].as_u64().unwrap() + 1).to_string();
        let resumed = user.ralph(repo.path(), ["resume", "--max-duration", "1h", "--max", &one_more, "--json"]);
        assert_eq!(resumed.json()["reason"], "MAX_ITERATIONS", "{}", resumed.stderr);
        return;
    }
    panic!("no iteration began");
}

#[test]
fn an_agent_that_takes_too_long_is_ended_and_told() {
    let (user, repo) = (User::new(), three_failing());
    let prompts = user.home().join("prompts");
    let script = Script::new()
        .run([done(&["one"]), Step::sleep(Duration::from_secs(600))])
        .run([super::all_done()])
        .save_prompts(&prompts);
    let result = checked(&user, &repo, script, 5, &["--iteration-timeout", "4s"]).ok().json();
    assert_end(&result, "COMPLETED", None, 2);
    let told = std::fs::read_to_string(prompts.join("prompt-2.txt")).unwrap();
    assert!(told.contains("- Warning: your last run was") && told.contains("[ERROR] command:"), "{told}");
}

#[test]
fn a_check_that_takes_too_long_fails() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("check.sh", "test -e fast || sleep 600\n");
    repo.commit("check");
    let script = Script::new().run([Step::write("fast", "")]);
    let result = checked(&user, &repo, script, 2, &["--verify-timeout", "4s"]).ok().json();
    assert_end(&result, "COMPLETED", None, 1);
    let shown = user.show(result["loopId"].as_str().unwrap());
    assert_eq!(shown["baseline"]["checks"][0]["passed"], false);
}

#[test]
fn agents_that_fail_do_not_end_the_loop() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new()
        .run([Step::Exit(3)])
        .run([Step::Die(ralph_testkit::SignalName::Segv)])
        .run([super::all_done(), Step::Exit(9)]);
    let result = checked(&user, &repo, script, 5, &[]).ok().json();
    // What counts is what the checks see, not how the agent ended.
    assert_end(&result, "COMPLETED", None, 3);
}

#[test]
fn all_of_several_checks_have_to_pass() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().run([super::all_done()]).run([Step::write("second", "")]);
    let result = checked(&user, &repo, script, 5, &["--criteria", "test -e second"]).ok().json();
    assert_end(&result, "COMPLETED", None, 2);
    assert_eq!(result["verdict"]["checks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_claim_without_checks_and_without_changes_still_ends_at_once() {
    let (user, repo) = (User::new(), Repo::plain());
    let result = unchecked(&user, &repo, Script::new().run([Step::claim()]), 3, &[]).ok().json();
    assert_end(&result, "COMPLETED", None, 1);
}

#[test]
fn less_than_the_required_grade_completes_nothing_and_the_grade_is_shown_everywhere() {
    let (user, repo) = (User::new(), three_failing());
    let script = || Script::new().run([super::all_done()]);
    let refused = checked(&user, &repo, script(), 3, &["--require", "standard"]).with_code(18).json();
    assert_end(&refused, "ABORTED", Some("BLOCKED"), 1);
    assert_eq!(refused["verified"], false);
    let details = refused["details"].as_str().unwrap();
    assert!(details.contains("the result is weak and --require asks for standard"), "{details}");
    let shown = checked(&user, &repo, script(), 3, &["--require", "strong"]).with_code(2);
    assert!(shown.stderr.contains("needs isolated checks"), "{}", shown.stderr);

    let (user, repo) = (User::new(), three_failing());
    let result = checked(&user, &repo, script(), 3, &["--require", "weak"]).ok().json();
    assert_end(&result, "COMPLETED", None, 1);
    let id = result["loopId"].as_str().unwrap();
    let proof = user.ralph(repo.path(), ["verify-run", id, "--json"]).ok().json();
    let listed = user.ralph(repo.path(), ["list", "--json"]).ok().json();
    for document in [&result, &user.show(id), &proof, &listed[0]] {
        assert_eq!(document["grade"], "weak", "{document}");
    }
    assert_eq!(result["gradeReasons"], proof["gradeReasons"]);
    let reason = "no test runner that Ralph knows";
    let text = user.ralph(repo.path(), ["show", id]).ok().stdout;
    for place in [&text, &repo.read(".ralph/LEDGER.md"), &result["gradeReasons"].to_string()] {
        assert!(place.contains(reason), "{place}");
    }
}
