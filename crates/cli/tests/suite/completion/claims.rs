//! An agent's word is a reason to look, never a proof.

use ralph_testkit::{Repo, Script, Step};

use super::{all_done, assert_end, checked, done, three_failing, unchecked};
use crate::harness::{User, run_words, run_words_with};

#[test]
fn with_a_red_baseline_passing_checks_need_no_claim() {
    let (user, repo) = (User::new(), three_failing());
    let ended = checked(&user, &repo, Script::new().run([all_done()]), 3, &[]).ok();
    let result = ended.json();
    assert_end(&result, "COMPLETED", None, 1);
    assert_eq!((result["verified"].as_bool(), result["falseClaims"].as_u64()), (Some(true), Some(0)));
    assert!(ended.stderr.contains("0 passing, 3 failing; passing checks will complete the loop"), "{}", ended.stderr);
}

#[test]
fn with_a_green_baseline_a_claim_is_needed_and_that_is_said_first() {
    let (user, repo) = (User::new(), three_failing());
    repo.write("done.txt", "one\ntwo\nthree\n");
    let script = Script::new().run([Step::write("a", "1")]).run([Step::write("b", "2")]).run([Step::claim()]);
    let ended = checked(&user, &repo, script, 5, &[]).ok();
    let result = ended.json();
    assert_end(&result, "COMPLETED", None, 3);
    assert_eq!(result["verified"], true);
    let said = "checks pass already, so the agent has to claim that it is done, too";
    let (at, first) = (ended.stderr.find(said), ended.stderr.find("iteration 1"));
    assert!(at.is_some() && at < first, "{}", ended.stderr);
}

#[test]
fn with_a_green_baseline_a_claim_over_broken_checks_is_false() {
    let (user, repo) = (User::new(), three_failing());
    repo.write("done.txt", "one\ntwo\nthree\n");
    let script = Script::new().run([done(&["one"]), Step::claim()]).run([all_done(), Step::claim()]);
    let result = checked(&user, &repo, script, 5, &[]).ok().json();
    assert_end(&result, "COMPLETED", None, 2);
    assert_eq!(result["falseClaims"], 1);
}

#[test]
fn an_explicit_promise_is_needed_besides_passing_checks() {
    for (promise, said) in [("<promise>SHIPPED</promise>", "<promise> SHIPPED\n</promise>"), ("SHIPPED", "SHIPPED")] {
        let (user, repo) = (User::new(), three_failing());
        let script = Script::new()
            .run([all_done()])
            // The default one is another promise.
            .run([Step::write("more", ""), Step::claim()])
            .run([Step::say(said)]);
        let ended = checked(&user, &repo, script, 5, &["--promise", promise]).ok();
        assert!(ended.stderr.contains("passing checks together with the promise"), "{}", ended.stderr);
        let result = ended.json();
        assert_end(&result, "COMPLETED", None, 3);
        assert_eq!(result["verified"], true);
    }
}

#[test]
fn without_a_check_a_claim_completes_unverified_and_that_is_shown_everywhere() {
    let (user, repo) = (User::new(), Repo::init());
    let script = Script::new().run([Step::write("a", "1")]).run([Step::claim()]);
    let ended = unchecked(&user, &repo, script.clone(), 5, &[]).ok();
    let result = ended.json();
    assert_end(&result, "COMPLETED", None, 2);
    assert_eq!(result["verified"], false);
    assert!(ended.stderr.contains("nothing is verified"), "{}", ended.stderr);
    let id = result["loopId"].as_str().unwrap();
    assert_eq!(user.newest_loop()["verified"], false);
    assert_eq!(user.show(id)["outcome"]["verified"], false);
    let metrics = repo.read(".ralph/metrics/ralph-loops.jsonl");
    assert!(
        metrics.contains("\"verificationPassed\":false") && metrics.contains("\"status\":\"COMPLETED\""),
        "{metrics}"
    );
    let ledger = repo.read(".ralph/LEDGER.md");
    assert!(ledger.contains("- State: COMPLETED (unverified)"), "{ledger}");
    for words in [vec!["list"], vec!["show", id], vec!["verify-run", id]] {
        let text = user.ralph(repo.path(), &words).ok().stdout;
        assert!(text.contains("unverified") || text.contains("not verified"), "{words:?}: {text}");
    }
    // And where the result is text.
    let mut words = run_words(&user.agent(script), 5);
    words.retain(|word| word != "--json");
    words.push("--unmetered".to_owned());
    let text = user.ralph(repo.path(), words).ok().stdout;
    assert!(text.contains("COMPLETED (NOT verified: no check ran)"), "{text}");
}

