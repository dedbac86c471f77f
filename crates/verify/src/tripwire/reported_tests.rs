//! An index finds what comparing every name finds.

use super::*;

const REPORTED: [&str; 22] = [
    "tests/test_a.py::test_adds",
    "tests/test_a.py::test_adds[1-2]",
    "tests.test_a.CartTest.test_b [P15D]",
    "tests.test_a.CartTest.test_b (i=3)",
    "tests.test_a.CartTest.test_b_c",
    "cart.test.js > sums > adds 3",
    "cart.test.js > sums > row 07 of 0.50",
    "costs 5 in all",
    "maps a to b (4 ms)",
    "Cart#test_0001_adds two",
    "Cart#test_adds_two",
    "CartTest#test_adds",
    "cart::tests::adds",
    "shop cart::tests::adds",
    "Should expose the getter",
    "sums › ünder größe",
    "+",
    "package example.com/shop/cart",
    "TestAdd/zero_and_one",
    "TestAdd",
    "takes 100 dollars",
    "",
];

#[test]
fn the_index_finds_what_a_comparison_of_all_names_finds() {
    let names = ReportedNames::new(REPORTED.to_vec());
    let mut found = 0;
    for name in [
        "test_adds",
        "test_b",
        "test_b_c",
        "adds",
        "adds two",
        "adds %i",
        "row %02d of %.2f",
        "costs $price in all",
        "maps ${from} to ${to}",
        "Should expose ${name} getter",
        "ünder größe",
        "under",
        "+",
        "%s",
        "",
        "TestAdd",
        "zero and one",
        "zero_and_one",
        "takes 100% of it",
        "takes %d dollars",
        "sums",
        "to",
    ] {
        let compared: Vec<&str> = REPORTED.into_iter().filter(|reported| is_reported_as(reported, name)).collect();
        assert_eq!(names.of(name).collect::<Vec<_>>(), compared, "{name}");
        found += compared.len();
    }
    assert!(found >= 20, "{found}");
}
