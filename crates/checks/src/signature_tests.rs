use std::fs;
use std::path::Path;

use super::*;

fn output(folder: &str, name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder).join(format!("{name}.txt")))
        .unwrap()
}

fn hash_of(text: &str) -> String {
    signature(text).unwrap().hash
}

/// A text and what takes its place.
type Swap = (&'static str, &'static str);

/// Outputs that were made twice: in another folder, with other times and process ids, moved by some lines, with one
/// more passing test. The second column changes what fails, the third the message.
const TWICE: &[(&str, Swap, Swap)] = &[
    ("cargo", ("tests::discount", "tests::rebate"), (" right: 80", " right: 81")),
    (
        "cargo-compile-error",
        ("mismatched types", "missing lifetime"),
        ("expected `u32`, found", "expected `u64`, found"),
    ),
    ("nextest", ("tests::discount", "tests::rebate"), (" right: 80", " right: 81")),
    ("pytest", ("test_discount", "test_rebate"), ("discount is wrong", "rebate is wrong")),
    ("pytest-quiet", ("test_discount", "test_rebate"), ("discount is wrong", "rebate is wrong")),
    ("pytest-xdist", ("test_discount", "test_rebate"), ("discount is wrong", "rebate is wrong")),
    ("unittest", ("test_discount", "test_rebate"), ("90 != 80", "91 != 80")),
    ("jest", ("cart › discount", "cart › rebate"), ("no rate for XX", "no rate for YY")),
    ("vitest", ("discount", "rebate"), ("expected 90 to be 80", "expected 91 to be 80")),
    ("mocha", ("discount:", "rebate:"), ("90 !== 80", "91 !== 80")),
    ("node-spec", ("✖ discount", "✖ rebate"), ("90 !== 80", "91 !== 80")),
    ("node-tap", ("not ok 1 - discount", "not ok 1 - rebate"), ("90 !== 80", "91 !== 80")),
    ("go", ("TestDiscount", "TestRebate"), ("want 80", "want 81")),
    ("go-verbose", ("TestDiscount", "TestRebate"), ("want 80", "want 81")),
    ("go-json", ("unknown_rate", "no_rate"), ("no rate for XX", "no rate for YY")),
    ("make", ("‘rate’", "‘price’"), ("undeclared", "unknown")),
    ("gcc", ("‘rate’", "‘price’"), ("undeclared", "unknown")),
    ("tsc", ("TS2322", "TS2345"), ("'number'", "'bigint'")),
];

#[test]
fn the_same_failure_has_the_same_signature() {
    for (name, _, _) in TWICE {
        let (first, second) = (output("outputs", name), output("outputs-again", name));
        assert_ne!(first, second, "{name}");
        assert_eq!(lines_of(&first), lines_of(&second), "{name}");
        assert_eq!(hash_of(&first), hash_of(&second), "{name}");
    }
}

#[test]
fn another_failure_has_another_signature() {
    for (name, test, message) in TWICE {
        let text = output("outputs", name);
        for (from, to) in [test, message] {
            let other = text.replace(from, to);
            assert_ne!(text, other, "{name} holds {from}");
            assert_ne!(hash_of(&text), hash_of(&other), "{name}: {from}");
        }
    }
}

#[test]
fn order_and_colours_do_not_matter() {
    let text = output("outputs", "cargo");
    let swapped = text.replace(
        "test tests::discount ... FAILED\ntest tests::rate ... FAILED",
        "test tests::rate ... FAILED\ntest tests::discount ... FAILED",
    );
    assert_ne!(text, swapped);
    assert_eq!(hash_of(&text), hash_of(&swapped));
    assert_eq!(hash_of(&output("outputs", "pytest")), hash_of(&output("outputs", "pytest-colour")));
    assert_eq!(hash_of("\u{1b}[31merror: no\u{1b}[0m\n"), hash_of("error: no"));
    assert_eq!(hash_of("error: a\nerror: b\nerror: a\n"), hash_of("error: b\nerror: a\n"));
}

fn lines_of(text: &str) -> Vec<String> {
    let mut classifier = Classifier::default();
    let lines = text.lines().filter_map(|line| readable(&strip_escapes(line)).map(Cow::into_owned));
    let mut lines: Vec<String> =
        lines.filter(|line| classifier.weigh(line) >= Weight::Blunt).map(|line| normalised(&line)).collect();
    lines.sort();
    lines.dedup();
    lines
}

