use super::*;

fn change(kind: ChangeKind, pin: &Pin) -> PinnedChange<'_> {
    let (is_allowed, keeps_tests, can_be_restored) = (false, false, true);
    PinnedChange { path: "tests/a.py", kind, pin: Some(pin), is_allowed, keeps_tests, what: "", can_be_restored }
}

#[test]
fn permission_comes_before_everything_and_kept_tests_before_tampering() {
    let pin = Pin { glob: "tests/**".into(), kind: PinKind::Frozen, why: "tests".into() };
    let changed = change(ChangeKind::Modified, &pin);
    let tampered = |kind| ChangeJudgement::Tampered(Tamper::new("tests/a.py", kind));
    assert_eq!(judge_change(changed), tampered(TamperKind::Changed));
    assert_eq!(judge_change(change(ChangeKind::Deleted, &pin)), tampered(TamperKind::Deleted));
    assert_eq!(judge_change(PinnedChange { keeps_tests: true, ..changed }), ChangeJudgement::Harmless);
    assert_eq!(judge_change(PinnedChange { is_allowed: true, keeps_tests: true, ..changed }), ChangeJudgement::Allowed);
    let installed = ChangeJudgement::Tampered(Tamper::with("tests/a.py", TamperKind::Installed, "tests"));
    assert_eq!(judge_change(PinnedChange { can_be_restored: false, ..changed }), installed);
}

#[test]
fn a_build_product_is_put_aside() {
    let pin = Pin { glob: "/test-runner".into(), kind: PinKind::Built, why: "built".into() };
    assert_eq!(judge_change(change(ChangeKind::Modified, &pin)), ChangeJudgement::PutAside);
}

#[test]
fn no_number_of_harmless_changes_hides_one_that_voids() {
    let mut tampered: Vec<Tamper> =
        (0..500).map(|n| Tamper::new(format!("a/{n}/.mocharc.json"), TamperKind::Appeared)).collect();
    tampered.push(Tamper::new("node_modules/mocha/bin/mocha.js", TamperKind::Installed));
    shorten(&mut tampered);
    assert_eq!(tampered.len(), MAX_TAMPERED + 1);
    assert!(tampered.iter().any(|tamper| !tamper.was_undone()));
}
