use super::*;

fn estimate(usual: i64, most: i64) -> Option<Estimate> {
    Some(Estimate { least: Money::ZERO, usual: Money::from_micros(usual), most: Money::from_micros(most) })
}

#[test]
fn requests_hold_what_they_will_cost_and_no_budget_is_passed_by_more_than_those_under_way() {
    let mut ledger = Ledger::new(Some(Money::dollars(3)));
    let first = ledger.reserve(estimate(200_000, 900_000)).unwrap();
    assert_eq!(first, Hold(Money::from_micros(200_000)));
    ledger.settle(first, Money::dollars(2));
    let second = ledger.reserve(estimate(200_000, 900_000)).unwrap();
    assert_eq!(second, Hold(Money::from_micros(900_000)), "as dear as the first, and no dearer than it can be");
    let third = ledger.reserve(estimate(200_000, 900_000)).unwrap_err();
    assert_eq!((third.committed, third.expected), (Money::from_micros(2_900_000), Money::from_micros(900_000)));
    ledger.settle(second, Money::ZERO);
    assert_eq!(ledger.reserve(estimate(1, 1)).unwrap_err(), third, "once refused, nothing is forwarded any more");
    assert_eq!(ledger.spent(), Money::dollars(2));

    let mut spent = Ledger::new(Some(Money::dollars(1)));
    let hold = spent.reserve(None).unwrap();
    spent.settle(hold, Money::dollars(1));
    assert!(spent.reserve(None).is_err(), "a request without a price costs something, too");
    assert!(Ledger::new(Some(Money::dollars(1))).reserve(estimate(2_000_000, 9_000_000)).is_err());
    assert!(Ledger::new(None).reserve(estimate(2_000_000, 9_000_000)).is_ok());

    let mut cheap = Ledger::new(Some(Money::dollars(1)));
    for _ in 0..9 {
        let hold = cheap.reserve(estimate(10, 10)).unwrap();
        cheap.settle(hold, Money::from_micros(10));
    }
    let dear = Some(Estimate { least: Money::from_micros(400_000), ..estimate(2_000_000, 9_000_000).unwrap() });
    let holds = [(); 3].map(|()| cheap.reserve(dear).is_ok());
    assert_eq!(holds, [true, true, false], "short requests before do not let many long ones pass at once");
}
