use super::*;

#[test]
fn a_line_of_evidence_reads_as_the_envelope_shows_it() {
    let changed = Tamper::new("tests/login.test.ts", TamperKind::Changed);
    assert_eq!(changed.to_string(), "tests/login.test.ts: protected file changed, restored before the check");
    let wire = Tamper::new("verify", TamperKind::Tripwire);
    assert_eq!(wire.to_string(), "verify: passes with a failing test planted");
}

#[test]
fn what_cannot_be_undone_voids_the_checks() {
    for kind in [TamperKind::Installed, TamperKind::Program, TamperKind::DuringCheck, TamperKind::Tripwire] {
        assert!(!Tamper::new("x", kind).was_undone());
    }
    for kind in [TamperKind::Changed, TamperKind::Deleted, TamperKind::Appeared, TamperKind::Mode, TamperKind::Part] {
        assert!(Tamper::new("x", kind).was_undone());
    }
}

#[test]
fn a_wire_that_nobody_reported_and_failures_beside_it_bring_a_verdict_down() {
    let planted = vec!["tests/test_a.py".to_owned()];
    assert!(Tripwire::Reported { planted: planted.clone() }.holds());
    assert!(Tripwire::BaselineFails.holds() && Tripwire::Off.holds());
    assert!(!Tripwire::Passed { planted, detail: String::new() }.holds());
    assert!(!Tripwire::OthersFail { failing: vec!["adds".into()] }.holds());
    assert_eq!(
        Tripwire::Passed { planted: vec![], detail: String::new() }.to_string(),
        "the checks pass on the original code, where they failed before"
    );
}
