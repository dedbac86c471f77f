//! What Ralph logs about its own work: nothing unless asked for, and then no secret.

use ralph_testkit::{Repo, Script, Step};

use crate::harness::{Ended, User, run_words_with};

const SECRET: &str = "hunter2-very-long-secret-value";
const LEVELS: [&str; 5] = ["ERROR ", "WARN ", "INFO ", "DEBUG ", "TRACE "];

/// Runs a loop of one iteration, with these words and this filter, for a user who has a secret.
fn run(more: &[&str], filter: Option<&str>, command: &str) -> Ended {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().otherwise([Step::write("done.txt", "x")]));
    let agent = format!("{command}{agent}");
    let more = [&["--unmetered", "--criteria", "test -e done.txt"], more].concat();
    let mut ralph = user.command(repo.path(), run_words_with(&agent, 1, &more));
    ralph.env("MY_API_KEY", SECRET);
    if let Some(filter) = filter {
        ralph.env("RALPH_LOG", filter);
    }
    Ended::from(ralph.output().unwrap())
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    for filter in [None, Some(""), Some("off")] {
        let ended = run(&[], filter, "").ok();
        assert!(LEVELS.iter().all(|level| !ended.stderr.contains(level)), "{filter:?}: {}", ended.stderr);
    }
}

#[test]
fn verbose_tells_what_a_loop_did_and_leaves_the_result_alone() {
    for more in [&["--verbose"][..], &["-v", "--quiet"], &["-v", "--plain"]] {
        let ended = run(more, None, "").ok();
        assert_eq!(ended.json()["status"], "COMPLETED", "{}", ended.stdout);
        for told in [
            "read the user's configuration",
            "workspace locked",
            "workspace scanned",
            "snapshot taken label=\"iteration-1\"",
            "effect started effect=\"RunAgent\"",
            "process tree started pid=",
            "process tree ended ended=exit code 0",
            "check finished command=\"test -e done.txt\" passed=true",
            "effect answered effect=\"RunChecks\" answer=\"checksFinished\"",
            "the loop ended",
        ] {
            let is_none = told.starts_with("read the user") && ended.stderr.contains("no configuration of the user");
            assert!(is_none || ended.stderr.contains(told), "{more:?}: `{told}` is missing in {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("TRACE "), "{}", ended.stderr);
        assert!(ended.stderr.contains("loop{id="), "lines say which loop they are about: {}", ended.stderr);
    }
}

#[test]
fn a_secret_is_not_logged() {
    let ended = run(&[], Some("trace"), &format!("MINE={SECRET} ")).ok();
    assert!(!ended.stderr.contains(SECRET) && !ended.stdout.contains(SECRET), "{}", ended.stderr);
    assert!(ended.stderr.contains("MINE=[redacted:MY_API_KEY]"), "the canary was logged: {}", ended.stderr);
    assert!(!ended.stderr.contains('\u{1b}'), "{}", ended.stderr);
}

#[test]
fn a_filter_chooses_what_is_logged_and_a_wrong_one_is_refused() {
    let ended = run(&[], Some("ralph_process=debug"), "").ok();
    assert!(ended.stderr.contains("ralph_process::supervisor: process tree started"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("ralph_runtime") && !ended.stderr.contains("ralph_workspace"), "{}", ended.stderr);
    let refused = run(&[], Some("loud"), "").with_code(2);
    for said in ["RALPH_LOG: `loud`", "allowed: a level (off, error, warn, info, debug, trace)"] {
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
}
