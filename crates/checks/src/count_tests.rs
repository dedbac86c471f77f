use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

/// The name of an output, then passed, failed, skipped, and the names of failing tests.
type Case = (&'static str, u32, u32, u32, &'static [&'static str]);

const CARGO: &[&str] = &["opened", "src/lib.rs - total (line 4)", "tests::discount", "tests::rate"];
const NEXTEST: &[&str] = &["shop tests::discount", "shop tests::rate", "shop::end opened"];
const PYTEST: &[&str] =
    &["tests/test_cart.py::test_discount", "tests/test_cart.py::test_named[a b]", "tests/test_cart.py::test_save"];
const PARTS: &[&str] = &[
    "tests/test_cart.py::test_discount",
    "tests/test_cart.py::test_named[a b]",
    "tests/test_cart.py::test_setup",
    "tests/test_cart.py::test_sub",
    "tests/test_cart.py::test_teardown",
];
const UNITTEST_PARTS: &[&str] = &[
    "test_u.Broken.setUpClass",
    "test_u.Case.test_docfail",
    "test_u.Case.test_err",
    "test_u.Case.test_sub (i=0)",
    "test_u.Case.test_sub (i=2)",
];
const NODE: &[&str] = &["cart > discount", "cart > tax > rate", "outer > inner bad"];
const GO: &[&str] = &["example.com/shop/cart.TestDiscount", "example.com/shop/cart.TestTax/unknown_rate"];
const MINITEST: &[&str] = &["CartTest#test_discount", "CartTest#test_rate"];
const TAP_EXCEPTION: &[&str] = &[
    "test/sum.js > adds",
    "test/sum.js > adds > no number at 3",
    "test/sum.js > stays",
    "test/sum.js > stays > is three",
];
const TEST_UNIT: &[&str] = &[
    "CartTest#named with words",
    "CartTest#test_discount",
    "CartTest#test_rate",
    "CartTest::inner#deep",
    "Shop::TaxTest#test_data[two]",
    "Shop::TaxTest#test_multi",
];
const MOCHA: &[&str] = &["cart › discount", "cart › tax › rate"];
const VITEST: &[&str] = &["cart.test.mjs > cart > discount", "cart.test.mjs > cart > tax > rate"];

/// Kept as the runners printed them, but for the first bun, .NET, Go except `go-torn`, Gradle, Maven, TAP 12 and 14, an older nextest and turbo, which were written
/// after their documentation.
const TALLIES: &[Case] = &[
    ("ava", 1, 1, 2, &["discount"]),
    // It counts a test that has to be written among the failing.
    ("ava-tap", 1, 1, 2, &["discount"]),
    ("ava-4", 1, 2, 0, &["discount › takes ten percent", "total › adds"]),
    ("bats", 1, 1, 1, &["discount"]),
    ("bun", 1, 1, 1, &["cart > discount"]),
    ("bun-1.4", 1, 1, 1, &["cart > discount"]),
    ("cargo", 4, 4, 1, CARGO),
    ("cargo-colour", 4, 4, 1, CARGO),
    ("cargo-doc", 8, 1, 3, &["tests::discount"]),
    // What a test prints tears lines apart, and looks like a run of its own.
    ("cargo-nocapture", 9, 1, 3, &["tests::discount"]),
    ("cargo-pass", 1, 0, 0, &[]),
    ("cargo-quiet", 4, 4, 1, CARGO),
    ("ctest", 1, 2, 1, &["discount", "rate"]),
    ("deno", 1, 2, 1, &["deno_test.ts > cart", "deno_test.ts > discount"]),
    ("dotnet", 2, 1, 1, &["Shop.Tests.CartTests.Discount"]),
    ("go", 1, 2, 0, GO),
    ("go-build-failed", 1, 1, 0, &["package example.com/shop/tax"]),
    ("go-json", 3, 2, 1, &["example.com/shop/cart.TestTax/unknown_rate", "package example.com/shop/tax"]),
    ("go-torn", 1, 1, 0, &["example.com/shop/cart.TestDiscount"]),
    ("go-torn-json", 7, 0, 2, &[]),
    ("go-torn-verbose", 6, 1, 2, &["example.com/shop/cart.TestDiscount"]),
    ("go-verbose", 3, 2, 1, GO),
    ("gradle", 1, 2, 1, &["CartTest > discount()", "CartTest > rate()"]),
    ("gradle-logged", 2, 0, 1, &[]),
    ("jest", 2, 3, 2, &["cart › discount", "cart › tax › rate", "jest/broken.test.js"]),
    ("jest-broken", 0, 1, 0, &["jest/broken.test.js"]),
    // The report and, beside it, the results for people.
    ("jest-json", 7, 1, 3, &["/home/dev/js/jest/cart.test.js > cart › discount"]),
    ("jest-pass", 1, 0, 0, &[]),
    ("jest-verbose", 7, 1, 3, &["cart › discount"]),
    ("jest-verbose-colour", 2, 2, 2, MOCHA),
    ("maven", 2, 2, 1, &["com.example.CartTest.discount", "com.example.CartTest.rate"]),
    ("maven-old-names", 1, 1, 0, &["CalcTest.adds"]),
    ("minitest", 1, 2, 1, MINITEST),
    ("minitest-verbose", 1, 2, 1, MINITEST),
    ("mocha", 1, 2, 1, MOCHA),
    ("test-unit", 3, 6, 2, TEST_UNIT),
    ("test-unit-verbose", 3, 6, 2, TEST_UNIT),
    ("mocha-dot", 1, 2, 1, MOCHA),
    ("mocha-hook", 4, 2, 2, &["cart › discount", "hooked › \"before all\" hook for \"never\""]),
    (
        "mocha-json",
        4,
        2,
        2,
        &[
            "/home/dev/js/mocha/cart.js > cart discount",
            "/home/dev/js/mocha/cart.js > hooked \"before all\" hook for \"never\"",
        ],
    ),
    ("mocha-pass", 1, 0, 0, &[]),
    ("mocha-tap", 1, 2, 1, &["cart discount", "cart tax rate"]),
    ("nextest", 3, 3, 1, NEXTEST),
    ("nextest-all", 4, 1, 2, &["shop tests::discount"]),
    // The doc test that runs after it counts, the libtest output that it shows does not.
    ("nextest-old", 2, 2, 4, &["shop tests::discount", "shop tests::rate"]),
    ("nextest-pass", 2, 0, 5, &[]),
    ("nextest-retries", 3, 3, 1, NEXTEST),
    ("node-spec", 2, 4, 2, NODE),
    ("node-spec-colour", 2, 4, 2, NODE),
    ("node-spec-nested", 6, 1, 4, &["cart > discount"]),
    ("node-tap-nested", 6, 1, 4, &["cart > discount"]),
    ("node-tap", 2, 4, 2, NODE),
    ("node-tap-pass", 1, 0, 5, &[]),
    ("phpunit", 1, 2, 1, &["CartTest::testDiscount", "CartTest::testRate"]),
    ("phpunit-pass", 1, 0, 0, &[]),
    ("phpunit-testdox", 1, 2, 1, &[]),
    ("pytest", 2, 3, 2, PYTEST),
    // One that was marked to fail and passed shows nothing.
    ("pytest-all", 7, 5, 3, PARTS),
    ("pytest-parts", 7, 5, 3, PARTS),
    ("pytest-parts-verbose", 7, 5, 3, PARTS),
    ("pytest-collection", 0, 1, 0, &["broken/test_b.py"]),
    ("pytest-colour", 2, 3, 2, PYTEST),
    ("pytest-none", 0, 0, 0, &[]),
    ("pytest-quiet", 2, 3, 2, PYTEST),
    ("pytest-quiet-pass", 1, 0, 0, &[]),
    ("pytest-verbose", 2, 3, 2, PYTEST),
    ("pytest-xdist", 2, 3, 2, PYTEST),
    ("rspec", 1, 2, 1, &["cart discount", "cart tax rate"]),
    ("rspec-documentation", 1, 2, 1, &["cart discount", "cart tax rate"]),
    // Lines of Ruby and of tests are no part of the tree.
    ("rspec-warnings", 1, 2, 1, &["cart discount", "cart tax rate"]),
    ("tap", 1, 1, 1, &["tapdir/cart.test.cjs > discount", "tapdir/cart.test.cjs > discount > should be equal"]),
    // Two of three tests were announced and never came.
    ("tap-exception", 2, 2, 0, TAP_EXCEPTION),
    ("tap-bail", 1, 2, 0, &[]),
    ("tap12", 1, 2, 2, &["discount"]),
    ("tap14", 3, 2, 0, &["cart > discount", "tax # closing failed by itself"]),
    // An assertion has no name of its own: what it says may be the same in another test.
    ("tape", 1, 1, 0, &["cart"]),
    ("turbo", 11, 1, 0, &[]),
    (
        "unittest",
        1,
        3,
        2,
        &[
            "test_shop_unittest.Shop.test_discount",
            "test_shop_unittest.Shop.test_missing",
            "test_shop_unittest.Shop.test_sub (i=1)",
        ],
    ),
    ("unittest-import", 0, 1, 0, &["unittest.loader._FailedTest.test_b"]),
    ("unittest-parts", 1, 5, 3, UNITTEST_PARTS),
    ("unittest-pass", 1, 0, 0, &[]),
    ("unittest-verbose", 1, 5, 3, UNITTEST_PARTS),
    ("vitest", 2, 3, 2, &["broken.test.mjs", "cart.test.mjs > cart > discount", "cart.test.mjs > cart > tax > rate"]),
    ("vitest-colour", 1, 2, 2, VITEST),
    ("vitest-json", 7, 1, 3, &["/home/dev/js/vitest/cart.test.mjs > cart › discount"]),
    ("vitest-pass", 1, 0, 0, &[]),
    ("vitest-tap", 7, 1, 3, &["cart.test.mjs > cart > discount"]),
    ("vitest-verbose", 7, 1, 3, &["cart.test.mjs > cart > discount"]),
];

const UNCOUNTED: &[&str] = &["cargo-compile-error", "gcc", "make", "tsc"];

fn outputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs")
}

fn output(name: &str) -> String {
    fs::read_to_string(outputs().join(format!("{name}.txt"))).unwrap()
}

fn wanted((case, passed, failed, skipped, failing): &Case) -> Option<TestTally> {
    let failing = failing.iter().map(|name| (*name).to_owned()).collect();
    Some(TestTally { passed: *passed, failed: *failed, skipped: *skipped, failing, names: names(case) })
}

/// The names of all tests that ran, kept beside the output, one on each line.
fn names(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/names").join(format!("{name}.txt"));
    let Ok(text) = fs::read_to_string(path) else { return vec![] };
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_kept_output_counts_as_it_should() {
    for case in TALLIES {
        assert_eq!(count(&output(case.0)), wanted(case), "{}", case.0);
    }
    for name in UNCOUNTED {
        assert_eq!(count(&output(name)), None, "{name}");
    }
    let tested: BTreeSet<String> =
        TALLIES.iter().map(|case| case.0).chain(UNCOUNTED.iter().copied()).map(String::from).collect();
    let kept: BTreeSet<String> = fs::read_dir(outputs())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".txt", ""))
        .collect();
    assert_eq!(tested, kept, "every output has a line in the table");
    for entry in fs::read_dir(outputs().with_file_name("names")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap().replace(".txt", "");
        assert!(kept.contains(&name), "the names of {name} belong to no output");
    }
}

