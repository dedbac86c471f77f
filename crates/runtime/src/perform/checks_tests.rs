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
fn new_files_and_lock_files_are_no_work_that_moved() {
    let change = |path: &str, kind| Change { path: path.into(), kind };
    let changes = vec![
        change("coverage.xml", ChangeKind::Added),
        change("web/package-lock.json", ChangeKind::Modified),
        change("src/lib.rs", ChangeKind::Modified),
        change("notes.txt", ChangeKind::Deleted),
    ];
    assert_eq!(moved_work(changes), ["src/lib.rs", "notes.txt"]);
}
