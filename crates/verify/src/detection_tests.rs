use super::*;

fn found(path: &str, before: &str, now: &str) -> Vec<String> {
    signs(path, Some(before), now)
}

#[test]
fn work_that_can_tell_that_it_is_checked_is_seen() {
    for (path, text, sign) in [
        ("calc.py", "if 'pytest' in sys.modules:\n", "pytest' in sys.modules"),
        ("calc.py", "import os\nos.environ.get('PYTEST_CURRENT_TEST')\n", "PYTEST_CURRENT_TEST"),
        ("calc.py", "sys.path.insert(0, '/tmp/x')\n", "/tmp/"),
        ("calc.py", "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n", "TestCase.assertEqual ="),
        ("calc.js", "const assert = require('assert');\nassert.strictEqual = () => {};\n", "assert.strictEqual ="),
        ("calc.js", "if (process.env.NODE_ENV === 'test') {}\n", "NODE_ENV === 'test"),
        ("src/lib.rs", "if cfg!(debug_assertions) { a + b }\n", "cfg!(debug_assertions"),
        ("src/lib.rs", "#[cfg(not(test))]\nfn add() {}\n", "cfg(not(test"),
        ("calc_fast.go", "//go:build fast\n\npackage calc\n", "build tag fast"),
        ("calc.go", "import \"testing\"\n", "import \"testing"),
        ("calc.c", "#ifndef NDEBUG\n", "NDEBUG"),
        ("lib/calc.rb", "defined?(Minitest)\n", "Minitest"),
        ("src/Calc.php", "class_exists('PHPUnit\\Framework\\TestCase')", "PHPUnit"),
    ] {
        assert_eq!(found(path, "", text), [sign], "{text}");
        assert_eq!(found(path, text, text), Vec::<String>::new(), "it was there: {text}");
    }
}

#[test]
fn ordinary_work_shows_nothing() {
    for (path, text) in [
        ("calc.py", "import sys\n\n\ndef add(a, b):\n    return a + b\n"),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {}\n#[cfg(feature = \"std\")]\nfn a() {}\n"),
        ("calc_linux.go", "//go:build linux && amd64\n\npackage calc\n"),
        ("calc.js", "const mode = process.env.NODE_ENV === 'production';\n"),
        ("notes.md", "/tmp/x and PYTEST_CURRENT_TEST\n"),
        ("Cargo.toml", "[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n"),
    ] {
        assert_eq!(found(path, "", text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn features_of_packages_beside_it_are_named() {
    let manifest = "[dependencies]\ncalc = { path = \"../calc\", features = [\"exact\"] }\n";
    assert_eq!(signs("extra/Cargo.toml", None, manifest), ["feature exact of calc"]);
    assert_eq!(found("extra/Cargo.toml", manifest, manifest), Vec::<String>::new());
}
