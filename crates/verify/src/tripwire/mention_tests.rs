//! Which files a text names.

use super::*;

#[test]
fn files_are_named_as_they_are() {
    assert!(mentions("tests/test_a.py", "tests/test_a.py ..  [100%]"));
    assert!(mentions("tests/test_a.py", "FAILED tests/test_a.py::test_b - x"));
    assert!(mentions("src/a.test.ts", " ✓ src/a.test.ts (3 tests) 4ms"));
    assert!(mentions("a.test.js", "PASS ./a.test.js"));
    assert!(!mentions("a.test.js", "PASS src/a.test.js"));
    assert!(!mentions("tests/test_a.py", "old/tests/test_a.py ."));
    assert!(!mentions("a.test.ts", "PASS a.test.tsx"));
    assert!(!mentions("a.test.js", "PASS ../a.test.js"));
}

#[test]
fn modules_of_python_are_named_with_dots() {
    assert!(mentions("tests/test_a.py", "test_b (tests.test_a.CartTest.test_b) ... ok"));
    assert!(mentions("tests/test_a.py", "test_b (test_a.CartTest.test_b) ... ok"));
    assert!(!mentions("test_a.py", "test_b (tests.test_a.CartTest.test_b) ... ok"));
    assert!(!mentions("tests/test_a.py", "test_b (tests.test_abc.CartTest.test_b) ... ok"));
}

#[test]
fn packages_of_go_are_folders() {
    assert!(mentions("cart/a_test.go", "ok  \texample.com/shop/cart\t0.004s"));
    assert!(mentions("cart/a_test.go", "FAIL\texample.com/shop/cart\t0.004s"));
    assert!(!mentions("cart/a_test.go", "ok  \texample.com/shop/cart/big\t0.004s"));
    assert!(!mentions("cart/a_test.go", "ok  \texample.com/shop/cart\t0.004s [no tests to run]"));
    assert!(!mentions("a_test.go", "ok  \texample.com/shop\t0.004s"), "the module's name is not known");
}

#[test]
fn cargo_names_targets_and_modules() {
    let output = "     Running unittests src/lib.rs (target/debug/deps/shop-0a)\ntest cart::tests::adds ... ok\n     \
                  Running tests/it.rs (target/debug/deps/it-0b)\n";
    assert!(mentions("src/lib.rs", output));
    assert!(mentions("tests/it.rs", output));
    assert!(mentions("src/cart.rs", output));
    assert!(mentions("src/cart/mod.rs", output));
    assert!(mentions("src/cart.rs", "shop cart::tests::adds"));
    assert!(!mentions("src/main.rs", output));
    assert!(!mentions("src/tests.rs", output));
    assert!(!mentions("crates/shop/tests/it.rs", output), "it may be of another package");
}

#[test]
fn sub_tests_belong_to_their_test() {
    assert!(is_reported_as("tests.test_a.CartTest.test_b [P15D]", "test_b"));
    assert!(is_reported_as("tests.test_a.CartTest.test_b (i=3)", "test_b"));
    assert!(!is_reported_as("tests.test_a.CartTest.test_b_c [P15D]", "test_b"));
}

#[test]
fn titles_with_values_in_them_are_known_by_the_words_that_stay() {
    for (reported, name) in [
        ("sums > adds 3", "adds %i"),
        ("sums > row 07 of 0.50", "row %02d of %.2f"),
        ("sums > number 1 of all", "number %$ of all"),
        ("costs 5 in all", "costs $price in all"),
        ("maps a to b", "maps ${from} to ${to}"),
        ("maps a to b (4 ms)", "maps #{from} to #{to}"),
        ("adds[0]", "adds"),
    ] {
        assert!(is_reported_as(reported, name), "{name}");
    }
    for (reported, name) in [
        ("Should handle the header option", "Should handle $merge keywords in body"),
        ("Should expose the getter", "Should expose ${name} function"),
        ("maps a to b", "maps ${from} onto ${to}"),
        ("sums up", "sums %s up to %s"),
        ("takes 100 dollars", "takes 100% of it"),
    ] {
        assert!(!is_reported_as(reported, name), "{name}");
    }
}
