use ralph_model::{AbortReason, Iteration, Millis, Money, Tamper, TamperKind, Trouble, TroubleKind};

use super::*;
use crate::fixtures::{Scene, config, green, red, run, saying, tampered, touched, tree};

fn id() -> LoopId {
    "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
}

fn aborts(cause: AbortCause) -> String {
    aborted(&cause, Continuation::Resume(id()))
}

fn trouble() -> Trouble {
    Trouble { kind: TroubleKind::RateLimit, until: None, message: "slow down".into(), advice: None }
}

#[test]
fn what_people_read_names_the_figures_and_the_way_on() {
    let best = Some(Best { iteration: Iteration(3), failing: 1, tree: tree("c") });
    assert_eq!(
        aborts(AbortCause::IterationsUsed { max: 5, best, missing_claim: None, tampered: 0 }),
        "5 of 5 iterations used; best state: 1 failing, after iteration 3; to continue: ralph resume 099a8057 --max N"
    );
    let last = Some(Best { iteration: Iteration(5), failing: 1, tree: tree("c") });
    assert_eq!(
        aborts(AbortCause::IterationsUsed { max: 5, best: last, missing_claim: None, tampered: 0 }),
        "5 of 5 iterations used; to continue: ralph resume 099a8057 --max N",
        "what is there already is no advice"
    );
    let tag = Some("<promise>COMPLETE</promise>".to_owned());
    let used = aborts(AbortCause::IterationsUsed { max: 1, best: None, missing_claim: tag, tampered: 2 });
    assert!(used.contains("the checks pass, but the agent's <promise>COMPLETE</promise> is missing"), "{used}");
    assert!(used.contains("changed in 2 of them") && used.contains("--allow-test-change"), "{used}");
    let tampered = |kind| AbortCause::Tampered { iterations: 3, tampering: vec![Tamper::new("a", kind)] };
    let changed = aborts(tampered(TamperKind::Changed));
    assert!(changed.contains("protected files were changed") && changed.contains("--allow-test-change"), "{changed}");
    let passed = aborts(tampered(TamperKind::Tripwire));
    assert!(!passed.contains("protected files") && passed.ends_with("--no-tripwire"), "{passed}");
    let spent = |unknown| AbortCause::BudgetSpent { spent: Money::dollars(5), limit: Money::dollars(5), unknown };
    assert_eq!(aborts(spent(None)), "$5.00 of $5.00 spent; to continue: ralph resume 099a8057 --max-cost USD");
    for (why, expected) in [
        (UnknownCost::NotReported, "$RALPH_RESULT_FILE"),
        (UnknownCost::NotCounted, "ralph agents --prices"),
        (UnknownCost::Interrupted, "iteration 2 was interrupted before the agent reported its cost"),
    ] {
        let unknown = UnknownCharge { iteration: Iteration(2), charged: Money::dollars(4), why };
        let text = aborts(spent(Some(unknown)));
        assert!(text.contains(expected) && text.contains("reservation of $4.00"), "{text}");
        assert!(text.ends_with("ralph resume 099a8057 --max-cost USD"), "{text}");
    }
    assert_eq!(
        aborts(AbortCause::Stalled { iterations: 3, headline: Some("a failed".into()) }),
        "3 iterations in a row changed neither the files nor the failures: a failed; to continue: ralph resume 099a8057"
    );
}

#[test]
fn a_prohibited_commit_comes_with_the_way_to_undo_it() {
    let mut violation = touched(".env");
    let cause = |violation: &Violation, start: Option<&str>| AbortCause::Prohibited {
        violations: vec![violation.clone()],
        patch: "p.patch".into(),
        start: start.map(str::to_owned),
    };
    assert_eq!(
        aborts(cause(&violation, Some("c0ffee"))),
        "M .env (prohibited by .env*); restored, and the offending content is kept in p.patch"
    );
    violation.commit = Some("0123456789abcdef".into());
    let text = aborts(cause(&violation, Some("c0ffee")));
    assert!(text.contains("in commit 0123456789ab") && text.contains("`git reset c0ffee`"), "{text}");
    assert!(aborts(cause(&violation, None)).contains("git update-ref -d HEAD"));
}

