use ralph_model::Runner;

use crate::pins::testing::Little;

const TEST: &str = "from calc import add\n\n\ndef check_add():\n    assert add(2, 3) == 5\n";
const TESTS: &str = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n";

#[test]
fn test_files_that_only_the_runner_knows_are_frozen() {
    let little = Little::new(&[("calc.py", "def add(a, b):\n    return a - b\n"), ("checks/sums.py", TESTS)]);
    little.expect("pytest", "checks/sums.py -\ncalc.py -");
    let little = little.listed(Runner::Pytest, &["checks/sums.py"]);
    little.expect("pytest", "checks/sums.py Frozen\ncalc.py -");
}

#[test]
fn code_that_holds_tests_is_work() {
    let doctest = "def add(a, b):\n    \"\"\"\n    >>> add(2, 3)\n    5\n    \"\"\"\n    return a - b\n";
    let mixed = "def double(a):\n    return a + a\n\n\ndef test_double():\n    assert double(4) == 8\n";
    let little = Little::new(&[("calc.py", doctest), ("twice.py", mixed), ("app.py", "import twice\n")])
        .listed(Runner::Pytest, &["calc.py", "twice.py"]);
    little.expect("pytest", "calc.py -\ntwice.py -");
    let notes = little.ask(&["pytest --doctest-modules"]).notes;
    assert!(notes.iter().any(|note| note.contains("app.py imports it")), "{notes:?}");
    let named = Little::new(&[("twice.py", mixed)]).listed(Runner::Pytest, &["twice.py"]);
    named.expect("pytest twice.py", "twice.py -");
    let vitest = Little::new(&[("src/calc.ts", "if (import.meta.vitest) { test('a', () => {}) }\n")])
        .listed(Runner::Vitest, &["src/calc.ts"]);
    vitest.expect("vitest run", "src/calc.ts -");
}

#[test]
fn targets_of_cargo_are_compared_by_their_tests() {
    let little = Little::new(&[("Cargo.toml", ""), ("checks/all.rs", "fn main() {}\n"), ("check.py", TEST)])
        .listed(Runner::CargoTest, &["checks/all.rs"]);
    little.expect("cargo test", "checks/all.rs Parts");
}

#[test]
fn settings_and_patterns_describe_test_files() {
    let files =
        [("calc.py", "def add(a, b):\n    return a - b\n"), ("shop/tests.py", TESTS), ("lib/check_a.py", TESTS)];
    let little = Little::new(&files);
    little.expect("python3 manage.py test", "shop/tests.py Frozen\nlib/check_a.py -\ncalc.py -");
    little.expect("python3 -m unittest discover -s lib -p 'check*.py'", "lib/check_a.py Frozen\ncalc.py -");
    little.expect("pytest", "lib/check_a.py -");
    for (file, text) in [
        ("pytest.ini", "[pytest]\npython_files =\n    test_*.py\n    check_*.py\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\npython_files = [\"check_*.py\"]\n"),
    ] {
        let little = Little::new(&[files[0], files[1], files[2], (file, text)]);
        little.expect("pytest", "lib/check_a.py Frozen\ncalc.py -");
    }
    let test = "const test = require('node:test');\ntest('adds', () => {});\n";
    let little = Little::new(&[("calc.js", "exports.a = 1;\n"), ("lib/a_test.js", test), ("checks/a.js", test)]);
    little.expect("node --test", "lib/a_test.js Frozen\nchecks/a.js -\ncalc.js -");
    little.expect("node --test 'checks/*.js'", "checks/a.js Frozen\ncalc.js -");
}
