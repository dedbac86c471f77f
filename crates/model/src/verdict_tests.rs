use super::*;

fn check(command: &str, passed: bool, tests: Option<TestTally>) -> CheckOutcome {
    CheckOutcome {
        command: command.into(),
        passed,
        ended: Ended::Exited { code: i32::from(!passed) },
        tests,
        shrunk: None,
        flaky: false,
        retries: 0,
        duration: Millis(1),
        excerpt: String::new(),
        signature: None,
        output: OutputRef::default(),
    }
}

fn verdict(checks: Vec<CheckOutcome>) -> Verdict {
    Verdict::new(TreeHash("t".into()), checks)
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

fn outcome(command: &str, ended: Ended, tests: Option<(u32, u32)>, passed: bool) -> CheckOutcome {
    let tests = tests.map(|(passed, failed)| TestTally { passed, failed, ..TestTally::default() });
    CheckOutcome { ended, ..check(command, passed, tests) }
}

#[test]
fn evidence_is_worded_exactly() {
    let exited = |code| Ended::Exited { code };
    for (check, success, summary) in [
        (outcome("npm test", exited(1), Some((5, 2)), false), false, "npm test (exit code 1, 2 failing)"),
        (
            outcome("npm test || true", exited(0), Some((5, 2)), false),
            false,
            "npm test || true (exit code 0, 2 failing)",
        ),
        (outcome("cargo test", exited(101), Some((5, 0)), false), false, "cargo test (exit code 101)"),
        (outcome("cargo test", exited(0), Some((12, 0)), true), true, "cargo test (12 passing)"),
        (outcome("make check", exited(0), None, true), true, "make check (exit code 0)"),
        (outcome("make check", exited(2), None, false), false, "make check (exit code 2)"),
        (outcome("a &&\n  b", Ended::Signalled { signal: 9 }, None, false), false, "a && b (ended by signal 9)"),
        (
            outcome("npm test", Ended::TimedOut { after: Millis::minutes(10) }, Some((1, 1)), false),
            false,
            "npm test (stopped after its time limit of 10m 00s, 1 failing)",
        ),
    ] {
        let evidence = ToolEvidence::from(&check);
        assert_eq!((evidence.tool.as_str(), evidence.success, evidence.summary.as_str()), ("verify", success, summary));
    }
}

#[test]
fn a_long_command_is_cut() {
    let check = outcome(&"ä".repeat(500), Ended::Exited { code: 0 }, None, true);
    assert_eq!(ToolEvidence::from(&check).summary, format!("{}… (exit code 0)", "ä".repeat(200)));
}
