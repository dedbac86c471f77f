use ralph_model::{
    AbortCause, AbortReason, AgentRun, Best, ErrorCause, Iteration, Keep, LoopConfig, Millis, Money, Outcome, Violation,
};

use super::*;
use crate::fixtures::*;
use crate::{Alert, DayBudget, Limits, Refusal, StopWhen};

const VERIFIED: Outcome = Outcome::Completed { verified: true };

fn violations(scene: &Scene) -> &[Violation] {
    match scene.cause() {
        AbortCause::Prohibited { violations, .. } => violations,
        other => panic!("{other:?}"),
    }
}

fn trespassing(after: &str) -> AgentRun {
    AgentRun { violations: vec![touched(".env")], ..run(after) }
}

#[test]
fn only_a_start_starts_a_loop() {
    let other = Event::AlertRaised { alert: Alert::Cost80 };
    assert!(matches!(Loop::start(Timestamp(1), other.clone()), Err(ReplayError::NoStart)));
    assert!(matches!(Loop::replay([]), Err(ReplayError::NoStart)));
    assert!(matches!(Loop::replay([(Timestamp(1), other)]), Err(ReplayError::NoStart)));
}

#[test]
fn a_whole_loop_asks_for_one_thing_at_a_time() {
    let mut scene = Scene::start(LoopConfig { max_iterations: 9, ..config() });
    scene.baseline(red(&["a"])).pass(run("b"), red(&["a"])).pass(run("c"), green());
    let asked: Vec<String> = scene
        .all
        .iter()
        .map(|effect| match effect {
            Effect::RunBaseline { attempt } => format!("baseline, attempt {attempt}"),
            Effect::BeginIteration { iteration, attempt, .. } => format!("begin {iteration}, attempt {attempt}"),
            Effect::RunAgent { iteration, attempt, .. } => format!("agent {iteration}, attempt {attempt}"),
            Effect::RunChecks { iteration, attempt } => format!("checks {iteration}, attempt {attempt}"),
            Effect::Finish { outcome } => outcome.status().to_owned(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        asked,
        [
            "baseline, attempt 1",
            "begin 1, attempt 2",
            "agent 1, attempt 2",
            "checks 1, attempt 3",
            "begin 2, attempt 4",
            "agent 2, attempt 4",
            "checks 2, attempt 5",
            "COMPLETED",
        ]
    );
}

#[test]
fn a_prohibited_change_before_a_run_ends_the_loop_without_one() {
    let mut scene = Scene::red(config());
    scene.refuse(Refusal::Prohibited { violations: vec![touched(".env")] });
    assert_eq!(scene.asked, [Effect::RestoreProhibited { attempt: scene.attempt() }]);
    scene.guard(vec![touched(".env")]);
    assert_eq!(scene.reason(), AbortReason::ProhibitedPath);
    assert_eq!(
        scene.cause(),
        &AbortCause::Prohibited {
            violations: vec![touched(".env")],
            patch: "prohibited-1.patch".into(),
            start: Some("c0ffee".into())
        }
    );
    assert_eq!(scene.run.facts().patch.as_deref(), Some("prohibited-1.patch"));
    assert_eq!((scene.agents(), scene.run.facts().iterations.len()), (0, 0));
}

#[test]
fn a_prohibited_change_by_a_run_is_put_back_before_anything_is_checked() {
    let mut scene = Scene::red(config());
    scene.begin().agent(AgentRun { final_message: CLAIM.into(), ..trespassing("b") });
    assert_eq!(scene.phase(), "guarding");
    scene.guard(vec![touched(".env"), touched(".env.local")]);
    assert_eq!(scene.reason(), AbortReason::ProhibitedPath);
    assert_eq!(violations(&scene), [touched(".env"), touched(".env.local")]);
    assert_eq!(scene.run.facts().spent, cents(10), "the run is paid for");
    assert!(!scene.all.iter().any(|effect| matches!(effect, Effect::RunChecks { .. })));
}

#[test]
fn a_prohibited_path_in_a_commit_is_named_with_its_commit() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let committed = Violation { commit: Some(commit.to_owned()), ..touched(".env") };
    let mut scene = Scene::red(config());
    scene.begin().agent(trespassing("b")).guard(vec![committed.clone(), touched(".env.local")]);
    assert_eq!(violations(&scene), [committed, touched(".env.local")]);
}

#[test]
fn the_files_are_named_even_when_a_second_attempt_finds_them_put_back() {
    let mut scene = Scene::red(config());
    scene.begin().agent(trespassing("b")).resume().guard(vec![]);
    assert_eq!(scene.reason(), AbortReason::ProhibitedPath);
    assert_eq!(violations(&scene), [touched(".env")]);
}

#[test]
fn a_trespasser_is_told_when_the_loop_is_resumed_and_its_tree_is_never_handed_back() {
    let mut scene = Scene::red(LoopConfig { keep: Keep::Best, ..config() });
    scene.begin().agent(trespassing("b")).guard(vec![touched(".env")]);
    assert_eq!(scene.puts_back().map(|best| best.iteration), Some(Iteration(0)));
    scene.restore("start").resume().begin();
    assert!(scene.prompt().contains("- Warning: you changed prohibited files, and they were restored: .env\n"));

    let mut scene = Scene::start(LoopConfig { ratchet: true, ..config() });
    scene.baseline(red(&["a", "b"])).begin().agent(trespassing("b")).guard(vec![touched(".env")]);
    scene.resume().checks(red(&["a"])).pass(run("c"), red(&["a", "b", "c"]));
    assert_eq!(scene.puts_back().map(|best| best.iteration), Some(Iteration(0)), "not the tree of iteration 1");
}

#[test]
fn work_beside_a_prohibited_change_is_looked_at_when_the_loop_is_resumed() {
    let mut scene = Scene::red(config());
    scene.begin().agent(trespassing("b")).guard(vec![touched(".env")]).resume();
    assert_eq!(scene.phase(), "verifying");
    assert_eq!(scene.run.facts().tree, tree("put back"), "never the tree with the prohibited change");
    scene.checks(green());
    assert_eq!(scene.outcome(), &VERIFIED);
    assert_eq!(scene.agents(), 1);
}

#[test]
fn the_claim_of_a_trespasser_completes_nothing_when_the_loop_is_resumed() {
    let mut scene = Scene::start(without_checks());
    scene.begin().agent(AgentRun { final_message: CLAIM.into(), ..trespassing("b") }).guard(vec![touched(".env")]);
    assert_eq!(scene.reason(), AbortReason::ProhibitedPath);
    scene.resume();
    assert_eq!(scene.phase(), "pausing", "another pass, not an end");
}

#[test]
fn the_ratchet_undoes_a_pass_that_made_things_worse() {
    let mut scene = Scene::red(LoopConfig { ratchet: true, ..config() });
    scene.pass(run("b"), red(&["b"])).pass(run("c"), red(&["a", "b"]));
    let best = Best { iteration: Iteration(1), failing: 1, tree: tree("b") };
    assert_eq!(scene.asked, [Effect::RestoreTree { attempt: scene.attempt(), to: best }]);
    scene.restore("b");
    assert_eq!(scene.phase(), "pausing");
    assert_eq!(scene.run.facts().tree, tree("b"));
    assert!(scene.run.facts().iterations[1].undone);
    scene.begin();
    assert!(scene.prompt().contains("were undone; the files are as after iteration 1\n"), "{}", scene.prompt());
    assert!(scene.prompt().contains("undone because it made things worse"), "{}", scene.prompt());
}

#[test]
fn the_ratchet_leaves_equal_better_and_merely_flaky_passes_alone() {
    let mut scene = Scene::red(LoopConfig { ratchet: true, ..config() });
    scene.pass(run("b"), red(&["b"]));
    assert_eq!(scene.phase(), "pausing", "as many failures as before");
    scene.pass(run("b"), red(&["a", "b"]));
    assert_eq!(scene.phase(), "pausing", "the tree of the best state, so there is nothing to undo");
    assert!(!scene.run.facts().iterations[1].undone);
}

#[test]
fn the_ratchet_goes_back_to_the_start_when_nothing_was_better() {
    let mut scene = Scene::red(LoopConfig { ratchet: true, ..config() });
    scene.pass(run("b"), red(&["a", "b"]));
    assert_eq!(scene.puts_back().map(|best| best.iteration), Some(Iteration(0)));
    scene.restore("start").begin();
    assert!(scene.prompt().contains("were undone; the files are as at the start\n"), "{}", scene.prompt());
}

#[test]
fn the_ratchet_also_undoes_the_last_iteration() {
    let last = || {
        let mut scene = Scene::red(LoopConfig { ratchet: true, max_iterations: 1, ..config() });
        scene.pass(run("b"), red(&["a", "b"]));
        assert_eq!((scene.phase(), scene.finishes()), ("restoring", 0));
        scene
    };
    let mut scene = last();
    scene.restore("start");
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    let facts = scene.run.facts();
    assert!(facts.iterations[0].undone && facts.tree == tree("start"));
    assert_eq!(facts.kept.as_ref().map(|best| best.iteration), Some(Iteration(0)));
    assert_eq!(scene.finishes(), 1);

    // Interrupted before the files were restored, and resumed with more iterations.
    let mut scene = last();
    scene.resume_with(None, Limits { max_iterations: Some(2), ..Limits::default() });
    scene.restore("start");
    assert_eq!((scene.phase(), scene.finishes()), ("pausing", 0));
}

#[test]
fn a_journal_from_before_keeps_its_last_iteration() {
    let config = LoopConfig { ratchet: true, max_iterations: 1, ..config() };
    let mut scene = Scene::with_behaviour(config, crate::event::V6_RATCHET_AT_END - 1);
    scene.baseline(red(&["a"])).pass(run("b"), red(&["a", "b"]));
    assert_eq!((scene.reason(), &scene.run.facts().tree), (AbortReason::MaxIterations, &tree("b")));
}

#[test]
fn a_stalled_pass_is_undone_before_the_loop_changes_its_way() {
    let stalled = || {
        let deep_debug = Some(debugging());
        let mut scene = Scene::red(LoopConfig { ratchet: true, stall_threshold: 1, deep_debug, ..config() });
        scene.pass(run("b"), red(&["a", "b"])).restore("start").pass(run("b"), red(&["a", "b"]));
        assert_eq!(scene.phase(), "restoring");
        scene
    };
    let mut scene = stalled();
    scene.restore("start");
    assert!(scene.run.facts().escalated);
    assert_eq!(scene.phase(), "pausing");

    let mut scene = stalled();
    scene.stop(StopWhen::AfterIteration).restore("start");
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    assert!(!scene.run.facts().escalated, "a loop that ends works with no other skill");
}

#[test]
fn the_best_state_is_handed_back_when_asked_for() {
    let config = LoopConfig { keep: Keep::Best, max_iterations: 2, ..config() };
    let mut scene = Scene::red(config.clone());
    scene.pass(run("b"), red(&["a"])).pass(run("c"), red(&["a", "b"]));
    assert_eq!(scene.phase(), "closing");
    assert_eq!(scene.finishes(), 0, "the loop is over when the workspace is as promised");
    scene.restore("b");
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    assert_eq!(scene.run.facts().kept, Some(Best { iteration: Iteration(1), failing: 1, tree: tree("b") }));
    assert_eq!(scene.finishes(), 1);

    // Goes on from there, and what was kept then is no longer what is kept.
    scene.resume_with(None, Limits { max_iterations: Some(3), max_cost: None, ..Limits::default() });
    assert_eq!(scene.phase(), "pausing");
    scene.pass(run("d"), green());
    assert_eq!((scene.outcome(), &scene.run.facts().kept), (&VERIFIED, &None));

    let mut scene = Scene::red(config);
    scene.pass(run("b"), red(&["a", "b"])).pass(run("c"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::MaxIterations, "the last state is the best, nothing is to be done");
    assert_eq!(scene.run.facts().kept, None);
}

#[test]
fn work_that_was_given_up_for_the_best_state_is_not_looked_at_later() {
    let mut scene = Scene::red(LoopConfig { keep: Keep::Best, ..config() });
    scene.begin().stop(StopWhen::Now).agent(run("b")).restore("start");
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    scene.resume();
    assert_eq!(scene.phase(), "pausing", "a verdict on another tree would say nothing about that work");
}

#[test]
fn verified_work_is_committed_at_the_end_and_only_then() {
    let config = LoopConfig { commit: true, max_iterations: 2, ..config() };
    let mut scene = Scene::red(config.clone());
    scene.pass(run("b"), green());
    assert_eq!(scene.asked, [Effect::CommitWork { attempt: scene.attempt() }]);
    scene.commit(Some("abc123"), None);
    assert_eq!(scene.outcome(), &VERIFIED);
    assert_eq!(scene.run.facts().commit.as_deref(), Some("abc123"));

    let mut scene = Scene::red(config.clone());
    scene.pass(run("b"), green()).commit(None, Some("a hook refused it"));
    assert_eq!(scene.outcome(), &VERIFIED, "the work is verified all the same");
    assert_eq!(scene.run.facts().commit_problem.as_deref(), Some("a hook refused it"));

    let mut scene = Scene::red(config);
    scene.pass(run("b"), red(&["a"])).pass(run("c"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    assert!(!scene.all.iter().any(|effect| matches!(effect, Effect::CommitWork { .. })));
}

#[test]
fn a_fault_on_the_way_to_the_commit_does_not_cost_the_work() {
    let mut scene = Scene::red(LoopConfig { commit: true, ..config() });
    scene.pass(run("b"), green()).fault();
    assert!(matches!(scene.outcome(), Outcome::Error { cause: ErrorCause::Faulted { .. } }));
    scene.resume();
    assert_eq!(scene.asked, [Effect::CommitWork { attempt: scene.attempt() }]);
    scene.commit(Some("abc123"), None);
    assert_eq!((scene.outcome(), scene.agents()), (&VERIFIED, 1));
}

#[test]
fn each_alert_comes_once_at_its_moment_and_never_again() {
    let mut scene = Scene::start(LoopConfig { max_iterations: 10, same_error_threshold: 99, ..config() });
    scene.day = DayBudget { spent: Money::dollars(39), cap: Money::dollars(50) };
    scene.baseline(red(&["a"])).begin().agent(costing("b", known(cents(399)))).checks(red(&["a"]));
    assert_eq!(scene.alerts(), [], "$3.99 of $5.00, $39 of $50, 1 of 10");
    scene.begin().agent(costing("c", known(cents(1))));
    assert_eq!(scene.asked[0], Effect::RaiseAlert(Alert::Cost80), "as soon as it is known, before the checks");
    scene.event(Event::AlertRaised { alert: Alert::Cost80 });
    assert!(scene.asked.is_empty(), "the record of an alert raises none");
    scene.checks(red(&["a"]));
    scene.day.spent = Money::dollars(40);
    scene.begin();
    assert_eq!(scene.asked[0], Effect::RaiseAlert(Alert::Day80));
    scene.event(Event::AlertRaised { alert: Alert::Day80 });
    scene.agent(costing("d", known(cents(1)))).checks(red(&["a"]));
    for name in ["e", "f", "g", "h", "i"] {
        scene.pass(costing(name, known(cents(1))), red(&["a"]));
    }
    scene.begin().resume_not_ran().begin();
    assert_eq!(scene.alerts(), [Alert::Cost80, Alert::Day80], "8 of 10 iterations are over");
    scene.agent(costing("k", known(cents(1))));
    assert_eq!(scene.asked[0], Effect::RaiseAlert(Alert::Iterations90));
    scene.event(Event::AlertRaised { alert: Alert::Iterations90 });
    scene.checks(red(&["a"]));
    assert_eq!(scene.alerts(), [Alert::Cost80, Alert::Day80, Alert::Iterations90]);

    // Another process reads the journal: what was raised stays raised.
    let mut again = Scene { run: Loop::replay(scene.journal.clone()).unwrap(), all: vec![], ..scene };
    again.resume().begin().agent(run("l")).checks(red(&["a"]));
    assert_eq!(again.alerts(), []);
}

#[test]
fn an_unmetered_agent_raises_no_cost_alert() {
    let mut scene = Scene::red(unmetered(config()));
    scene.pass(costing("b", known(Money::dollars(5))), red(&["a"]));
    assert_eq!(scene.alerts(), []);
}

#[test]
fn late_answers_of_old_attempts_change_nothing_but_the_clock() {
    let mut scene = Scene::red(config());
    scene.begin().resume().begin();
    let current = scene.attempt();
    let before = scene.run.clone();
    let (day, old) = (scene.day, ralph_model::Attempt(current.0 - 1));
    for late in [
        Event::BaselineFinished { attempt: old, verdict: green() },
        Event::IterationStarted { attempt: old, tree: tree("x"), reserved: Money::dollars(5), day },
        Event::IterationRefused { attempt: old, refusal: Refusal::Stopped },
        Event::AgentFinished { attempt: old, run: Box::new(trespassing("x")), day, claim: None },
        Event::ProhibitedRestored { attempt: old, violations: vec![], patch: "x".into(), tree: None },
        Event::ChecksFinished { attempt: old, verdict: green(), tree: None },
        Event::TreeRestored { attempt: old, tree: tree("x") },
        Event::WorkCommitted { attempt: old, commit: Some("x".into()), problem: None },
    ] {
        scene.event(late);
        assert!(scene.asked.is_empty());
    }
    let mut after = scene.run.clone();
    assert_eq!(after.facts.active, before.facts.active.plus(Millis(8000)));
    (after.facts.active, after.facts.last) = (before.facts.active, before.facts.last);
    assert_eq!(after, before);
}

#[test]
fn the_status_and_the_envelope_of_a_pass_can_be_asked_for() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["a"]));
    let record = scene.run.facts().last_iteration().unwrap();
    assert_eq!(scene.run.status(record), Status::Partial);
    assert!(scene.run.envelope(record).starts_with("[DELEGATION RESULT — WORKER]\nObjective: Fix the parser.\n"));
}

#[test]
fn a_claim_is_what_was_observed_when_the_agent_ended() {
    let finish = |claim: Option<Claim>| {
        let mut scene = Scene::start(without_checks());
        scene.begin();
        let (attempt, day) = (scene.attempt(), scene.day);
        scene.event(Event::AgentFinished { attempt, run: Box::new(saying("b", CLAIM)), day, claim });
        scene.run.facts().iterations[0].clone()
    };
    assert!(!finish(Some(Claim::default())).claimed, "the record decides, not the words");
    let blocked = finish(Some(Claim { done: false, blocked: Some("no key".into()) }));
    assert_eq!(blocked.blocked.as_deref(), Some("no key"));
    assert!(finish(None).claimed, "a journal of an older version has no record");
}
