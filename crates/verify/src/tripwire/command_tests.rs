//! What command lines of runners say.

use super::*;

fn read(runner: Runner, command: &str) -> Calls {
    Calls::read(runner, &[command], &[])
}

fn stops(runner: Runner, command: &str) -> Stops {
    read(runner, command).stops
}

fn filter(runner: Runner, command: &str) -> Filter {
    read(runner, command).filter
}

fn word(text: &str) -> Filter {
    Filter::Word(text.to_owned())
}

#[test]
fn runs_are_given_up_as_their_runners_say() {
    let cases = [
        (Runner::Pytest, "pytest -q", Stops::Never),
        (Runner::Pytest, "pytest -qx tests", Stops::AfterFirst),
        (Runner::Pytest, "python3 -m pytest --maxfail=1", Stops::AfterFirst),
        (Runner::Pytest, "pytest -x -n 4", Stops::AfterFailure),
        (Runner::Pytest, "pytest -rx", Stops::Never),
        (Runner::Pytest, "pytest -p no:x", Stops::Never),
        (Runner::Unittest, "python -m unittest -vf", Stops::AfterFirst),
        (Runner::Unittest, "python -m unittest discover -s f", Stops::Never),
        (Runner::CargoTest, "cargo test", Stops::AfterFile),
        (Runner::CargoTest, "cargo +nightly test --no-fail-fast", Stops::Never),
        (Runner::Nextest, "cargo nextest run", Stops::AfterFailure),
        (Runner::Nextest, "cargo nextest run --no-fail-fast", Stops::Never),
        (Runner::Jest, "npx jest --bail", Stops::AfterFile),
        (Runner::Jest, "npx jest --bail=0", Stops::Never),
        (Runner::Vitest, "vitest run --bail 1", Stops::AfterFirst),
        (Runner::Mocha, "mocha -b", Stops::AfterFirst),
        (Runner::GoTest, "go test -failfast ./...", Stops::AfterFirst),
        (Runner::NodeTest, "node --test", Stops::Never),
    ];
    for (runner, command, expected) in cases {
        assert_eq!(stops(runner, command), expected, "{command}");
    }
}

#[test]
fn one_of_several_commands_or_an_unknown_one_may_end_the_rest() {
    assert_eq!(stops(Runner::Pytest, "pytest tests/unit && pytest tests/slow"), Stops::AfterFile);
    assert_eq!(stops(Runner::Pytest, "npx jest && pytest"), Stops::AfterFile);
    assert_eq!(stops(Runner::Pytest, "ruff check . && pytest"), Stops::Never);
    assert_eq!(stops(Runner::Pytest, "make test"), Stops::AfterFile);
    assert_eq!(Calls::read(Runner::Jest, &["npm test", "jest --coverage"], &[]).stops, Stops::Never);
}

#[test]
fn settings_count_like_arguments() {
    assert_eq!(Calls::read(Runner::Pytest, &["pytest"], &["-q -x"]).stops, Stops::AfterFirst);
    assert_eq!(Calls::read(Runner::Pytest, &["pytest"], &["-m 'not slow'"]).filter, Filter::All);
}

#[test]
fn filters_are_words_or_not_understood() {
    let cases = [
        (Runner::CargoTest, "cargo test", Filter::All),
        (Runner::CargoTest, "cargo test -p shop --test cart --features a", Filter::All),
        (Runner::CargoTest, "cargo test cart", word("cart")),
        (Runner::CargoTest, "cargo test cart -- --test-threads 1", word("cart")),
        (Runner::CargoTest, "cargo test -- --skip slow", Filter::All),
        (Runner::CargoTest, "cargo test cart::tests", Filter::Unknown),
        (Runner::CargoTest, "cargo test -- --exact cart", Filter::Unknown),
        (Runner::CargoTest, "cargo test --doc", Filter::Unknown),
        (Runner::Nextest, "cargo nextest run -E 'test(cart)'", Filter::Unknown),
        (Runner::Pytest, "pytest -k cart", word("cart")),
        (Runner::Pytest, "pytest -k 'not slow and not net'", Filter::All),
        (Runner::Pytest, "pytest -k 'cart or shop'", Filter::Unknown),
        (Runner::Pytest, "python -m pytest -m slow", Filter::Unknown),
        (Runner::Pytest, "pytest tests/test_cart.py::test_adds", Filter::Unknown),
        (Runner::Unittest, "python -m unittest tests.test_cart", Filter::All),
        (Runner::Unittest, "python -m unittest tests.test_cart.CartTest", Filter::Unknown),
        (Runner::Unittest, "python -m unittest -k adds", word("adds")),
        (Runner::Jest, "jest -t 'adds|subtracts'", word("adds")),
        (Runner::Jest, "npm test -- -t adds", word("adds")),
        (Runner::Jest, "jest -t '^adds$'", Filter::Unknown),
        (Runner::Vitest, "vitest list", Filter::Unknown),
        (Runner::Mocha, "mocha --grep=adds", word("adds")),
        (Runner::NodeTest, "node --test --test-name-pattern=\"adds\"", word("adds")),
        (Runner::GoTest, "go test -run TestCart ./...", word("TestCart")),
        (Runner::GoTest, "go test -run=^$ -bench .", Filter::Unknown),
        (Runner::GoTest, "go test -timeout 5m -count=1 ./...", Filter::All),
    ];
    for (runner, command, expected) in cases {
        assert_eq!(filter(runner, command), expected, "{command}");
    }
}

#[test]
fn two_filters_of_one_runner_are_too_many() {
    assert_eq!(filter(Runner::CargoTest, "cargo test cart && cargo test shop"), Filter::Unknown);
}

#[test]
fn places_are_what_is_no_option() {
    assert_eq!(read(Runner::Pytest, "pytest -q tests/unit").places, ["tests/unit"]);
    assert_eq!(read(Runner::Unittest, "python -m unittest discover -s tests -p 'test_*.py'").places, ["tests"]);
    assert_eq!(read(Runner::NodeTest, "node --test --import tsx 'test/*.test.js'").places, ["test/*.test.js"]);
    assert!(read(Runner::NodeTest, "node --test-only --test").only_marked);
}

#[test]
fn quotes_and_escapes_hold_words_together() {
    assert_eq!(words::split("a 'b c' \"d \\\" e\" f\\ g ''"), ["a", "b c", "d \" e", "f g", ""]);
    assert_eq!(words::commands("a && (b; c) | d\ne"), [["a"], ["b"], ["c"], ["d"], ["e"]]);
    assert_eq!(words::split("a \\\n b"), ["a", "b"]);
    assert_eq!(words::split("an open 'quote"), ["an", "open", "quote"]);
}