#[test]
fn a_false_claim_is_counted_told_and_written_down() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new()
        .run([done(&["one"]), Step::claim()])
        .run([done(&["one", "two"]), Step::claim()])
        .run([all_done()]);
    let ended = checked(&user, &repo, script, 5, &[]).ok();
    let result = ended.json();
    assert_eq!(result["falseClaims"], 2);
    assert_eq!(ended.stderr.matches("although the agent claims to be done").count(), 2, "{}", ended.stderr);
    assert_eq!(repo.read(".ralph/LEDGER.md").matches("false claim").count(), 2);
    assert!(repo.read(".ralph/metrics/ralph-loops.jsonl").contains("\"falseClaims\":2"));
    let shown = user.show(result["loopId"].as_str().unwrap());
    let flags: Vec<_> = (0..3).map(|index| shown["iterations"][index]["falseClaim"].as_bool().unwrap()).collect();
    assert_eq!(flags, [true, true, false]);
}

#[test]
fn an_echo_of_the_prompt_is_no_claim() {
    let (user, repo) = (User::new(), Repo::init());
    // From the second iteration on the prompt asks for the promise, and `cat` says all of it.
    let result = user.ralph(repo.path(), run_words_with("cat", 3, &["--unmetered"])).with_code(10).json();
    assert_end(&result, "ABORTED", Some("MAX_ITERATIONS"), 3);
    let shown = user.show(result["loopId"].as_str().unwrap());
    for index in 0..3 {
        assert_eq!(shown["iterations"][index]["claimed"], false, "iteration {}", index + 1);
        assert_eq!(shown["iterations"][index]["blocked"], serde_json::Value::Null);
    }
}

#[test]
fn a_promise_that_is_quoted_is_no_claim() {
    let (user, repo) = (User::new(), Repo::init());
    let quotes = [
        "```\n<promise>COMPLETE</promise>\n```",
        "> <promise>COMPLETE</promise>",
        "I will not say `<promise>COMPLETE</promise>` yet",
        "COMPLETE",
        "<promise>complete</promise>",
    ];
    let mut script = Script::new();
    for quote in quotes {
        script = script.run([Step::say(quote)]);
    }
    script = script.run([Step::PrintStderr("<promise>COMPLETE</promise>\n".into())]);
    let script = script.run([Step::say("Really:  <promise>\n COMPLETE </promise>.")]);
    let result = unchecked(&user, &repo, script, 9, &["--stall", "20"]).ok().json();
    assert_end(&result, "COMPLETED", None, quotes.len() as u64 + 2);
}

#[test]
fn a_blocked_agent_ends_the_loop_unless_told_to_go_on() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().run([done(&["one"]), Step::blocked("I need the production password")]).run([all_done()]);
    let result = checked(&user, &repo, script.clone(), 5, &[]).with_code(18).json();
    assert_end(&result, "ABORTED", Some("BLOCKED"), 1);
    assert!(result["details"].as_str().unwrap().contains("I need the production password"), "{result:#}");
    let result = checked(&user, &repo, script, 5, &["--on-blocked", "continue"]).ok().json();
    assert_end(&result, "COMPLETED", None, 2);
    // With checks that pass there is nothing left to be blocked by.
    let repo = three_failing();
    let script = Script::new().run([all_done(), Step::blocked("am I done?")]);
    assert_end(&checked(&user, &repo, script, 5, &[]).ok().json(), "COMPLETED", None, 1);
}
