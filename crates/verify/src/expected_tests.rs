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
