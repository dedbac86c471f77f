use super::*;

fn change(kind: ChangeKind, pin: &Pin) -> PinnedChange<'_> {
    let (is_allowed, keeps_tests, can_be_restored) = (false, false, true);
    let (path, what, is_declared) = ("tests/a.py", "", false);
    PinnedChange { path, kind, pin: Some(pin), is_allowed, keeps_tests, what, is_declared, can_be_restored }
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

#[test]
fn a_package_may_change_with_its_manifest_and_new_ones_may_appear() {
    use ChangeKind::{Added, Deleted, Modified};
    let pin = Pin { glob: "/node_modules/**".into(), kind: PinKind::Packages, why: "installed packages".into() };
    let judged = |path, kind, is_declared| {
        let change = PinnedChange { path, is_declared, can_be_restored: false, ..change(kind, &pin) };
        match judge_change(change) {
            ChangeJudgement::Tampered(tamper) => format!("{:?}", tamper.kind),
            other => format!("{other:?}"),
        }
    };
    let deep = "node_modules/jest/node_modules/deep/index.js";
    for (path, kind, declared, wanted) in [
        (deep, Modified, false, "Installed"),
        (deep, Modified, true, "Reported"),
        (deep, Deleted, false, "Installed"),
        (deep, Added, false, "Reported"),
        (".venv/lib/python3.12/site-packages/x.dist-info/entry_points.txt", Added, false, "Installed"),
        (".venv/lib/python3.12/site-packages/x.dist-info/entry_points.txt", Added, true, "Reported"),
        // A link to a package of the same repository.
        ("packages/mine/index.js", Modified, false, "Harmless"),
    ] {
        assert_eq!(judged(path, kind, declared), wanted, "{path} {kind:?} {declared}");
    }
    let packages = [deep, "web/node_modules/@types/node/a.d.ts", "v/site-packages/six.py"].map(package_of);
    assert_eq!(packages, ["deep", "@types/node", "six.py"].map(|name| Some(name.to_owned())));
    for (path, wanted) in
        [("web/package.json", true), ("requirements-dev.txt", true), ("uv.lock", true), ("src/lock.py", false)]
    {
        assert_eq!(declares_packages(path), wanted, "{path}");
    }
}
