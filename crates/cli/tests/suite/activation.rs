//! `ralph do`: what it decides, and what it does then.

use ralph_testkit::{Repo, Script, Step};

use crate::harness::{Ended, User};

fn project() -> (User, Repo) {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("Makefile", "test:\n\ttest -e done.txt\n");
    repo.commit("project");
    (user, repo)
}

#[test]
fn a_decision_is_shown_and_nothing_starts() {
    let (user, repo) = project();
    let decision =
        user.ralph(repo.path(), ["do", "Fix the crash in the CSV export", "--dry-run", "--json"]).ok().json();
    assert_eq!(
        (&decision["taskType"], &decision["risk"], &decision["scope"], &decision["loop"]),
        (&"bug".into(), &"low".into(), &"specific".into(), &true.into()),
        "{decision:#}"
    );
    assert_eq!(
        (&decision["stack"], &decision["verificationCommand"], &decision["skill"]),
        (&"make".into(), &"make test".into(), &"systematic-debugging".into())
    );
    assert_eq!(decision["why"].as_array().unwrap().len(), 4, "{decision:#}");
    assert!(decision["confidence"].as_f64().is_some_and(|sure| (0.0..=1.0).contains(&sure)));
    assert!(!user.state().exists(), "a decision made a state folder");
    let table: [(&[&str], bool, &str); 5] = [
        (&["Fix the login bug"], false, "`login` concerns authentication"),
        (&["Fix the login bug", "--persist"], true, "--persist"),
        (&["Fix the crash in the CSV export", "--no-ralph"], false, "--no-ralph"),
        (&["Fix it"], false, "vague"),
        (
            &["Fix the crash in the CSV export", "--criteria", "true", "--max", "3", "--max-cost", "1"],
            true,
            "3 iterations and $1.00",
        ),
    ];
    for (words, is_loop, wanted) in table {
        let words: Vec<&str> = ["do", "--dry-run"].iter().chain(words).copied().collect();
        let shown = user.ralph(repo.path(), &words).ok().stdout;
        assert_eq!(shown.starts_with("Decision: a loop"), is_loop, "{words:?}: {shown}");
        assert!(shown.contains(wanted), "{words:?}: {shown}");
    }
    user.ralph(repo.path(), ["do", "x", "--persist", "--no-ralph"]).with_code(2);
    for words in [&["do", " "][..], &["crew", "", "--max-cost", "1"]] {
        let ended = user.ralph(repo.path(), words).with_code(2);
        assert!(ended.stderr.contains("is empty"), "{}", ended.stderr);
    }
}

#[test]
fn what_is_work_for_a_loop_becomes_one() {
    let (user, repo) = project();
    let script = Script::new().run([Step::say("{\"status\":\"PASS\",\"error_log\":\"\"}"), Step::cost(10)]).run([
        Step::write("done.txt", "x"),
        Step::say("Done."),
        Step::cost(10),
    ]);
    let agent = user.agent(script);
    let words = [
        "do",
        "Fix the crash in the CSV export",
        "--cost-after-run",
        "--agent-command",
        &agent,
        "--skill",
        "executor",
        "--json",
        "--pause",
        "0",
    ];
    let ended = user.ralph(repo.path(), words).ok();
    let result = ended.json();
    assert!(ended.stderr.starts_with("Decision: a loop of at most 10 iterations and $5.00"), "{}", ended.stderr);
    let unmetered = ["do", words[1], "--unmetered", "--agent-command", &agent, "--dry-run"];
    let decided = user.ralph(repo.path(), unmetered).ok();
    assert!(!format!("{}{}", decided.stdout, decided.stderr).contains('$'), "{}", decided.stdout);
    assert_eq!((&result["verified"], &result["iterations"]), (&true.into(), &2.into()), "{result:#}");
    assert_eq!(result["falseClaims"], 1, "the report is a claim: {result:#}");
    assert_eq!(result["decision"]["loop"], true, "{result:#}");
    let metrics = repo.read(".ralph/metrics/ralph-loops.jsonl");
    assert!(metrics.contains("\"taskType\":\"bug\""), "{metrics}");
}

