//! The day's money and pools: granted once, settled with the truth.

use ralph_model::{Attempt, Money};
use ralph_store::{Append, DayTotals, Error, Lease, OpenReservation, Pool, Reserve, Seq, Settlement, StoreHandle};

use super::for_every_store;
use crate::database::Database;
use crate::{DAY, id, numbered, started};

for_every_store!(
    grants_what_is_left_and_at_last_nothing,
    an_attempt_that_reserves_again_replaces_its_older_reservation,
    settling_gives_the_rest_back_and_keeps_the_truth,
    open_reservations_are_neither_settled_nor_released,
    a_settlement_is_stored_with_its_events_or_not_at_all,
    no_figure_is_too_large_for_the_sum_of_a_day,
    runs_of_a_pool_never_hold_more_than_it_has,
);

const TOMORROW: &str = "2026-11-16";

const fn cents(cents: i64) -> Money {
    Money::from_micros(cents * 10_000)
}

async fn two_runs(database: &Database) -> (StoreHandle, Lease, Lease) {
    let store = database.open().await;
    let (first, _) = started(&store, id(1), 1).await;
    let (second, _) = started(&store, id(2), 1).await;
    (store, first, second)
}

/// Of a day with a dollar.
fn want(day: &str, attempt: u32, want: Money) -> Reserve {
    Reserve { day: day.to_owned(), attempt: Attempt(attempt), want, day_cap: cents(100), pool: None }
}

fn settled(attempt: u32, amount: Money) -> Settlement {
    Settlement { attempt: Attempt(attempt), amount }
}

async fn grants_what_is_left_and_at_last_nothing(database: &Database) {
    let (store, one, two) = two_runs(database).await;
    let first = store.reserve(one, want(DAY, 1, cents(60))).await.unwrap();
    assert_eq!((first.granted, first.day.reserved), (cents(60), cents(60)));
    let second = store.reserve(two, want(DAY, 1, cents(60))).await.unwrap();
    assert_eq!((second.granted, second.day.reserved), (cents(40), cents(100)));
    let third = store.reserve(two, want(DAY, 2, cents(60))).await.unwrap();
    assert_eq!(third.granted, Money::ZERO);
    let other_day = store.reserve(two, want(TOMORROW, 3, cents(60))).await.unwrap();
    assert_eq!(other_day.granted, cents(60));
}

async fn an_attempt_that_reserves_again_replaces_its_older_reservation(database: &Database) {
    let (store, one, _) = two_runs(database).await;
    store.reserve(one, want(DAY, 1, cents(80))).await.unwrap();
    let again = store.reserve(one, want(DAY, 1, cents(90))).await.unwrap();
    assert_eq!((again.granted, again.day.reserved), (cents(90), cents(90)));
    // Over midnight the old day gets its money back.
    let tomorrow = store.reserve(one, want(TOMORROW, 1, cents(90))).await.unwrap();
    assert_eq!(tomorrow.granted, cents(90));
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals::default());
}

async fn settling_gives_the_rest_back_and_keeps_the_truth(database: &Database) {
    let (store, one, two) = two_runs(database).await;
    store.reserve(one, want(DAY, 1, cents(80))).await.unwrap();
    store.settle(one, settled(1, cents(30))).await.unwrap();
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals { settled: cents(30), reserved: Money::ZERO });
    let next = store.reserve(two, want(DAY, 1, cents(80))).await.unwrap();
    assert_eq!(next.granted, cents(70));
    // An attempt may cost more than it was granted; then nothing is left, and less than nothing never.
    store.settle(two, settled(1, cents(200))).await.unwrap();
    assert_eq!(store.reserve(one, want(DAY, 2, cents(1))).await.unwrap().granted, Money::ZERO);

    let twice = store.reserve(one, want(DAY, 1, cents(1))).await;
    assert!(matches!(twice, Err(Error::AlreadySettled { .. })), "{twice:?}");
    let unreserved = store.settle(one, settled(9, cents(1))).await;
    assert!(matches!(unreserved, Err(Error::NoReservation { attempt: Attempt(9), .. })), "{unreserved:?}");
}

