use super::*;
use crate::pins::testing::Little;

fn lines(little: &Little, command: &str) -> Vec<String> {
    let show = |text: Expanded| format!("{}: {}", text.from.unwrap_or_default(), text.text.trim());
    expand(little, command).into_iter().map(show).collect()
}

#[test]
fn scripts_of_npm_with_those_before_and_after() {
    let little = Little::new(&[(
        "package.json",
        r#"{"scripts": {"pretest": "tsc", "test": "npm run unit -- --ci", "unit": "jest", "other": "x", "a": "npm run a"}}"#,
    )]);
    let wanted = [": npm test", "package.json: tsc", "package.json: npm run unit -- --ci", "package.json: jest"];
    assert_eq!(lines(&little, "npm test"), wanted);
    assert_eq!(lines(&little, "npm t")[1..], wanted[1..]);
    assert_eq!(lines(&little, "yarn unit"), [": yarn unit", "package.json: jest"]);
    assert_eq!(lines(&little, "npm run a"), [": npm run a", "package.json: npm run a"]);
    assert_eq!(lines(&little, "npm run none"), [": npm run none"]);
}

#[test]
fn scripts_of_another_folder() {
    let little = Little::new(&[("web/package.json", r#"{"scripts": {"test": "vitest run"}}"#), ("web/src/a.ts", "")]);
    for command in ["cd web && npm test", "npm --prefix web test", "pnpm -C web test", "cd web/src && yarn test"] {
        let texts = expand(&little, command);
        assert_eq!(texts.len(), 2, "{command}");
        assert_eq!((texts[1].text.as_str(), texts[1].folder.as_str()), ("vitest run", "web"), "{command}");
    }
}

#[test]
fn recipes_of_make_with_what_they_need() {
    let little = Little::new(&[
        (
            "Makefile",
            "include common.mk\nX := a:b\n.PHONY: check\nall: build\n\techo all\ncheck: lint | build\n\t@./verify.sh\n\t-cargo test\nlint: ; cargo clippy\n%.o: %.c\n\tcc $<\n",
        ),
        ("common.mk", "build: a.o\n\tcargo build\n"),
        ("verify.sh", "#!/bin/sh\npytest -q\n"),
    ]);
    let found = lines(&little, "make check");
    for wanted in [
        "Makefile: ./verify.sh\ncargo test",
        "Makefile: cargo clippy",
        "common.mk: cargo build",
        "Makefile: cc $<",
        "verify.sh: #!/bin/sh\npytest -q",
    ] {
        assert!(found.contains(&wanted.to_owned()), "{wanted} in {found:?}");
    }
    assert!(!found.iter().any(|line| line.contains("echo all")), "{found:?}");
    assert!(lines(&little, "make").contains(&"common.mk: cargo build".to_owned()));
}

#[test]
fn scripts_and_texts_of_the_shell() {
    let little = Little::new(&[
        ("verify.sh", "set -e\ncargo test\n"),
        ("tools/check", "#!/usr/bin/env bash\nnpm test\n"),
        ("tools/check.py", "print(1)\n"),
        ("justfile", "check: lint\n    cargo test\nlint:\n    cargo clippy\n"),
    ]);
    for (command, wanted) in [
        ("./verify.sh", "verify.sh: set -e\ncargo test"),
        ("bash -eu verify.sh", "verify.sh: set -e\ncargo test"),
        (". ./verify.sh", "verify.sh: set -e\ncargo test"),
        ("timeout 60 tools/check --all", "tools/check: #!/usr/bin/env bash\nnpm test"),
        ("bash -lc 'go test ./...'", ": go test ./..."),
        ("just check", "justfile: cargo clippy"),
    ] {
        assert!(lines(&little, command).contains(&wanted.to_owned()), "{command}: {:?}", lines(&little, command));
    }
    assert_eq!(lines(&little, "./tools/check.py").len(), 1);
    assert_eq!(lines(&little, "./none.sh").len(), 1);
}

#[test]
fn cycles_depth_and_size_are_bounded() {
    let little = Little::new(&[("test-a.sh", "./test-b.sh\n./test-a.sh\n"), ("test-b.sh", "./test-a.sh x\n")]);
    assert_eq!(lines(&little, "./test-a.sh").len(), 3);
    for n in 0..10 {
        little.write(&format!("test-{n}.sh"), &format!("echo {n}\n./test-{}.sh\n", n + 1));
    }
    assert_eq!(lines(&little, "./test-0.sh").len(), 1 + MAX_DEPTH);
    little.write("large.sh", &"é".repeat(MAX_LENGTH));
    assert!(expand(&little, "sh large.sh").iter().all(|text| text.text.len() <= MAX_LENGTH + 4));
    let make = Little::new(&[("Makefile", "a: b\n\tmake b\nb: a\n\tmake a\n")]);
    assert_eq!(lines(&make, "make a").len(), 3);
    let many: String = (0..1000).map(|n| format!("./check-{n}.sh\n")).collect();
    for n in 0..300 {
        little.write(&format!("check-{n}.sh"), &format!("echo {n}\n"));
    }
    little.write("many.sh", &many);
    assert!(lines(&little, "./many.sh").len() <= MAX);
}

#[test]
fn a_script_that_tests_scripts_does_not_lead_to_what_it_tests() {
    let little = Little::new(&[
        ("test.sh", "#!/bin/sh\n. ./functions.sh\n. ./test-helpers.sh\nsh ./price.sh 1\n./check-all.sh\n"),
        ("functions.sh", "double() { :; }\n"),
        ("test-helpers.sh", "assert() { :; }\n"),
        ("price.sh", "echo 1\n"),
        ("check-all.sh", "true\n"),
    ]);
    let files: Vec<String> = expand(&little, "sh ./test.sh").into_iter().filter_map(|expanded| expanded.from).collect();
    assert_eq!(files, ["test.sh", "test-helpers.sh", "check-all.sh"]);
    assert!(expand(&little, "./price.sh").iter().any(|expanded| expanded.from.as_deref() == Some("price.sh")));
}

#[test]
fn what_tox_nox_and_composer_start() {
    let little = Little::new(&[
        (
            "tox.ini",
            "[testenv]\ndeps = pytest\ncommands =\n    {envpython} -m pytest {posargs:tests}\n    - coverage report\n[other]\n",
        ),
        (
            "noxfile.py",
            "@nox.session\ndef tests(session):\n    session.install('pytest')\n    session.run(\"pytest\", '-q')\n",
        ),
        (
            "composer.json",
            "{\"scripts\": {\"test\": [\"@lint\", \"@php vendor/bin/phpunit\"], \"lint\": \"phpcs src\"}}",
        ),
    ]);
    for (command, wanted) in [
        ("python -m tox -e py", "python -m pytest"),
        ("tox", "coverage report"),
        ("nox -s tests", "pytest -q"),
        ("composer test", "php vendor/bin/phpunit"),
        ("composer run-script test", "phpcs src"),
    ] {
        let texts = expand(&little, command);
        assert!(texts.iter().any(|text| text.text.lines().any(|line| line.trim() == wanted)), "{command}: {texts:?}");
    }
    assert_eq!(little.ask(&["tox"]).runners, [ralph_model::Runner::Pytest]);
    assert_eq!(little.ask(&["composer test"]).runners, [ralph_model::Runner::Phpunit]);
}
