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
fn a_sum_with_something_missing_gets_a_usual_request_on_top() {
    let mut so_far = CostSoFar::new(Money::dollars(1));
    so_far.spent(CENT);
    assert_eq!(*so_far.newest.borrow(), Some(CENT));
    so_far.incomplete();
    so_far.incomplete();
    assert_eq!(*so_far.newest.borrow(), Some(CENT + Money::dollars(1)));
    so_far.spent(CENT + CENT);
    assert_eq!(*so_far.newest.borrow(), Some(CENT + CENT + Money::dollars(1)));
    let mut so_far = CostSoFar::new(Money::dollars(1));
    so_far.incomplete();
    assert_eq!(*so_far.newest.borrow(), None, "nothing is known at all");
    so_far.settled(Cost::Known { amount: CENT });
    assert_eq!(*so_far.newest.borrow(), Some(CENT), "the last figure counts");
    so_far.settled(Cost::Unknown);
    assert_eq!(*so_far.newest.borrow(), None);
}
