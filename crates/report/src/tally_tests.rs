use super::*;

#[test]
fn rates_are_compared_exactly_and_shown_rounded() {
    let seventy = Rate { part: 7, whole: 10 };
    assert!(!seventy.is_over(70) && !seventy.is_under(70));
    assert!(Rate { part: 701, whole: 1_000 }.is_over(70));
    assert!(Rate { part: 199, whole: 1_000 }.is_under(20));
    assert_eq!(Rate { part: 2, whole: 3 }.to_string(), "66.7 %");
    assert_eq!(Rate { part: 3, whole: 3 }.to_string(), "100.0 %");
    assert!(Rate { part: u64::MAX, whole: u64::MAX }.is_over(99));
}

#[test]
fn nothing_of_nothing_is_no_rate() {
    let none = Rate::default();
    assert!(!none.is_over(0) && !none.is_under(100));
    assert_eq!(none.to_string(), "–");
}

#[test]
fn the_95th_of_a_hundred_is_not_passed_by_95() {
    let mut values: Vec<u64> = (1..=100).rev().collect();
    assert_eq!(Spread::of(&mut values), Spread { count: 100, total: 5_050, p95: 95 });
    assert_eq!(Spread::of(&mut [4]).p95, 4);
    assert_eq!(Spread::of(&mut [1, 9]).p95, 9);
    assert_eq!(Spread::of(&mut (1..=20).collect::<Vec<_>>()).p95, 19);
    assert_eq!(Spread::of(&mut []), Spread::default());
}

#[test]
fn means_are_rounded_to_the_nearest() {
    let spread = Spread::of(&mut [1, 2, 2]);
    assert_eq!((spread.mean(), spread.mean_tenths()), (2, 17));
    assert_eq!((Spread::default().mean(), Spread::default().mean_tenths()), (0, 0));
    assert_eq!(Spread::of(&mut [u64::MAX, u64::MAX]).total, u64::MAX, "no overflow");
}