#[test]
fn names_are_dropped_where_they_cannot_be_all_or_not_all_are_names() {
    let mocha = "  cart\n    ✔ adds\n    ✔ printed by a test\n\n  1 passing (4ms)\n";
    assert_eq!(count(mocha).map(|tally| (tally.passed, tally.names)), Some((1, vec![])));
    let summary = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let torn = format!("running 2 tests\ntest a ... ok\nhellotest b ... ok\n\n{summary}");
    assert_eq!(count(&torn).map(|tally| (tally.passed, tally.names)), Some((2, vec![])));
    let whole = format!("running 2 tests\ntest a ... ok\ntest b ... ok\n\n{summary}");
    assert_eq!(count(&whole).map(|tally| tally.names), Some(vec!["a".to_owned(), "b".to_owned()]));
    let vitest = " ✓ a.test.ts > adds 1ms\n ✓ b > printed by a test 1ms\n      Tests  1 passed (1)\n";
    assert_eq!(count(vitest).map(|tally| (tally.passed, tally.names)), Some((1, vec![])));
    let unittest = "test_a (m.C.test_a) ... ok\nhi, test_b (m.C.test_b) ... ok\n\nRan 2 tests in 0.1s\n\nOK\n";
    assert_eq!(count(unittest).map(|tally| (tally.passed, tally.names)), Some((2, vec![])));
    let mended = ["m.C.test_a", "m.C.test_b"].map(String::from).to_vec();
    assert_eq!(count(&unittest.replace("hi, ", "hello")).map(|tally| tally.names), Some(mended));
    // All fail, and a test that passes would not be named.
    let gradle = "CartTest > adds FAILED\n    java.lang.AssertionError\n\n1 test completed, 1 failed\n";
    assert_eq!(
        count(gradle).map(|tally| (tally.failed, tally.failing, tally.names)),
        Some((1, vec!["CartTest > adds".to_owned()], vec![]))
    );
    let logged = format!("CartTest > divides PASSED\n\n{}", gradle.replace("1 test completed", "2 tests completed"));
    assert_eq!(count(&logged).map(|tally| tally.names.len()), Some(2));
    // Two runs of jest, of which the first shows its tests.
    let jest = "PASS a.test.js\n  ✓ adds\n\nTests: 1 passed, 1 total\nPASS b.test.js\nPASS c.test.js\n\nTests: 4 passed, 4 total\n";
    let files = ["a.test.js", "b.test.js", "c.test.js"].map(String::from).to_vec();
    assert_eq!(count(jest).map(|tally| (tally.passed, tally.names)), Some((5, files)));
    let failures_only =
        output("nextest-all").lines().filter(|line| !line.contains("PASS [")).collect::<Vec<_>>().join("\n");
    assert_eq!(count(&failures_only).map(|tally| (tally.passed, tally.names)), Some((4, vec![])));
}

