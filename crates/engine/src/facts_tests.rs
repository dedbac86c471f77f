use proptest::prelude::*;
use ralph_model::{Expectation, Keep};

use super::*;
use crate::fixtures::*;
use crate::{Limits, StopBy};

fn facts() -> Facts {
    Scene::red(config()).run.facts().clone()
}

#[test]
fn the_best_state_has_the_fewest_failures_and_of_equal_ones_is_the_latest() {
    let mut scene = Scene::start(config());
    assert_eq!(scene.run.facts().best(), None, "nothing was looked at yet");
    scene.baseline(red(&["a", "b"]));
    let best = |scene: &Scene| scene.run.facts().best().map(|best| (best.iteration.0, best.failing, best.tree.0));
    assert_eq!(best(&scene), Some((0, 2, "start".into())));
    scene.pass(run("b"), red(&["a", "b", "c"]));
    assert_eq!(best(&scene), Some((0, 2, "start".into())));
    scene.pass(run("c"), red(&["a", "c"]));
    assert_eq!(best(&scene), Some((2, 2, "c".into())));
    scene.pass(run("d"), red(&["a"])).begin().resume();
    assert_eq!(best(&scene), Some((3, 1, "d".into())), "an interrupted pass is no state");
}

#[test]
fn an_undone_pass_is_never_the_best() {
    let mut scene = Scene::red(LoopConfig { ratchet: true, keep: Keep::Best, ..config() });
    scene.pass(run("b"), red(&["a", "b"])).restore("start");
    assert_eq!(scene.run.facts().best().map(|best| best.iteration), Some(Iteration(0)));
}

#[test]
fn verdicts_are_remembered_across_interrupted_passes() {
    let mut scene = Scene::start(config());
    assert_eq!(scene.run.facts().last_verdict(), None);
    scene.baseline(red(&["a", "b", "c"]));
    assert_eq!(scene.run.facts().last_verdict().map(Verdict::failing), Some(3));
    assert_eq!(scene.run.facts().verdict_before_last(), None);
    scene.pass(run("b"), red(&["a", "b"])).begin().resume();
    assert_eq!(scene.run.facts().last_verdict().map(Verdict::failing), Some(2));
    assert_eq!(scene.run.facts().verdict_before_last().map(Verdict::failing), Some(3));
}

#[test]
fn an_interrupted_pass_neither_moves_the_loop_nor_stands_still() {
    let mut scene = Scene::red(config());
    scene.pass(run("start"), red(&["a"]));
    let before = scene.run.facts().progress.clone();
    scene.begin().resume();
    assert_eq!(scene.run.facts().progress, before);
}

#[test]
fn all_failing_checks_make_the_signature_together() {
    let mut scene = Scene::red(config());
    let mut verdict = red(&["a"]);
    verdict.checks.push(check("make lint", &["l"]));
    scene.pass(run("b"), verdict);
    let signature = scene.run.facts().iterations[0].signature().unwrap();
    assert_eq!((signature.hash.as_str(), signature.headline.as_str()), ("a+l", "a failed: expected 1, got 2"));
    scene.pass(run("c"), red(&["a"]));
    assert_eq!(scene.run.facts().progress.repeats, 1, "one failure less is another failure");
}

#[test]
fn a_claim_is_false_only_when_something_says_so() {
    let mut scene = Scene::red(config());
    scene.begin().agent(saying("b", CLAIM));
    assert!(!scene.run.facts().iterations[0].is_false_claim(), "nobody has looked yet");
    scene.checks(red(&["a"]));
    assert!(scene.run.facts().iterations[0].is_false_claim());
}

#[test]
fn a_wish_to_stop_becomes_more_urgent_and_never_less() {
    let mut facts = facts();
    let stop = |when, by| Stop { when, by };
    facts.note_stop(stop(StopWhen::AfterIteration, StopBy::Keyboard));
    assert!(!facts.stops_now());
    facts.note_stop(stop(StopWhen::Now, StopBy::Signal));
    facts.note_stop(stop(StopWhen::AfterIteration, StopBy::Request));
    assert_eq!(facts.stop, Some(stop(StopWhen::Now, StopBy::Signal)));
}

