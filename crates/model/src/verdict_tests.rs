use super::*;

fn check(command: &str, passed: bool, tests: Option<TestTally>) -> CheckOutcome {
    CheckOutcome {
        command: command.into(),
        passed,
        ended: Ended::Exited { code: i32::from(!passed) },
        tests,
        duration: Millis(1),
        excerpt: String::new(),
        signature: None,
        output: OutputRef::default(),
    }
}

fn verdict(checks: Vec<CheckOutcome>) -> Verdict {
    Verdict { tree: TreeHash("t".into()), checks, missing: vec![] }
}

#[test]
fn no_checks_pass_nothing() {
    assert!(!verdict(vec![]).passed());
    assert!(verdict(vec![check("a", true, None)]).passed());
    assert!(!verdict(vec![check("a", true, None), check("b", false, None)]).passed());
}

#[test]
fn an_unmet_expectation_fails_a_verdict() {
    let mut verdict = verdict(vec![check("a", true, None)]);
    verdict.missing.push(Missing { expectation: Expectation::Commit, why: "no commit created".into() });
    assert!(!verdict.passed());
    assert_eq!(verdict.failing(), 1);
}

#[test]
fn a_failing_command_counts_even_when_its_runner_counts_no_failure() {
    let tally = TestTally { passed: 3, ..TestTally::default() };
    let verdict = verdict(vec![check("a", false, Some(tally))]);
    assert_eq!((verdict.failing(), verdict.tally()), (1, (3, 1)));
}

#[test]
fn the_failing_set_names_tests_where_it_can() {
    let tally = TestTally { failed: 2, failing: vec!["x".into(), "y".into()], ..TestTally::default() };
    let verdict = verdict(vec![check("a", false, Some(tally)), check("b", false, None), check("c", true, None)]);
    assert_eq!(verdict.failing_set(), ["a: x", "a: y", "b: 1"]);
}