#[test]
fn a_loop_without_a_workspace_is_not_to_be_resumed() {
    for cause in [
        AbortCause::IterationsUsed { max: 1, best: None, missing_claim: None, tampered: 0 },
        AbortCause::Cancelled { by: StopBy::Keyboard },
        AbortCause::Cancelled { by: StopBy::Race { winner: id() } },
        AbortCause::RaceBudgetSpent { spent: Money::ZERO, limit: Money::ZERO },
    ] {
        let text = aborted(&cause, Continuation::NewRun);
        assert!(!text.contains("resume"), "{text}");
    }
    let lost = aborts(AbortCause::Cancelled { by: StopBy::Race { winner: id() } });
    assert!(!lost.contains("resume") && lost.contains("ralph diff 099a8057"), "{lost}");
}

#[test]
fn an_error_says_what_failed_apart_from_what_to_do() {
    let cause = ErrorCause::WaitTooLong {
        agent: "worker".into(),
        trouble: trouble(),
        limit: WaitLimit::TooLong { wait: Millis::minutes(2), limit: Millis(0) },
    };
    assert_eq!(error(&cause), "worker: rate or usage limit: slow down; not waiting because of --max-wait 0");
    assert!(failed(&cause, Continuation::Resume(id())).ends_with("; later, to continue: ralph resume 099a8057"));
    let advised = Trouble { advice: Some("log in".into()), ..trouble() };
    let cause = ErrorCause::ServiceRefused { agent: "worker".into(), trouble: advised };
    assert_eq!(error(&cause), "worker: rate or usage limit: slow down; log in");
}

#[test]
fn a_recorded_sentence_is_shown_as_it_is() {
    let text = "all 5 iterations are used".to_owned();
    assert_eq!(aborts(AbortCause::Recorded { reason: AbortReason::MaxIterations, text: text.clone() }), text);
    assert_eq!(failed(&ErrorCause::Recorded { text: text.clone() }, Continuation::NewRun), text);
}

#[test]
fn tampering_is_named() {
    let tampering = vec![Tamper::new("tests/a.rs", TamperKind::Changed)];
    let text = aborts(AbortCause::Tampered { iterations: 3, tampering });
    assert!(text.contains("in 3 iterations") && text.contains("tests/a.rs: protected file changed"), "{text}");
}

#[test]
fn a_stall_with_passing_checks_says_what_is_missing() {
    let stalled = |scene: &Scene| {
        let outcome = Outcome::Aborted { cause: AbortCause::Stalled { iterations: 5, headline: None } };
        details(&outcome, scene.run.facts(), Continuation::NewRun)
    };
    let mut scene = Scene::green(config());
    scene.pass(run("b"), green());
    let text = stalled(&scene);
    let missing = format!("the checks pass, but the agent's {} is missing", config().promise_tag());
    assert!(text.starts_with(&missing) && text.contains("5 iterations"), "{text}");
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["a"]));
    assert!(stalled(&scene).starts_with("5 iterations in a row changed neither"), "{}", stalled(&scene));
}

#[test]
fn a_question_of_the_agent_comes_with_the_command_that_answers_it() {
    let id = "00000000-0000-0000-0000-00000000abcd".parse().unwrap();
    let cause = AbortCause::Blocked { why: "which port?".into() };
    assert_eq!(
        aborted(&cause, Continuation::Resume(id)),
        "the agent asks: which port? (to continue: ralph resume 0000abcd --answer \"TEXT\")"
    );
    // A session is over for its loop: `resume` refuses without another agent.
    let cause = AbortCause::Cancelled { by: StopBy::Request };
    let text = aborted(&cause, Continuation::OtherAgent(id));
    assert!(text.ends_with("to continue with another agent: ralph resume 0000abcd --agent NAME"), "{text}");
}

#[test]
fn a_verified_end_names_its_checks() {
    let scene = crate::fixtures::Scene::red(config());
    let text = details(&Outcome::Completed { verified: true }, scene.run.facts(), Continuation::NewRun);
    assert_eq!(text, "all checks passed: make test");
}

#[test]
fn passing_checks_that_do_not_complete_a_loop_say_why() {
    let open = |scene: &Scene| why_open(scene.run.facts());
    let promise = config().promise_tag();
    // The checks passed before the first iteration, so that the agent has to claim completion, too.
    let mut scene = Scene::green(config());
    assert_eq!(open(&scene), None, "there is no iteration yet");
    scene.pass(run("b"), green());
    assert_eq!(open(&scene), Some(format!("the agent's {promise} is missing")));
    scene.pass(saying("c", &promise), tampered(green(), "tests/a.py"));
    assert!(open(&scene).is_some_and(|why| why.contains("restore those files")), "{:?}", open(&scene));
    // Failing checks say it themselves.
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["a"]));
    assert_eq!(open(&scene), None);
    // What completes the loop is not open.
    scene.pass(run("c"), green());
    assert_eq!(open(&scene), None);
}
