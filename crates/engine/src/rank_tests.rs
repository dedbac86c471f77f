use ralph_model::{AbortCause, Keep, LoopConfig, TestTally, Verdict};

use crate::fixtures::*;

/// What a runner reports when nothing can be imported: one failure, and no test of its own.
fn broken() -> Verdict {
    let mut verdict = red(&["collection"]);
    let tests = TestTally { passed: 0, failed: 1, ..verdict.checks[0].tests.clone().unwrap() };
    verdict.checks[0].tests = Some(tests);
    verdict
}

/// What a compiler leaves: a failing command and no tests.
fn uncompiled() -> Verdict {
    let mut verdict = red(&["a"]);
    verdict.checks[0].tests = None;
    verdict
}

fn named(mut verdict: Verdict, names: &[&str]) -> Verdict {
    let tests = verdict.checks[0].tests.as_mut().unwrap();
    tests.names = names.iter().map(ToString::to_string).collect();
    verdict
}

#[test]
fn a_run_that_could_not_be_counted_is_not_the_best() {
    for broken in [broken(), uncompiled()] {
        let mut scene = Scene::start(LoopConfig { max_iterations: 2, keep: Keep::Best, ..config() });
        scene.baseline(red(&["a", "b", "c"])).pass(run("b"), red(&["a", "b"])).pass(run("c"), broken);
        let best = scene.puts_back().unwrap().clone();
        assert_eq!((best.iteration.0, best.failing), (1, 2));
        scene.restore("b");
        assert!(matches!(scene.cause(), AbortCause::IterationsUsed { best: Some(best), .. } if best.iteration.0 == 1));
    }
}

#[test]
fn a_run_that_could_not_be_counted_is_undone() {
    let mut scene = Scene::start(LoopConfig { ratchet: true, ..config() });
    scene.baseline(red(&["a", "b"])).pass(run("b"), broken());
    assert_eq!(scene.phase(), "restoring");
}

#[test]
fn a_start_that_could_not_be_counted_is_worse_than_tests_that_run() {
    let mut scene = Scene::start(LoopConfig { ratchet: true, ..config() });
    scene.baseline(uncompiled()).pass(run("b"), red(&["a", "b"]));
    assert_eq!(scene.phase(), "pausing", "now it compiles");
    assert_eq!(scene.run.facts().best().unwrap().iteration.0, 1);
}

#[test]
fn new_failing_tests_do_not_hide_that_expected_ones_pass() {
    let mut scene = Scene::start(LoopConfig { ratchet: true, ..config() });
    scene.baseline(named(red(&["a"]), &["a", "b"])).pass(run("b"), red(&["new 1", "new 2"]));
    assert_eq!(scene.phase(), "pausing");
    assert_eq!(scene.run.facts().best().unwrap().iteration.0, 1);
}

#[test]
fn commands_that_count_no_tests_are_compared_as_before() {
    let mut scene = Scene::start(config());
    scene.baseline(uncompiled()).pass(run("b"), uncompiled());
    assert_eq!(scene.run.facts().best().unwrap().iteration.0, 1, "of equal ones the latest");
    assert!(scene.run.facts().could_be_counted(&uncompiled()));
}
