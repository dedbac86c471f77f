use ralph_model::{AbortReason, LoopConfig, Outcome, Tamper, TamperKind, Tripwire, Verify};

use super::*;
use crate::fixtures::{Scene, config, green, red, run, tampered, wired};

fn tests_fail(failed_before: u32, unproven: &[&str]) -> Tripwire {
    let unproven = unproven.iter().map(|name| (*name).to_owned()).collect();
    Tripwire::TestsFail { changed: 4, failed_before, unproven }
}

/// What a result is worth after this was changed about what the journal says.
fn graded(wire: Tripwire, change: fn(&mut Facts)) -> (Grade, String) {
    let mut scene = Scene::red(wired());
    scene.begin().agent(run("work")).checks(green());
    let mut facts = scene.run.facts().clone();
    facts.iterations[0].verdict.as_mut().unwrap().tripwire = Some(wire);
    change(&mut facts);
    let Graded { grade, reasons } = grade(&facts).unwrap();
    (grade, reasons.join("; "))
}

fn verdict(facts: &mut Facts) -> &mut Verdict {
    facts.iterations[0].verdict.as_mut().unwrap()
}

#[test]
fn the_table_of_rules() {
    use Grade::{Standard, Strong, Weak};
    type Change = fn(&mut Facts);
    let isolated: Change = |facts| facts.config.verify = Verify::Isolated;
    let rules: [(&str, Grade, Tripwire, Change); 19] = [
        ("4 of 4 changed tests failed as required", Standard, tests_fail(1, &[]), |_| {}),
        ("checks ran isolated; only the work changed", Strong, tests_fail(1, &[]), isolated),
        ("no change makes these fail: b", Standard, tests_fail(1, &["b"]), isolated),
        ("none of the tests that failed at the start", Weak, tests_fail(0, &[]), isolated),
        ("checks ran isolated", Strong, tests_fail(0, &[]), |facts| {
            // A start that did not compile names no failing test.
            facts.config.verify = Verify::Isolated;
            facts.baseline.as_mut().unwrap().checks[0].tests = None;
        }),
        ("still fail on the original code, and no test", Weak, Tripwire::BaselineFails, isolated),
        (
            "the tripwire ran out of time after 9 s",
            Weak,
            Tripwire::TimedOut { after: ralph_model::Millis(9000) },
            isolated,
        ),
        ("the tripwire was turned off", Weak, Tripwire::Off, isolated),
        ("the tripwire was not tried: x", Weak, Tripwire::NotPossible { why: "x".into() }, isolated),
        ("planted in 1 file, not real ones changed", Weak, crate::fixtures::reported(), isolated),
        ("no test runner that Ralph knows", Weak, tests_fail(1, &[]), |facts| facts.start.runners = Some(vec![])),
        ("that they compute: include $(X)", Weak, tests_fail(1, &[]), |facts| {
            facts.start.computed = vec!["include $(X)".into()];
        }),
        ("`make test` names no tests", Weak, tests_fail(1, &[]), |facts| verdict(facts).checks[0].tests = None),
        ("`lint` names no tests", Standard, tests_fail(1, &[]), |facts| {
            let lint =
                ralph_model::CheckOutcome { command: "lint".into(), tests: None, ..verdict(facts).checks[0].clone() };
            verdict(facts).checks.push(lint);
        }),
        ("changed with your permission: a, b, c and 1 more", Weak, tests_fail(1, &[]), |facts| {
            verdict(facts).allowed = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        }),
        ("installed packages changed: left-pad", Weak, tests_fail(1, &[]), |facts| {
            verdict(facts).packages = vec!["left-pad".into()];
        }),
        ("restored for the checks: tests/a.py", Standard, tests_fail(1, &[]), |facts| {
            facts.config.verify = Verify::Isolated;
            verdict(facts).tampered = vec![Tamper::new("tests/a.py", TamperKind::Changed)];
        }),
        ("no sandbox", Standard, tests_fail(1, &[]), |facts| {
            facts.config.verify = Verify::Isolated;
            facts.start.sandbox = "none: too old a kernel".into();
        }),
        ("knew no grades", Weak, tests_fail(1, &[]), |facts| facts.start.runners = None),
    ];
    for (words, wanted, wire, change) in rules {
        let (grade, reasons) = graded(wire, change);
        assert_eq!(grade, wanted, "{words}: {reasons}");
        assert!(reasons.contains(words), "{words}: {reasons}");
    }
    let mut failing = Scene::red(wired());
    failing.pass(run("work"), red(&["a"]));
    assert_eq!(grade(failing.run.facts()), None);
}

fn requiring(grade: Grade, config: LoopConfig) -> LoopConfig {
    LoopConfig { require: Some(grade), ..config }
}

#[test]
fn less_than_what_is_required_completes_nothing() {
    // Nothing that an agent does would help.
    let mut weak = Scene::red(requiring(Grade::Standard, wired()));
    weak.begin().agent(run("work")).checks(green()).wire(Tripwire::BaselineFails);
    assert_eq!(weak.reason(), AbortReason::Blocked);
    let said = crate::text::aborted(weak.cause(), crate::text::Continuation::NewRun);
    assert!(said.contains("the result is weak and --require asks for standard: the checks still fail on"), "{said}");

    let mut enough = Scene::red(requiring(Grade::Standard, wired()));
    enough.begin().agent(run("work")).checks(green()).wire(tests_fail(1, &[]));
    assert_eq!(*enough.outcome(), Outcome::Completed { verified: true });

    let mut any = Scene::red(requiring(Grade::Weak, config()));
    any.pass(run("work"), green());
    assert_eq!(*any.outcome(), Outcome::Completed { verified: true });
}

#[test]
fn an_agent_may_undo_what_lowers_the_grade() {
    let isolated = LoopConfig { verify: Verify::Isolated, ..wired() };
    let mut scene = Scene::red(requiring(Grade::Strong, isolated));
    scene.begin().agent(run("work")).checks(tampered(green(), "tests/a.py")).wire(tests_fail(1, &[]));
    scene.begin();
    let prompt = scene.prompt();
    assert!(prompt.contains("the result is standard and --require asks for strong"), "{prompt}");
    assert!(!prompt.contains("the loop waits for your"), "{prompt}");
    scene.agent(run("restored")).checks(green()).wire(tests_fail(1, &[]));
    assert_eq!(*scene.outcome(), Outcome::Completed { verified: true });
}