#[test]
fn what_is_not_gets_one_pass_and_its_answer_is_shown() {
    let (user, repo) = project();
    let agent = user.agent(Script::new().otherwise([Step::say("It parses arguments."), Step::cost(10)]));
    let words = ["do", "What does parseArgs do?", "--cost-after-run", "--agent-command", &agent];
    let answered = user.ralph(repo.path(), words).ok();
    assert!(answered.stdout.starts_with("It parses arguments."), "{}", answered.stdout);
    assert!(answered.stderr.contains("one pass") && answered.stderr.contains("a question"), "{}", answered.stderr);
    // Neither is a command of a file run for an answer.
    repo.write("ralph.toml", "verification_command = \"false\"\n");
    user.ralph(repo.path(), ["trust", "--yes"]).ok();
    assert!(!user.ralph(repo.path(), words).ok().stderr.contains("check: "));
    repo.remove("ralph.toml");
    // What changes code is checked all the same.
    let words = ["do", "Fix the login bug", "--cost-after-run", "--agent-command", &agent, "--json"];
    let result = user.ralph(repo.path(), words).with_code(10).json();
    assert_eq!((&result["iterations"], &result["verified"]), (&1.into(), &false.into()), "{result:#}");
}

#[test]
fn a_broken_ralph_still_runs_the_request_once() {
    let (user, repo) = project();
    let agent =
        user.agent(Script::new().otherwise([Step::write("done.txt", "x"), Step::say("Fixed."), Step::cost(10)]));
    std::fs::create_dir_all(user.state()).unwrap();
    std::fs::write(user.state().join("ralph.db"), "this is no database, and long enough to be looked at ".repeat(40))
        .unwrap();
    let words = ["do", "Fix the crash in the CSV export", "--cost-after-run", "--agent-command", &agent, "--json"];
    let ended = user.ralph(repo.path(), words).ok();
    let result = ended.json();
    assert!(ended.stderr.contains("Ralph failed before the first iteration"), "{}", ended.stderr);
    assert_eq!((&result["status"], &result["verified"]), (&"COMPLETED".into(), &false.into()), "{result:#}");
    assert!(repo.exists("done.txt"), "{}", ended.stderr);
    // What the user can fix is no reason for an agent without a loop.
    std::fs::remove_file(repo.path().join("done.txt")).unwrap();
    let wrong = user.ralph(repo.path(), ["do", "Fix the crash in the CSV export", "--agent", "nobody"]).with_code(2);
    assert!(!repo.exists("done.txt"), "{}", wrong.stderr);
}

#[test]
fn a_repository_decides_nothing_before_it_is_approved() {
    let (user, repo) = project();
    let canary = repo.outside().join("canary");
    repo.write("ralph.toml", format!("verification_command = \"touch {}\"\n", canary.display()));
    let decision =
        user.ralph(repo.path(), ["do", "Fix the crash in the CSV export", "--dry-run", "--json"]).ok().json();
    assert_eq!(decision["verificationCommand"], "make test");
    let agent = user.agent(Script::new().otherwise([Step::say("x")]));
    let refused: Ended = user.ralph(repo.path(), ["do", "Fix the crash", "--agent-command", &agent]).with_code(2);
    assert!(refused.stderr.contains("ralph trust") && !canary.exists(), "{}", refused.stderr);
    user.ralph(repo.path(), ["trust", "--yes"]).ok();
    let decision =
        user.ralph(repo.path(), ["do", "Fix the crash in the CSV export", "--dry-run", "--json"]).ok().json();
    assert!(decision["verificationCommand"].as_str().unwrap().starts_with("touch "), "{decision:#}");
}
