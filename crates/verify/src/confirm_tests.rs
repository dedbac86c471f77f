use super::*;

#[test]
fn only_a_plain_cargo_test_is_told_to_go_on() {
    assert_eq!(to_the_end("cargo test"), "cargo test --no-fail-fast");
    assert_eq!(to_the_end("cargo test -p shop -- cart"), "cargo test --no-fail-fast -p shop -- cart");
    for command in ["cargo tests", "make test", "cargo test --no-fail-fast", "./cargo test"] {
        assert_eq!(to_the_end(command), command);
    }
}

#[test]
fn checks_that_failed_on_the_original_code_have_to_fail_there_again() {
    let check = |passed, flaky| CheckOutcome {
        command: "make test".into(),
        passed,
        ended: Ended::Exited { code: i32::from(!passed) },
        tests: None,
        shrunk: None,
        flaky,
        retries: 0,
        duration: ralph_model::Millis(1),
        excerpt: String::new(),
        signature: None,
        output: ralph_model::OutputRef::default(),
    };
    let verdict = |check| Verdict::new(ralph_model::TreeHash::default(), vec![check]);
    assert_eq!(fallback(Some(&verdict(check(false, false)))), Fallback::OriginalCode);
    assert!(matches!(fallback(Some(&verdict(check(false, true)))), Fallback::None(_)), "a flake proves nothing");
    assert!(matches!(fallback(Some(&verdict(check(true, false)))), Fallback::None(_)));
    assert!(matches!(fallback(None), Fallback::None(_)));
    assert_eq!(judge_original(&[check(false, false)]), Tripwire::BaselineFails);
    assert!(matches!(judge_original(&[check(true, false)]), Tripwire::Passed { .. }));
    assert!(matches!(
        judge_original(&[CheckOutcome { ended: Ended::Stopped, ..check(false, false) }]),
        Tripwire::NotPossible { .. }
    ));
}

#[test]
fn commands_run_to_their_end() {
    for (command, expected) in [
        ("cargo test", "cargo test --no-fail-fast"),
        ("cargo test -q", "cargo test --no-fail-fast -q"),
        ("pytest -x -q", "pytest -q"),
        ("python3 -m pytest --maxfail=1 tests", "python3 -m pytest tests"),
        ("pytest --maxfail 1", "pytest --maxfail 1"),
        ("python -m unittest -f", "python -m unittest"),
        ("npx jest --bail=1", "npx jest"),
        ("go test -failfast ./...", "go test ./..."),
        ("sh -c 'pytest -x'", "sh -c 'pytest -x'"),
        ("curl -f x | pytest -x", "curl -f x | pytest -x"),
        ("make -x", "make -x"),
    ] {
        assert_eq!(to_the_end(command), expected);
    }
}

#[test]
fn commands_that_name_no_tests_are_run_so_that_they_do() {
    for (command, wanted) in [
        ("go test ./...", "go test -v ./..."),
        ("go test", "go test -v"),
        ("go vet ./... && go test -race ./a", "go vet ./... && go test -v -race ./a"),
        ("go test -json ./...", "go test -json ./..."),
        ("go test -v=false ./...", "go test -v=false ./..."),
        ("go test -list .", "go test -list ."),
        ("go test ./... | tee log", "go test ./... | tee log"),
        ("go tests", "go tests"),
        ("bundle exec rspec spec/a_spec.rb", "bundle exec rspec --format documentation spec/a_spec.rb"),
        ("rspec -fp", "rspec -fp"),
        ("npm test", "npm test"),
    ] {
        assert_eq!(naming_tests(command), wanted);
    }
}
