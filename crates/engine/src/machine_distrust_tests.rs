//! Tampering, flakes and the tripwire: what turns a passing check into a verdict, and what does not.

use ralph_model::{AbortCause, AbortReason, LoopConfig, Outcome, Tripwire, UntrackedDigest, Verdict};

use super::*;
use crate::StopWhen;
use crate::fixtures::*;

const VERIFIED: Outcome = Outcome::Completed { verified: true };

fn unheard() -> Tripwire {
    Tripwire::Passed { planted: vec!["tests/a.rs".into()], detail: String::new() }
}

#[test]
fn passing_checks_complete_a_loop_only_after_they_were_seen_to_fail() {
    let mut scene = Scene::red(wired());
    scene.pass(run("b"), green());
    assert_eq!(scene.phase(), "confirming");
    assert!(matches!(scene.asked.as_slice(), [Effect::TripWire { .. }]));
    scene.wire(reported());
    assert_eq!(scene.outcome(), &VERIFIED);
    let verdict = scene.run.facts().last_verdict().unwrap();
    assert_eq!(verdict.tripwire, Some(reported()));
}

#[test]
fn checks_that_pass_with_a_failing_test_planted_are_void() {
    let mut scene = Scene::red(wired());
    scene.pass(run("b"), green()).wire(unheard());
    assert_eq!(scene.phase(), "pausing");
    scene.begin();
    assert!(scene.prompt().contains("[TAMPERED] verify: passes with a failing test planted"), "{}", scene.prompt());
    assert_eq!(scene.run.facts().tampered(), 1);
}

#[test]
fn a_second_run_in_which_others_fail_confirms_nothing_and_is_no_tampering() {
    let mut scene = Scene::red(wired());
    scene.pass(run("b"), green()).wire(Tripwire::OthersFail { failing: vec!["adds".into()] });
    assert_eq!(scene.phase(), "pausing");
    assert_eq!(scene.run.facts().tampered(), 0);
    assert!(scene.begin().prompt().contains("not confirmed: in a second run"), "{}", scene.prompt());
}

#[test]
fn work_that_changed_while_the_wire_was_tripped_is_not_the_work_that_was_verified() {
    let mut scene = Scene::red(wired());
    scene.pass(run("b"), green()).wire_moving(reported(), &["src/lib.rs"]);
    assert_eq!(scene.phase(), "pausing");
    assert!(
        scene.begin().prompt().contains("the check is void: these files changed while or after it ran: src/lib.rs")
    );
}

#[test]
fn a_tripwire_that_is_turned_off_is_said_in_the_verdict() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), green());
    assert_eq!(scene.outcome(), &VERIFIED);
    assert_eq!(scene.run.facts().last_verdict().unwrap().tripwire, Some(Tripwire::Off));
}

#[test]
fn the_wire_waits_for_the_claim_where_one_is_needed() {
    let mut scene = Scene::green(wired());
    scene.pass(run("b"), green());
    assert_eq!(scene.phase(), "pausing", "no claim, nothing to confirm");
    scene.begin().agent(saying("c", CLAIM)).checks(green());
    assert_eq!(scene.phase(), "confirming");
}

#[test]
fn a_crash_while_the_wire_is_tripped_asks_again_or_checks_again() {
    let mut scene = Scene::red(wired());
    scene.pass(run("b"), green()).resume();
    assert_eq!(scene.phase(), "confirming");
    scene.resume_finding("c", None);
    assert_eq!(scene.phase(), "verifying", "somebody worked there meanwhile");
    scene.checks(green()).wire(reported());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn a_wire_that_was_cut_short_by_a_stop_completes_nothing() {
    let mut scene = Scene::red(wired());
    scene.pass(run("b"), green()).stop(StopWhen::Now);
    assert!(scene.cuts_short());
    scene.wire(Tripwire::NotPossible { why: "stopped".into() });
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    scene.resume();
    assert_eq!(scene.phase(), "verifying");
}

#[test]
fn tampering_in_three_iterations_ends_the_loop_even_if_the_checks_pass_in_the_end() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), tampered(red(&["a"]), "tests/a.rs"));
    let prompt = scene.begin().prompt().to_owned();
    assert!(prompt.contains("[TAMPERED] tests/a.rs: protected file changed, restored before the check"), "{prompt}");
    assert!(prompt.contains("ends after 2 more such iterations"), "{prompt}");
    assert!(
        prompt.contains("1: 1 file changed, 9 passing, 1 failing, a failed: expected 1, got 2, tampered"),
        "{prompt}"
    );
    scene.agent(run("c")).checks(red(&["a"]));
    scene.pass(run("d"), tampered(red(&["a", "b"]), "tests/a.rs"));
    assert_eq!(scene.phase(), "pausing", "two of three");
    scene.pass(run("e"), tampered(green(), "conftest.py"));
    assert_eq!(scene.reason(), AbortReason::Tampered);
    assert!(matches!(scene.cause(), AbortCause::Tampered { iterations: 3, tampering } if tampering.len() == 1));
    assert_eq!(scene.outcome().exit_code(), 17);
}