#[test]
fn tests_of_pytest_that_print_are_named() {
    let text = "collected 4 items\n\ntests/a.py::test_a[x y] printed\nPASSED\ntests/a.py::test_b \nSKIPPED (no)\n\
                tests/a.py::test_c live log\nINFO here\nFAILED [ 75%]\ntests/a.py::test_d PASSED\n\n\
                === FAILURES ===\ntests/a.py::test_fake PASSED\n==== 1 failed, 2 passed, 1 skipped in 0.01s ====\n";
    let names = count(text).unwrap().names;
    assert_eq!(names, ["tests/a.py::test_a[x y]", "tests/a.py::test_c", "tests/a.py::test_d"]);
    // With `-s` what a test prints stands where the dots are; a table of coverage has files, too.
    let text = "collected 2 items\n\ntests/a.py debug.\ntests/b.py ss\ntests/c.py .s [100%]\n\n\
                === tests coverage ===\nsrc/shop.py 10 2 80%\n=== 2 passed, 3 skipped in 0.01s ===\n";
    assert_eq!(count(text).unwrap().names, ["tests/a.py", "tests/c.py"]);
}

#[test]
fn runners_that_follow_each_other_add_up() {
    let both = output("cargo-pass") + &output("jest") + &output("pytest");
    let tally = count(&both).unwrap();
    assert_eq!((tally.passed, tally.failed, tally.skipped), (1 + 2 + 2, 3 + 3, 2 + 2));
    let twice = count(&output("cargo-pass").repeat(2)).unwrap();
    assert_eq!(twice.passed, 2);
}