#[test]
fn alerts_are_due_at_their_figure_and_not_before() {
    let due = |change: fn(&mut Facts)| {
        let mut facts = facts();
        change(&mut facts);
        facts.due_alerts()
    };
    assert_eq!(due(|_| {}), []);
    assert_eq!(due(|facts| facts.spent = Money::from_micros(3_999_999)), []);
    assert_eq!(due(|facts| facts.spent = Money::dollars(4)), [Alert::Cost80]);
    assert_eq!(due(|facts| facts.day.spent = Money::from_micros(1)), [Alert::Day80], "a day without a cap is full");
    let records = |count: u32, max_iterations: u32| {
        let mut scene = Scene::red(LoopConfig { max_iterations, same_error_threshold: 99, ..config() });
        for n in 0..count {
            scene.pass(costing(&n.to_string(), ralph_model::Cost::Unmetered), red(&["a"]));
        }
        scene.alerts()
    };
    assert_eq!(records(8, 10), []);
    assert_eq!(records(9, 10), [Alert::Iterations90]);
    assert_eq!(records(1, 2), []);
    assert_eq!(records(2, 2), [], "none is left to warn of");
    assert_eq!(records(1, 1), [], "the only one is the last from the beginning");
}

#[test]
fn new_limits_replace_only_what_they_name() {
    let mut facts = facts();
    facts.resume(Limits { max_iterations: Some(7), max_cost: None, ..Limits::default() });
    assert_eq!((facts.config.max_iterations, facts.config.max_cost), (7, Money::dollars(5)));
    facts.resume(Limits { max_iterations: None, max_cost: Some(Money::dollars(9)), ..Limits::default() });
    assert_eq!((facts.config.max_iterations, facts.config.max_cost), (7, Money::dollars(9)));
}

#[test]
fn without_checks_what_is_expected_counts_as_missing_from_the_start() {
    let expects = vec![Expectation::File("z".into()), Expectation::Commit];
    let mut facts = Scene::start(LoopConfig { expects: expects.clone(), ..without_checks() }).run.facts().clone();
    assert!(facts.needs_verdict() && !facts.has_checks());
    let (start, all) = (facts.tree.clone(), missing(&expects).failing_set());
    facts.progress.note(&start, all, None);
    assert_eq!(facts.progress.without, 1);
    facts.progress.note(&start, missing(&expects[..1]).failing_set(), None);
    assert_eq!(facts.progress.without, 0, "one of two is met now");
}

proptest! {
    #![proptest_config(cases(64, 2000))]

    /// Against the plainest model: a state is new, or it is not.
    #[test]
    fn progress_is_a_state_that_was_never_there(states in proptest::collection::vec((0_u8..4, 0_u8..3), 0..30)) {
        let mut progress = Progress::default();
        let mut seen: Vec<(u8, u8)> = Vec::new();
        let mut without = 0;
        for state in states {
            without = if seen.contains(&state) { without + 1 } else { 0 };
            seen.push(state);
            progress.note(&tree(&state.0.to_string()), vec![state.1.to_string()], None);
            prop_assert_eq!(progress.without, without);
        }
    }

    #[test]
    fn repeats_count_the_last_equal_signatures(errors in proptest::collection::vec(proptest::option::of(0_u8..3), 0..30)) {
        let mut progress = Progress::default();
        for (place, error) in errors.iter().enumerate() {
            let signature = error.map(|n| Signature { hash: n.to_string(), headline: String::new() });
            progress.note(&tree("x"), vec![], signature);
            let row = errors[..=place].iter().rev().take_while(|other| *other == error).count();
            let expected = if error.is_some() { row } else { 0 };
            prop_assert_eq!(progress.repeats as usize, expected);
        }
    }
}
