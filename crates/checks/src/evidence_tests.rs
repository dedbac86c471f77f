use ralph_model::{Ended, Millis, OutputRef, TestTally};

use super::*;

fn outcome(command: &str, ended: Ended, tests: Option<(u32, u32)>, passed: bool) -> CheckOutcome {
    CheckOutcome {
        command: command.into(),
        passed,
        ended,
        tests: tests.map(|(passed, failed)| TestTally { passed, failed, ..TestTally::default() }),
        duration: Millis(1),
        excerpt: String::new(),
        signature: None,
        output: OutputRef::default(),
    }
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
        let evidence = evidence(&check);
        assert_eq!((evidence.tool.as_str(), evidence.success, evidence.summary.as_str()), ("verify", success, summary));
    }
}

#[test]
fn a_long_command_is_cut() {
    let check = outcome(&"ä".repeat(500), Ended::Exited { code: 0 }, None, true);
    assert_eq!(evidence(&check).summary, format!("{}… (exit code 0)", "ä".repeat(200)));
}