#[test]
fn a_binary_that_was_cut_short_hides_no_other() {
    let text = "running 5 tests\ntest a ... ok\nerror: signal: 6, SIGABRT: process abort signal\n\nrunning 1 test\n\
                test b ... FAILED\n\nfailures:\n\nfailures:\n    b\n\n\
                test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let tally = count(text).unwrap();
    assert_eq!((tally.passed, tally.failed, tally.failing), (0, 1, vec!["b".to_owned()]));
}

#[test]
fn words_about_tests_are_no_tests() {
    for text in [
        "",
        "2 passed\n",
        "all 12 tests passed in no time\n",
        "ok\nnot ok\n",
        "ok 1 - without a plan\n",
        "I ran 3 tests in 0.1s\n",
        "Tests: all good\n",
        "  1 failing\n",
        "# pass 3\n",
        "The agent says: test result: ok. 5 passed; 0 failed; 0 ignored\n",
        "Ran 3 tests in 0.1s\nand then it went away\n",
    ] {
        assert_eq!(count(text), None, "{text}");
    }
}

#[test]
fn numbers_of_any_size_do_no_harm() {
    let most = u32::MAX;
    let text = format!("===== {most} failed, {most} passed, {most} errors in 1.0s =====\n");
    assert_eq!(count(&text).map(|tally| (tally.failed, tally.passed)), Some((most, most)));
    assert_eq!(count("===== 99999999999 failed in 1.0s =====\n"), None);
    let text = format!("     Summary [   0.1s] {most} tests run: {most} passed, {most} failed, {most} timed out\n");
    assert_eq!(count(&text).map(|tally| tally.failed), Some(most));
}