#[test]
fn work_that_passes_with_the_pinned_files_completes_with_them_put_back_for_good() {
    let mut scene = Scene::red(LoopConfig { commit: true, ..config() });
    scene.pass(run("b"), tampered(Verdict { tree: tree("pinned"), ..green() }, "tests/a.rs"));
    assert_eq!(scene.phase(), "closing");
    assert!(matches!(scene.asked.as_slice(), [Effect::RestorePinned { .. }]));
    scene.pins_restored("pinned", &[]);
    assert!(matches!(scene.asked.as_slice(), [Effect::CommitWork { .. }]));
    assert_eq!(scene.run.facts().pinned_patch.as_deref(), Some("pinned.patch"));
    scene.commit(Some("abc"), None);
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn a_workspace_that_is_not_what_was_verified_even_then_goes_on() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), tampered(green(), "tests/a.rs")).pins_restored("c", &["src/lib.rs"]);
    assert_eq!(scene.phase(), "pausing");
}

#[test]
fn tampering_never_completes_a_loop_whose_checks_passed_from_the_start() {
    let mut scene = Scene::green(config());
    scene.begin().agent(saying("b", CLAIM)).checks(tampered(green(), "tests/a.rs"));
    assert_eq!(scene.phase(), "pausing");
}

#[test]
fn a_check_that_passes_on_the_tree_on_which_it_failed_is_flaky_and_completes_nothing() {
    let mut scene = Scene::red(LoopConfig { stall_threshold: 2, max_iterations: 9, ..config() });
    scene.pass(run("b"), red(&["a"]));
    for _ in 0..4 {
        scene.pass(run("b"), green());
        assert_eq!(scene.phase(), "pausing", "neither complete nor stalled");
    }
    assert_eq!(scene.run.facts().flakes(), 4);
    assert!(scene.begin().prompt().contains("it is flaky"), "{}", scene.prompt());
    scene.agent(run("c")).checks(green());
    assert_eq!(scene.outcome(), &VERIFIED, "another tree");
}

#[test]
fn what_changed_beside_the_tree_since_is_a_reason_to_pass_on_the_same_tree() {
    let beside = |before: &str, after: &str| UntrackedDigest { before: before.into(), after: after.into() };
    let mut scene = Scene::start(config());
    scene.baseline(Verdict { beside: beside("a", "b"), ..red(&["a"]) });
    scene.pass(run("start"), Verdict { beside: beside("b", "c"), ..green() });
    assert_eq!(scene.run.facts().flakes(), 1, "only the check itself left something");
    scene.pass(run("start"), Verdict { beside: beside("agent was here", "d"), ..green() });
    assert_eq!(scene.outcome(), &VERIFIED, "the work is in files that the tree leaves out");
}

#[test]
fn a_retried_check_that_passed_then_is_a_flake_and_counts_for_nothing() {
    let mut flaky = red(&["a"]);
    (flaky.checks[0].flaky, flaky.checks[0].retries) = (true, 1);
    let mut scene =
        Scene::red(LoopConfig { stall_threshold: 2, same_error_threshold: 2, max_iterations: 9, ..config() });
    for _ in 0..5 {
        scene.pass(run("b"), flaky.clone());
        assert_eq!(scene.phase(), "pausing");
    }
    assert!(scene.begin().prompt().contains("(flaky: it failed, then passed on the same files)"), "{}", scene.prompt());
}

#[test]
fn old_and_new_failures_are_told_apart() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["a", "new"]));
    assert!(
        scene.begin().prompt().contains("2 failing); 1 of 2 did not fail before the first iteration"),
        "{}",
        scene.prompt()
    );
}

#[test]
fn work_that_the_checks_changed_themselves_is_the_work_from_then_on() {
    let mut scene = Scene::red(config());
    scene.begin().agent(run("b"));
    let attempt = scene.attempt();
    scene.event(Event::ChecksFinished { attempt, verdict: red(&["a"]), tree: Some(tree("formatted")) });
    assert_eq!(scene.run.facts().tree, tree("formatted"));
}

#[test]
fn a_loop_that_was_ended_for_tampering_does_not_complete_by_a_resume() {
    let mut scene = Scene::red(wired());
    scene.pass(run("b"), tampered(red(&["a"]), "tests/a.rs")).pass(run("c"), tampered(red(&["a"]), "tests/b.rs"));
    scene.pass(run("d"), tampered(green(), "tests/c.rs")).wire(reported());
    assert_eq!(scene.reason(), AbortReason::Tampered);
    assert!(!scene.run.is_only_to_be_closed());
    scene.resume();
    assert_eq!(scene.phase(), "pausing", "an agent has to work before anything completes");
    // Work without tampering completes it.
    scene.pass(run("e"), green()).wire(reported());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn tampering_that_stays_in_the_tree_is_counted_once() {
    let mut scene = Scene::red(wired());
    for after in ["b", "c", "d"] {
        scene.pass(run(after), tampered(red(&["a"]), "tests/a.rs"));
    }
    assert_eq!((scene.phase(), scene.run.facts().tampered()), ("pausing", 1));
    // Done again, it counts again.
    let again = |after: &str| {
        let changed = vec![ralph_model::Change { path: "tests/a.rs".into(), kind: ralph_model::ChangeKind::Modified }];
        ralph_model::AgentRun { changed, ..run(after) }
    };
    scene.pass(again("e"), tampered(red(&["a"]), "tests/a.rs"));
    assert_eq!(scene.run.facts().tampered(), 2);
    scene.pass(run("f"), tampered(red(&["a"]), "tests/b.rs"));
    assert_eq!(scene.reason(), AbortReason::Tampered);
}
