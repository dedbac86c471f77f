use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn only_tests_of_files_that_may_change_are_excused() {
    let tests = names(&["tests/test_cart.py::test_a", "tests/test_price.py::test_b"]);
    assert_eq!(excused(&tests, &names(&["tests/test_cart.py"])), tests[..1]);
    assert_eq!(excused(&tests, &names(&["tests/__snapshots__/cart.snap"])), [""; 0], "a snapshot holds no test");
    let dotted = names(&["test_a (tests.test_cart.Cart.test_a)", "test_b (tests.test_price.Price.test_b)"]);
    assert_eq!(excused(&dotted, &names(&["tests/test_cart.py"])), dotted[..1]);
    let rust = names(&["cart::tests::adds", "price::tests::rounds"]);
    assert_eq!(excused(&rust, &names(&["src/cart.rs"])), rust[..1]);
    let plain = names(&["adds", "doubles"]);
    assert_eq!(excused(&plain, &names(&["tests/run.sh"])), plain, "nobody can tell where these are");
}

#[test]
fn a_source_file_names_the_module_of_its_tests() {
    for (path, module) in [
        ("src/cart/price.rs", "cart::price::"),
        ("src/cart/mod.rs", "cart::"),
        ("src/lib.rs", ""),
        ("crates/shop/src/cart.rs", "cart::"),
    ] {
        assert_eq!(module_of(path), module, "{path}");
    }
}

#[test]
fn tests_of_files_that_could_not_be_loaded_have_to_run() {
    let python = "import pytest\nfrom cart import HAS_TAX\n\n\ndef test_a():\n    assert a() == 1\n\n\ndef test_b():\n    assert b() == 2\n\n\ndef test_c():\n    assert c() == 3\n\n\n@pytest.mark.skipif(True, reason='x')\ndef test_d():\n    assert d() == 4\n\n\nclass Base:\n    def test_e(self):\n        pass\n";
    let tests = crate::changes::defined_tests("tests/test_cart.py", python.as_bytes());
    assert_eq!(tests, ["test_a", "test_b", "test_c"]);
    let skips = format!("{python}\n\n@pytest.fixture\ndef tax():\n    pytest.skip('no')\n");
    assert!(crate::changes::defined_tests("tests/test_cart.py", skips.as_bytes()).is_empty());
    let javascript = "describe('cart', () => {\n  it('adds', () => { expect(add(1)).toBe(2); });\n  it.skip('later', () => {});\n  it(`is ${name}`, () => {});\n});\ndescribe.skip('old', () => { it('was', () => {}); });\n";
    assert_eq!(crate::changes::defined_tests("cart.test.js", javascript.as_bytes()), ["adds"]);
    let file = |names, is_listed| DefinedTests { path: "tests/test_cart.py".to_owned(), names, is_listed };
    let listed = [file(tests.clone(), true)];
    let defined = [file(tests, false)];
    let tally = |failing: &[&str], ran: &[&str]| TestTally {
        passed: u32::try_from(ran.len()).unwrap(),
        failed: u32::try_from(failing.len()).unwrap(),
        skipped: 0,
        failing: names(failing),
        names: names(ran),
    };
    let unloaded = tally(&["tests/test_cart.py"], &["tests/test_cart.py"]);
    let one = tally(&[], &["tests/test_cart.py::test_a"]);
    let shrunk = test_names::compare_defined(Some(&unloaded), &one, &defined).unwrap();
    assert_eq!(shrunk.missing, ["tests/test_cart.py > test_b", "tests/test_cart.py > test_c"]);
    assert!(test_names::compare_defined(None, &one, &defined).is_some());
    let all = tally(&[], &["t.test_a", "t.test_b", "t.test_c"]);
    assert_eq!(test_names::compare_defined(Some(&unloaded), &all, &defined), None);
    // Whether a file was loaded that nothing names is not known, nor which tests ran where none is named.
    let loaded = tally(&[], &["tests/test_cart.py::test_a"]);
    assert_eq!(test_names::compare_defined(Some(&loaded), &one, &defined), None);
    assert_eq!(test_names::compare_defined(Some(&unloaded), &tally(&[], &[]), &defined), None);
    // What a runner listed has to run, even where none of it does, and where the first run stopped early.
    let others = tally(&[], &["tests/test_other.py::test_x"]);
    assert_eq!(test_names::compare_defined(Some(&unloaded), &others, &defined), None);
    assert!(test_names::compare_defined(Some(&unloaded), &others, &listed).is_some());
    let stopped = tally(&["tests/test_cart.py::test_a"], &["tests/test_cart.py::test_a"]);
    assert!(test_names::compare_defined(Some(&stopped), &one, &listed).is_some());
    assert_eq!(test_names::compare_defined(Some(&stopped), &all, &listed), None);
    for (text, chooses) in [
        ("python -m pytest -q tests", false),
        ("pytest -m 'not slow'", true),
        ("addopts = -m \"not slow\"", true),
        ("pytest -k add", true),
        ("cargo test --offline", false),
        ("go test -run Add ./...", true),
        ("npx jest -t adds", true),
        ("pytest tests/test_a.py::test_b", true),
    ] {
        assert_eq!(chooses_tests(text), chooses, "{text}");
    }
}

#[test]
fn a_file_is_named_alike_where_it_says_in_the_same_way_that_it_holds_tests() {
    for (old, new, expected) in [
        ("tests/test_a.py", "tests/unit/test_b.py", true),
        ("tests/a_test.go", "tests/b_test.go", true),
        ("a_test.go", "b_test.go", true),
        ("a_test.go", "deep/a_test.go", false),
        ("tests/test_a.py", "other/test_a.py", false),
        ("src/a.test.ts", "src/b/c.test.ts", true),
        ("tests/helpers.py", "tests/deep/helpers.py", true),
        ("tests/helpers.py", "tests/other.py", false),
        ("tests/test_a.py", "tests/a.py", false),
        ("src/a.test.ts", "src/a.ts", false),
        ("src/a.test.ts", "src/b.spec.ts", false),
        ("tests/test_a.py", "tests/test_a.txt", false),
    ] {
        assert_eq!(is_named_alike(old, new), expected, "{old} {new}");
    }
}
