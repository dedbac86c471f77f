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
    for (name, first, last) in [
        ("cargo", "---- tests::discount stdout ----", "verbose backtrace."),
        ("nextest", "FAIL [   0.086s] (3/6) shop tests::discount", "verbose backtrace."),
        ("pytest", "____ ERROR at setup of test_save ____", "tests/test_cart.py:11: RuntimeError"),
        ("unittest", "ERROR: test_missing", "KeyError: 'price'"),
        ("jest", "  ● cart › discount", "at Object.toBe (jest/cart.test.js:3:46)"),
        ("jest-verbose-colour", "  ● cart › discount", "at Object.toBe (jest/cart.test.js:3:46)"),
        ("vitest", " FAIL  broken.test.mjs", "  4|"),
        ("mocha", "  1) cart", "processImmediate"),
        ("node-spec", "✖ discount", "operator: 'strictEqual'"),
        ("node-tap", "not ok 1 - discount", "Array.map (<anonymous>)"),
        ("go", "--- FAIL: TestDiscount", "want 80"),
        ("go-json", "cart_test.go:24: no rate for XX", "no rate for XX"),
        ("cargo-compile-error", "error[E0308]: mismatched types", "expected due to this"),
        ("gcc", "a.c:1:44: error", "^~~~"),
    ] {
        let text = noise(30_000) + &output(name) + &noise(30_000);
        let shown = excerpt(&text);
        assert!(shown.len() <= LIMIT, "{name}: {} bytes", shown.len());
        let (before, failure) = shown.split_once('\n').unwrap();
        assert!(before.starts_with("[… ") && before.ends_with(" bytes left out …]"), "{name}: {before}");
        assert!(shown.ends_with("all is well so far\n"), "{name}");
        let start = failure.lines().next().unwrap();
        assert!(start.replace('_', "").trim().starts_with(first.replace('_', "").trim()), "{name}: {start}");
        let failure = failure.split("\n[… ").next().unwrap();
        assert!(failure.contains(last), "{name}: {failure}");
    }
}

/// Outputs of real runners: lines that begin with `must` and `not`, four dashes, and the output.
#[test]
fn real_outputs_show_what_they_must_and_not_what_they_must_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut wrong = Vec::new();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 40, "{} outputs", files.len());
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let (wanted, output) = text.split_once("----\n").unwrap();
        let mut reading = crate::reading::Reading::new(std::sync::Arc::default(), None);
        reading.feed(ralph_process::Stream::Stdout, output);
        let shown = reading.finish(&ralph_model::Ended::Exited { code: 1 }).excerpt;
        if shown.len() > LIMIT {
            wrong.push(format!("{name}: {} bytes", shown.len()));
        }
        for line in wanted.lines() {
            let (how, words) = line.split_once(' ').unwrap();
            if (how == "must") != shown.contains(words) {
                wrong.push(format!("{name}: {line}\n{shown}"));
            }
        }
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} wrong:\n{}", wrong.join("\n\n"));
}

#[test]
fn an_output_of_passing_tests_alone_shows_its_end() {
    let text = "test a ... ok\n".repeat(3000);
    let shown = excerpt(&text);
    assert!(shown.len() <= 2048 && shown.ends_with("test a ... ok\n"), "{shown}");
}

#[test]
fn lines_of_go_tests_that_pass_are_left_out_and_those_of_failing_ones_are_not() {
    let text = "=== RUN   TestA\n    a_test.go:1: fine\n=== RUN   TestB\n    a_test.go:2: bad\n=== RUN   TestC\n\
                --- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n=== CONT  TestC\n    a_test.go:3: still running\nFAIL\n";
    assert_eq!(excerpt(text), "    a_test.go:2: bad\n--- FAIL: TestB (0.00s)\n    a_test.go:3: still running\nFAIL\n");
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
    assert!(shown.contains(" bytes left out …]\n"));
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