async fn open_reservations_are_neither_settled_nor_released(database: &Database) {
    let (store, one, _) = two_runs(database).await;
    for attempt in 1..=3 {
        store.reserve(one, want(DAY, attempt, cents(10))).await.unwrap();
    }
    store.settle(one, settled(1, cents(5))).await.unwrap();
    store.release(one, Attempt(2)).await.unwrap();
    // A settled attempt stays settled, and releasing what was never reserved is no mistake.
    store.release(one, Attempt(1)).await.unwrap();
    store.release(one, Attempt(7)).await.unwrap();
    let open = OpenReservation { day: DAY.to_owned(), attempt: Attempt(3), amount: cents(10) };
    assert_eq!(store.open_reservations(id(1)).await.unwrap(), [open]);
    assert_eq!(store.settlements(id(1)).await.unwrap(), [settled(1, cents(5)), settled(2, Money::ZERO)]);
    assert_eq!(store.settlements(id(2)).await.unwrap(), []);
    assert_eq!(store.open_reservations(id(2)).await.unwrap(), []);
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals { settled: cents(5), reserved: cents(10) });
}

async fn a_settlement_is_stored_with_its_events_or_not_at_all(database: &Database) {
    let (store, one, _) = two_runs(database).await;
    let with = |attempt| Append { settle: Some(settled(attempt, cents(42))), ..numbered(2).into() };
    let unreserved = store.append(one, Seq(1), with(1)).await;
    assert!(matches!(unreserved, Err(Error::NoReservation { .. })), "{unreserved:?}");
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 1, "no event without its money");
    store.reserve(one, want(DAY, 1, cents(100))).await.unwrap();
    store.append(one, Seq(1), with(1)).await.unwrap();
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals { settled: cents(42), reserved: Money::ZERO });
}

async fn no_figure_is_too_large_for_the_sum_of_a_day(database: &Database) {
    let (store, one, two) = two_runs(database).await;
    for attempt in 1..4 {
        let reserve = Reserve { day_cap: Money::from_micros(i64::MAX), ..want(DAY, attempt, cents(1)) };
        store.reserve(one, reserve).await.unwrap();
        store.settle(one, settled(attempt, Money::from_micros(i64::MAX))).await.unwrap();
    }
    let day = store.day_totals(DAY).await.unwrap();
    assert!(day.settled >= Money::dollars(1_000_000_000), "{day:?}");
    assert_eq!(store.reserve(two, want(DAY, 1, cents(1))).await.unwrap().granted, Money::ZERO);
}

async fn runs_of_a_pool_never_hold_more_than_it_has(database: &Database) {
    let (store, one, two) = two_runs(database).await;
    let pool = Pool { id: "race".into(), cap: cents(100) };
    let from = |day: &str, attempt, amount| Reserve {
        day_cap: cents(1000),
        pool: Some(pool.clone()),
        ..want(day, attempt, amount)
    };
    let granted = async |lease, reserve| store.reserve(lease, reserve).await.unwrap().granted;
    assert_eq!(granted(one, from(DAY, 1, cents(60))).await, cents(60));
    let second = store.reserve(two, from(DAY, 1, cents(60))).await.unwrap();
    assert_eq!((second.granted, second.pool.reserved), (cents(40), cents(100)));
    assert_eq!(granted(two, from(DAY, 2, cents(1))).await, Money::ZERO);
    store.settle(one, settled(1, cents(10))).await.unwrap();
    assert_eq!(granted(one, from(DAY, 2, cents(60))).await, cents(50));
    // Asking again gives the older reservation back first, also over midnight.
    assert_eq!(granted(one, from(DAY, 2, cents(45))).await, cents(45));
    assert_eq!(granted(one, from(TOMORROW, 2, cents(60))).await, cents(50), "a pool knows no days");
    let totals = store.pool_totals("race").await.unwrap();
    assert_eq!(totals, DayTotals { settled: cents(10), reserved: cents(90) });
    // Others are not in it.
    let alone = Reserve { day_cap: cents(1000), ..want(DAY, 9, cents(500)) };
    assert_eq!(granted(two, alone).await, cents(500));
    assert_eq!(store.pool_totals("race").await.unwrap(), totals);
}
