use super::*;

const CENT: Money = Money::from_micros(10_000);

#[test]
fn figures_of_earlier_versions_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("2.cost");
    assert_eq!(noted(&path), None, "the agent was not watched");
    for (text, cost) in [
        ("10000", Cost::Known { amount: CENT }),
        ("0\n", Cost::Known { amount: Money::ZERO }),
        ("unknown", Cost::Unknown),
        ("", Cost::Unknown),
        ("-5", Cost::Unknown),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(noted(&path), Some(cost), "{text:?}");
    }
}

#[test]
fn a_sum_with_something_missing_is_no_cost() {
    let mut so_far = CostSoFar::new();
    so_far.spent(CENT);
    assert_eq!(*so_far.newest.borrow(), Some(CENT));
    so_far.incomplete();
    so_far.spent(CENT);
    assert_eq!(*so_far.newest.borrow(), None);
    so_far.settled(Cost::Known { amount: CENT });
    assert_eq!(*so_far.newest.borrow(), Some(CENT), "the last figure counts");
    so_far.settled(Cost::Unknown);
    assert_eq!(*so_far.newest.borrow(), None);
}
