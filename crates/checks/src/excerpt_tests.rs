use std::fs;
use std::path::Path;

use super::*;

fn output(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs").join(format!("{name}.txt"))).unwrap()
}

/// Noise that makes an output too long to be shown whole.
fn noise(bytes: usize) -> String {
    "all is well so far\n".repeat(bytes / 19)
}

#[test]
fn a_short_output_is_shown_whole() {
    let text = output("pytest");
    assert_eq!(excerpt(&text), text);
    assert_eq!(excerpt("no line feed"), "no line feed\n");
    assert_eq!(excerpt(""), "");
    assert!(!excerpt(&output("pytest-colour")).contains('\u{1b}'));
}

#[test]
fn the_first_failure_is_shown_whole_for_every_runner() {
    for (name, first, last, other) in [
        ("cargo", "---- tests::discount stdout ----", "verbose backtrace.", "no rate for XX"),
        ("nextest", "FAIL [   0.086s] (3/6) shop tests::discount", "verbose backtrace.", "no rate for XX"),
        ("pytest", "____ ERROR at setup of test_save ____", "tests/test_cart.py:11: RuntimeError", "discount is wrong"),
        ("unittest", "ERROR: test_missing", "KeyError: 'price'", "discount is wrong"),
        ("jest", "  ● cart › discount", "at Object.toBe (jest/cart.test.js:3:46)", "● cart › tax › rate"),
        (
            "jest-verbose-colour",
            "  ● cart › discount",
            "at Object.toBe (jest/cart.test.js:3:46)",
            "● cart › tax › rate",
        ),
        ("vitest", " FAIL  broken.test.mjs", "  4|", "expected 90 to be 80"),
        ("mocha", "  1) cart", "processImmediate", "no rate for XX"),
        ("node-spec", "✖ discount", "operator: 'strictEqual'", "no rate for XX"),
        ("node-tap", "not ok 1 - discount", "Array.map (<anonymous>)", "no rate for XX"),
        ("go", "--- FAIL: TestDiscount", "want 80", "no rate for XX"),
        ("go-json", "cart_test.go:24: no rate for XX", "no rate for XX", "undefined: rate"),
        ("cargo-compile-error", "error[E0308]: mismatched types", "expected due to this", "For more information"),
        ("gcc", "a.c:1:44: error", "^~~~", "nothing else"),
    ] {
        let text = noise(30_000) + &output(name) + &noise(30_000);
        let shown = excerpt(&text);
        assert!(shown.len() <= LIMIT, "{name}: {} bytes", shown.len());
        let (before, failure) = shown.split_once('\n').unwrap();
        assert!(
            before.starts_with("[… ") && before.ends_with(" bytes before the first failure left out …]"),
            "{name}: {before}"
        );
        let (failure, tail) = failure.split_once("[… ").unwrap();
        assert!(tail.contains(" bytes between the first failure and the end left out …]\n"), "{name}");
        assert!(tail.ends_with("all is well so far\n"), "{name}");
        let start = failure.lines().next().unwrap();
        assert!(start.replace('_', "").trim().starts_with(first.replace('_', "").trim()), "{name}: {start}");
        assert!(failure.contains(last), "{name}: {failure}");
        assert!(!failure.contains(other), "{name}: {failure}");
    }
}

#[test]
fn a_traceback_ends_with_its_exception() {
    let text = format!(
        "{}Traceback (most recent call last):\n  File \"a.py\", line 1\n    boom()\nshop.Boom: no\nall is well\n{}",
        noise(30_000),
        noise(30_000)
    );
    let shown = excerpt(&text);
    assert!(
        shown.contains("Traceback (most recent call last):\n  File \"a.py\", line 1\n    boom()\nshop.Boom: no\n[… "),
        "{shown}"
    );
}

#[test]
fn a_huge_failure_leaves_room_for_the_end() {
    let failure =
        format!("---- a stdout ----\n{}\n\nfailures:\n    a\n\nthe very end\n", "é is a letter\n".repeat(4000));
    let shown = excerpt(&failure);
    assert!(shown.len() <= LIMIT);
    assert!(shown.starts_with("---- a stdout ----\n"));
    assert!(shown.contains(" bytes of this failure left out …]\n"));
    assert!(shown.ends_with("failures:\n    a\n\nthe very end\n"));
}

#[test]
fn a_failure_at_the_end_is_shown_once() {
    let shown = excerpt(&(noise(30_000) + &output("go")));
    assert_eq!(shown.matches("want 80").count(), 1);
    assert!(shown.starts_with("[… ") && shown.ends_with("FAIL\n"));
}

#[test]
fn what_is_left_out_adds_up() {
    let text = noise(40_000) + &output("go") + &noise(40_000);
    let shown = excerpt(&text);
    let left_out: usize = shown
        .lines()
        .filter_map(|line| line.strip_prefix("[… "))
        .map(|line| line.split(' ').next().unwrap().parse::<usize>().unwrap())
        .sum();
    let notes: usize = shown.lines().filter(|line| line.starts_with("[… ")).map(|line| line.len() + 1).sum();
    assert_eq!(left_out + shown.len() - notes, text.len());
}

#[test]
fn one_endless_line_is_bounded_on_the_border_of_a_character() {
    let shown = excerpt(&"é".repeat(100_000));
    assert!(shown.len() <= LIMIT && shown.contains("bytes of this line left out"));
}
