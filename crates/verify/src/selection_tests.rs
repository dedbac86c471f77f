use super::*;

fn selection(command: &str) -> Selection {
    Selection::new(&[Expanded { text: command.to_owned(), from: None, folder: String::new() }], &[])
}

#[test]
fn only_a_runner_or_an_interpreter_can_run_tests_of_a_file() {
    let file = "tests/test_calc.py";
    for command in ["pytest", "cd tests && python3 -m unittest", "python3 tests/test_calc.py", "timeout 9 pytest -q"] {
        assert!(selection(command).may_run(file), "{command}");
    }
    for command in ["ruff check tests/test_calc.py", "python3 -c 'import calc'", "cargo test", "make lint", "mypy ."] {
        assert!(!selection(command).may_run(file), "{command}");
    }
    assert!(!selection("cargo check && cargo build").may_run("tests/calc.rs"));
}

#[test]
fn a_command_leaves_out_the_tests_that_it_does_not_ask_for() {
    for (command, file, test, is_left_out) in [
        ("pytest", "t/a.py", "test_b", false),
        ("pytest t/a.py", "t/a.py", "test_b", false),
        ("pytest t/a.py::test_a", "t/a.py", "test_a", false),
        ("pytest t/a.py::test_a[1-2]", "t/a.py", "test_a", false),
        ("pytest t/a.py::test_a", "t/a.py", "test_b", true),
        ("pytest t/a.py::test_a", "t/b.py", "test_a", true),
        ("pytest t/a.py::TestA", "t/a.py", "test_b", false),
        ("cd t && pytest a.py::TestA::test_a", "t/a.py", "test_b", true),
        ("pytest t/a.py::test_a t/b.py", "t/b.py", "test_b", false),
        ("pytest t/a.py::test_a && pytest", "t/a.py", "test_b", false),
        ("python3 -m unittest", "t/a.py", "test_b", false),
        ("python3 -m unittest discover -s t", "t/a.py", "test_b", false),
        ("python3 -m unittest -v t.a.T.test_a", "t/a.py", "test_a", false),
        ("python3 -m unittest t.a.T.test_a", "t/a.py", "test_b", true),
        ("python3 -m unittest t.a.T", "t/a.py", "test_b", false),
        ("python3 -m unittest t.a", "t/b.py", "test_b", true),
        ("python3 -m unittest t/a.py", "t/a.py", "test_b", false),
        ("python3 -m unittest t", "t/b.py", "test_b", false),
        ("go test -run TestAdd ./...", "a_test.go", "TestAddAll", false),
        ("go test -run '^TestAdd$/zero' ./...", "a_test.go", "TestAddAll", true),
        ("go test -run=TestAdd ./...", "a_test.go", "TestSub", true),
        ("npx jest -t 'calc adds'", "a.test.js", "adds", false),
        ("npx jest -t add", "a.test.js", "doubles", true),
        ("cargo test add", "src/lib.rs", "doubles", false),
    ] {
        assert_eq!(selection(command).leaves_out(file, test), is_left_out, "{command} {file} {test}");
    }
}

#[test]
fn what_the_runners_say_counts_more_than_words() {
    use std::collections::BTreeMap;
    let texts = |command: &str| [Expanded { text: command.to_owned(), from: None, folder: String::new() }];
    let listing = |runner, failed: &str| {
        let tests =
            if failed.is_empty() { vec![("t/a.py".to_owned(), vec!["CartTest::test_a".to_owned()])] } else { vec![] };
        TestListing { runner, command: String::new(), tests: BTreeMap::from_iter(tests), failed: failed.to_owned() }
    };
    let listed = Selection::new(&texts("pytest -m fast"), &[listing(Runner::Pytest, "")]);
    assert!(listed.may_run("t/a.py") && !listed.may_run("t/b.py"));
    assert!(listed.leaves_out("t/a.py", "test_b") && !listed.leaves_out("t/a.py", "test_a"));
    for other in [listing(Runner::Unittest, "cannot be asked"), listing(Runner::Pytest, "timed out")] {
        let both = Selection::new(&texts("pytest && python3 -m unittest"), &[listing(Runner::Pytest, ""), other]);
        assert!(both.may_run("t/b.py") && !both.leaves_out("t/a.py", "test_b"));
    }
}