#[test]
fn names_are_bounded_whatever_their_order() {
    let lines = |numbers: &mut dyn Iterator<Item = u32>| -> String {
        numbers.map(|number| format!("FAILED tests/a.py::test_{number:04}\n")).collect::<String>()
            + "500 failed in 1.0s\n"
    };
    let forward = count(&lines(&mut (0..500))).unwrap();
    let backward = count(&lines(&mut (0..500).rev())).unwrap();
    assert_eq!(forward.failing.len(), TestTally::MAX_NAMES);
    assert_eq!(forward, backward);
    let long = count(&format!("FAILED a.py::{}\n1 failed in 1.0s\n", "é".repeat(2000))).unwrap();
    assert!(long.failing[0].len() <= 300);
    let many: String = (0..12_000).map(|number| format!("ok {number} - test {number:05}\n")).collect();
    let tally = count(&format!("TAP version 13\n{many}1..12000\n")).unwrap();
    assert_eq!((tally.passed, tally.names.len()), (12_000, TestTally::MAX_TESTS));
}

fn in_pieces(text: &str, cuts: &[usize]) -> Option<TestTally> {
    let mut counter = Counter::new();
    let mut rest = text;
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let at = rest.ceil_char_boundary((*cut).clamp(1, rest.len()));
        counter.feed(&rest[..at]);
        rest = &rest[at..];
    }
    counter.finish()
}

/// Pieces of real lines, so that chance reaches deep into the recognisers.
fn fragments() -> impl Strategy<Value = String> {
    let words = [
        "test result: ",
        "ok. ",
        "FAILED. ",
        "1 passed",
        "; ",
        ", ",
        "2 failed",
        "running 3 tests",
        "failures:",
        "\n",
        "\n    ",
        "  ",
        "--- FAIL: ",
        "TestX/y",
        " (0.00s)",
        "FAIL\t",
        "ok  \t",
        "pkg\t0.1s",
        "{\"Action\":\"fail\",\"Package\":\"p\"}",
        "not ok ",
        "ok ",
        "1 - ",
        "1..",
        "4294967295",
        "# Subtest: ",
        "# tests 3",
        "ℹ ",
        "pass 2",
        "---",
        "...",
        "Summary [",
        "] ",
        " run: ",
        "Tests:",
        " total",
        "Tests  ",
        " | ",
        "● ",
        "✖ ",
        "▶ ",
        "==",
        " in 0.1s",
        "Ran ",
        " tests in 0.1s",
        "FAILED (failures=",
        "1) ",
        "passing (",
        "failing",
        "\u{1b}[31m",
        "␛[",
        "<<< FAILURE!",
        "é",
        "test a ... ",
        "PASS ",
        "a.test.js",
        " ✓ ",
        " > ",
        "collected 2 items",
        "a.py::b PASSED",
        "a.py .. [ 50%]",
        "test_a (m.C) ... ",
        "skipped 'x'",
        "=== RUN ",
        "no newline--- PASS: TestZ (0.00s)",
        " {",
        "}",
        "{\"stats\":{},\"passes\":[{\"fullTitle\":\"a\"}]}",
        "short test summary info ",
        "PASSED a.py::c",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..60).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn pieces_do_not_matter(text in fragments(), cuts in proptest::collection::vec(1_usize..40, 1..8)) {
        let whole = count(&text);
        prop_assert_eq!(&in_pieces(&text, &cuts), &whole);
        let names = whole.map(|tally| tally.names).unwrap_or_default();
        prop_assert!(names.is_sorted_by(|one, other| one < other) && names.len() <= TestTally::MAX_TESTS);
    }

    #[test]
    fn pieces_of_real_outputs_do_not_matter(
        case in 0..TALLIES.len(),
        cuts in proptest::collection::vec(1_usize..3000, 1..8),
    ) {
        prop_assert_eq!(in_pieces(&output(TALLIES[case].0), &cuts), wanted(&TALLIES[case]));
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let text = String::from_utf8_lossy(&bytes);
        let tally = count(&text);
        prop_assert!(tally.is_none_or(|tally| tally.failing.len() <= TestTally::MAX_NAMES));
        prop_assert!(crate::signature(&text).is_none_or(|signature| signature.hash.len() == 16));
        prop_assert!(crate::excerpt(&text).len() <= crate::EXCERPT_LIMIT);
        report(&text);
    }
}
