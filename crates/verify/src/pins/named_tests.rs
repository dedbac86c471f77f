use super::*;
use crate::pins::testing::Little;

#[test]
fn names_that_give_a_check_away() {
    for (file, is_check) in [
        ("tools/verify_all.py", true),
        ("checkAll.js", true),
        ("expected/a.txt", true),
        ("ci/run.py", true),
        ("src/latest.py", false),
        ("src/cities.py", false),
        ("server.js", false),
        ("contest.py", false),
    ] {
        assert_eq!(looks_like_check(file), is_check, "{file}");
    }
}

#[test]
fn what_the_check_executes_and_compares_with_is_frozen_and_the_work_is_not() {
    let little = Little::new(&[
        ("verify.sh", "node server.js < input.txt | diff - wanted.txt\nnode tools/check.js --config=conf.yml\n"),
        ("server.js", ""),
        ("input.txt", ""),
        ("wanted.txt", ""),
        ("conf.yml", ""),
        ("tools/check.js", ""),
        ("other.txt", ""),
        ("app.py", ""),
    ]);
    little.expect(
        "./verify.sh && python3 app.py",
        "verify.sh Frozen
         server.js -
         input.txt -
         wanted.txt Frozen
         conf.yml Frozen
         tools/check.js Frozen
         other.txt -
         app.py -",
    );
    let notes = little.ask(&["./verify.sh && python3 app.py"]).notes;
    assert!(notes.iter().any(|note| note.starts_with("server.js is named")), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("app.py is named")), "{notes:?}");
}

#[test]
fn what_the_check_executes_and_nobody_wrote_may_not_appear() {
    let little = Little::new(&[("a.py", "")]);
    little.expect(
        "./verify.sh && python3 tools/run.py out.txt && bash x.sh && python3 -m app && pytest report.xml",
        "verify.sh Steering
         tools/run.py Steering
         x.sh Steering
         out.txt -
         app -
         report.xml -",
    );
    let notes = little.ask(&["./verify.sh"]).notes;
    assert_eq!(notes, ["verify.sh does not exist; the check executes it, so only you can create it"]);
    let little = Little::new(&[("package.json", "{}")]);
    assert!(little.ask(&["npm test"]).notes[0].contains("no script `test`"));
}

#[test]
fn a_named_manifest_keeps_its_own_rule() {
    let little = Little::new(&[("Cargo.toml", ""), ("src/lib.rs", ""), ("tests/test_a.py", "")]);
    little.expect(
        "cargo test --manifest-path Cargo.toml && pytest tests/test_a.py::test_one && rustfmt --check src/lib.rs",
        "Cargo.toml Parts
         src/lib.rs Parts
         tests/test_a.py Frozen",
    );
}

#[test]
fn scripts_under_test_and_programs_that_the_check_builds_are_free() {
    let little = Little::new(&[
        ("test.sh", "#!/bin/sh\n. ./functions.sh\nsh ./price.sh 1\ngrep -q done notes.txt\n"),
        ("functions.sh", ""),
        ("notes.txt", ""),
        ("list.txt", ""),
        ("price.sh", ""),
        ("build.sh", ""),
    ]);
    little.expect(
        "./build.sh && ./bin/app && ./target/debug/app && sh ./test.sh && grep -q ready list.txt",
        "test.sh Frozen
         functions.sh -
         notes.txt -
         list.txt -
         build.sh Frozen
         price.sh -
         bin/app -
         target/debug/app -",
    );
}

#[test]
fn an_environment_that_the_check_would_use_is_moved_away() {
    let little = Little::new(&[
        ("a.py", ""),
        ("test.sh", "#!/bin/sh\nif [ -d .venv ]; then . .venv/bin/activate; fi\npytest\n"),
    ]);
    little.expect("[ -f .venv/bin/activate ] && . .venv/bin/activate; python3 -m pytest", ".venv/bin/activate Built");
    little.expect("./test.sh", ".venv/bin/activate Built\n.venv/bin/python -");
}