#[test]
fn what_changes_from_run_to_run_is_replaced() {
    for (line, wanted) in [
        ("error: no file /tmp/build-77/src/main.rs", "error: no file main.rs"),
        ("error in (/srv/a/b/c.py)", "error in (c.py)"),
        ("File \"/srv/a/b/c.py\", line 12, in x", "File \"c.py\", line, in x"),
        ("error at C:\\work\\a\\b.cs", "error at b.cs"),
        ("file:///srv/a/b.js:3:4", "b.js"),
        ("src/a/b.rs:10:4: error", "src/a/b.rs: error"),
        ("a.ts(3,5): error", "a.ts: error"),
        ("GET http://localhost:43121/a/b failed", "GET http://localhost/a/b failed"),
        ("object at 0x7f3a2b1c", "object at <address>"),
        ("id 6f9619ff-8b86-d011-b42d-00c04fc964ff", "id <uuid>"),
        ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "commit <hash>"),
        ("defaced 1234567 decade", "defaced 1234567 decade"),
        ("at 2026-11-15T09:00:00.123Z and 2026-11-15 09:00:00,5", "at <time> and <time>"),
        ("09:00:01 error", "<time> error"),
        ("took 1.5s, 20 ms, 3 seconds", "took <duration>, <duration>, <duration>"),
        ("pid 4711, port 8080, worker 3", "pid, port, worker"),
        ("thread 'a::b' (9188) panicked", "thread 'a::b' panicked"),
        ("[gw3] [ 42%] FAILED a", "FAILED a"),
        ("make: *** [Makefile:4: a] Error 1", "make: *** [Makefile: a] Error 1"),
        ("no such file tmp.aB3dE9xYz", "no such file <temporary>"),
        ("expected 90, got 80", "expected 90, got 80"),
        ("a / b is 3", "a / b is 3"),
        ("  many   spaces\there ", "many spaces here"),
    ] {
        assert_eq!(normalised(line), wanted);
    }
}

#[test]
fn without_a_line_that_looks_like_a_failure_all_lines_count() {
    assert_ne!(hash_of("hello\nworld\n"), hash_of("hello\nmoon\n"));
    assert_eq!(hash_of("hello\nworld\n"), hash_of("world\nhello\n"));
    assert_eq!(signature("hello\nworld\n").unwrap().headline, "hello");
    assert_eq!(signature(""), None);
    assert_eq!(signature(" \n\n"), None);
}

#[test]
fn the_headline_is_the_first_failure() {
    for (name, headline) in [
        ("cargo", "test tests::discount ... FAILED"),
        ("cargo-compile-error", "error[E0308]: mismatched types"),
        ("make", "a.c:1:44: error: ‘rate’ undeclared (first use in this function)"),
        ("tsc", "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."),
        ("go", "--- FAIL: TestDiscount (0.00s)"),
        ("go-json", "cart_test.go:24: no rate for XX"),
        ("pytest", "E RuntimeError: no database"),
    ] {
        assert_eq!(signature(&output("outputs", name)).unwrap().headline, headline, "{name}");
    }
    let long = signature(&format!("error: {}", "é".repeat(900))).unwrap();
    assert_eq!(long.headline.chars().count(), 200);
}

#[test]
fn numbers_of_processes_do_not_make_another_failure() {
    for (one, other) in
        [("error: port 4711 is taken", "error: port 815 is taken"), ("Error: PID=12 died", "Error: PID=99 died")]
    {
        assert_eq!(hash_of(one), hash_of(other));
    }
}

#[test]
fn whatever_a_pattern_matches_has_a_character_that_it_needs() {
    let made = [
        "| ~~^",
        "0a1b2c3d-0000-4000-8000-0123456789ab",
        "2024-01-02T03:04:05Z",
        "2024/01/02",
        "at 12:30:45",
        "1700000000",
        "0xdead",
        "in /a/b/c.rs",
        r"in C:\a\b\c.rs",
        ".tmpabcdef",
        "pytest-3",
        "a.rs:3:4",
        "a.cs(3,4)",
        "x:3:4",
        "line 3",
        "localhost:8080",
        "pid 7",
        "thread 'main' (7) panicked",
        "(node:7)",
        "==7==",
        "[gw1]",
        "[ 7%]",
        "(3/4)",
        "(───)",
        "… 7 bytes",
        "3 ms",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let outputs = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap_or_default());
    let text = made.map(str::to_owned).into_iter().chain(outputs).collect::<Vec<_>>().join("\n");
    for (needs, written, _) in PATTERNS {
        let pattern = pattern(&of_machines(written));
        let matches: Vec<&str> =
            text.lines().flat_map(|line| pattern.find_iter(line)).map(|found| found.as_str()).collect();
        assert!(!matches.is_empty(), "{written}");
        for found in matches {
            assert!(needs(found), "{written}: {found}");
        }
    }
}

#[test]
fn a_line_that_tells_of_no_failure_has_the_signature_of_that_output() {
    for code in 0..256 {
        let line = format!("exit code {code}, without output");
        assert_eq!(signature_of_line(&line), signature(&line));
    }
    assert_ne!(signature_of_line("exit code 1, without output"), signature_of_line("exit code 2, without output"));
}
