use super::*;
use crate::testing::{event, id, started, store};

const DAY: &str = "2026-11-15";

fn cents(cents: i64) -> Money {
    Money::from_micros(cents * 10_000)
}

async fn two_loops() -> (tempfile::TempDir, Store) {
    let (folder, store) = store().await;
    started(&store, id(1), 1).await;
    started(&store, id(2), 1).await;
    (folder, store)
}

#[tokio::test]
async fn grants_what_is_left_and_at_last_nothing() {
    let (_folder, store) = two_loops().await;
    let cap = cents(100);
    let first = store.reserve(DAY, id(1), Attempt(1), cents(60), cap).await.unwrap();
    assert_eq!((first.granted, first.day.reserved), (cents(60), cents(60)));
    let second = store.reserve(DAY, id(2), Attempt(1), cents(60), cap).await.unwrap();
    assert_eq!((second.granted, second.day.reserved), (cents(40), cents(100)));
    let third = store.reserve(DAY, id(2), Attempt(2), cents(60), cap).await.unwrap();
    assert_eq!(third.granted, Money::ZERO);
    let other_day = store.reserve("2026-11-16", id(2), Attempt(3), cents(60), cap).await.unwrap();
    assert_eq!(other_day.granted, cents(60));
}

#[tokio::test]
async fn an_attempt_that_reserves_again_replaces_its_older_wish() {
    let (_folder, store) = two_loops().await;
    let cap = cents(100);
    store.reserve(DAY, id(1), Attempt(1), cents(80), cap).await.unwrap();
    let again = store.reserve(DAY, id(1), Attempt(1), cents(90), cap).await.unwrap();
    assert_eq!((again.granted, again.day.reserved), (cents(90), cents(90)));
    // Over midnight the old day gets its money back.
    let tomorrow = store.reserve("2026-11-16", id(1), Attempt(1), cents(90), cap).await.unwrap();
    assert_eq!(tomorrow.granted, cents(90));
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals::default());
}

#[tokio::test]
async fn settling_gives_the_rest_back_and_keeps_the_truth() {
    let (_folder, store) = two_loops().await;
    let cap = cents(100);
    store.reserve(DAY, id(1), Attempt(1), cents(80), cap).await.unwrap();
    store.settle(id(1), Attempt(1), cents(30)).await.unwrap();
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals { settled: cents(30), reserved: Money::ZERO });
    let next = store.reserve(DAY, id(2), Attempt(1), cents(80), cap).await.unwrap();
    assert_eq!(next.granted, cents(70));
    // An attempt may cost more than it was granted; then nothing is left, and less than nothing never.
    store.settle(id(2), Attempt(1), cents(200)).await.unwrap();
    assert_eq!(store.reserve(DAY, id(1), Attempt(2), cents(1), cap).await.unwrap().granted, Money::ZERO);

    let twice = store.reserve(DAY, id(1), Attempt(1), cents(1), cap).await;
    assert!(matches!(twice, Err(Error::AlreadySettled { .. })), "{twice:?}");
    let unreserved = store.settle(id(1), Attempt(9), cents(1)).await;
    assert!(matches!(unreserved, Err(Error::NoReservation { attempt: Attempt(9), .. })), "{unreserved:?}");
}

#[tokio::test]
async fn open_reservations_are_those_nobody_settled_or_released() {
    let (_folder, store) = two_loops().await;
    for attempt in 1..=3 {
        store.reserve(DAY, id(1), Attempt(attempt), cents(10), cents(100)).await.unwrap();
    }
    store.settle(id(1), Attempt(1), cents(5)).await.unwrap();
    store.release(id(1), Attempt(2)).await.unwrap();
    // A settled attempt stays settled, and releasing what was never reserved is no mistake.
    store.release(id(1), Attempt(1)).await.unwrap();
    store.release(id(1), Attempt(7)).await.unwrap();
    let open = OpenReservation { day: DAY.to_owned(), attempt: Attempt(3), amount: cents(10) };
    assert_eq!(store.open_reservations(id(1)).await.unwrap(), [open]);
    let ended = store.settlements(id(1)).await.unwrap();
    let settled = |attempt, amount| Settlement { attempt: Attempt(attempt), amount };
    assert_eq!(ended, [settled(1, cents(5)), settled(2, Money::ZERO)]);
    assert_eq!(store.settlements(id(2)).await.unwrap(), []);
    assert_eq!(store.open_reservations(id(2)).await.unwrap(), []);
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals { settled: cents(5), reserved: cents(10) });
}

#[tokio::test]
async fn money_for_an_unknown_loop_is_refused() {
    let (_folder, store) = two_loops().await;
    let wrong = store.reserve(DAY, id(9), Attempt(1), cents(1), cents(100)).await;
    assert!(matches!(wrong, Err(Error::UnknownLoop { .. })), "{wrong:?}");
}

#[tokio::test]
async fn money_moves_with_its_events_or_neither_does() {
    let (_folder, store) = two_loops().await;
    let reserve =
        |amount| MoneyChange::Reserve { day: DAY.to_owned(), attempt: Attempt(1), amount, day_cap: cents(100) };
    let over = store.append(id(1), crate::Seq(1), &[event(2)], None, Some(reserve(cents(101)))).await;
    assert!(matches!(over, Err(Error::OverBudget { left, .. }) if left == cents(100)), "{over:?}");
    assert_eq!(store.journal(id(1)).await.unwrap().len(), 1, "no event without its money");

    let head = store.append(id(1), crate::Seq(1), &[event(2)], None, Some(reserve(cents(100)))).await.unwrap();
    assert_eq!(store.day_totals(DAY).await.unwrap().reserved, cents(100));
    let settle = MoneyChange::Settle { attempt: Attempt(1), amount: cents(42) };
    store.append(id(1), head.seq, &[event(3)], None, Some(settle)).await.unwrap();
    assert_eq!(store.day_totals(DAY).await.unwrap(), DayTotals { settled: cents(42), reserved: Money::ZERO });
}

#[tokio::test]
async fn no_figure_is_too_large_for_the_sum_of_a_day() {
    let (_folder, store) = two_loops().await;
    for attempt in 1..4 {
        store.reserve(DAY, id(1), Attempt(attempt), cents(1), Money::from_micros(i64::MAX)).await.unwrap();
        store.settle(id(1), Attempt(attempt), Money::from_micros(i64::MAX)).await.unwrap();
    }
    let day = store.day_totals(DAY).await.unwrap();
    assert!(day.settled >= Money::dollars(1_000_000_000), "{day:?}");
    assert_eq!(store.reserve(DAY, id(2), Attempt(1), cents(1), cents(100)).await.unwrap().granted, Money::ZERO);
}

#[tokio::test]
async fn loops_of_a_pool_never_hold_more_than_it_has() {
    let (_folder, store) = two_loops().await;
    let (cap, pool) = (cents(1000), Pool { id: "race".into(), cap: cents(100) });
    let reserve = async |loop_id, attempt, want| {
        store.reserve_from(DAY, loop_id, Attempt(attempt), want, cap, Some(&pool)).await.unwrap()
    };
    assert_eq!(reserve(id(1), 1, cents(60)).await.granted, cents(60));
    let second = reserve(id(2), 1, cents(60)).await;
    assert_eq!((second.granted, second.pool.reserved), (cents(40), cents(100)));
    assert_eq!(reserve(id(2), 2, cents(1)).await.granted, Money::ZERO);
    store.settle(id(1), Attempt(1), cents(10)).await.unwrap();
    assert_eq!(reserve(id(1), 2, cents(60)).await.granted, cents(50));
    // Asking again gives the older wish back first, also over midnight.
    assert_eq!(reserve(id(1), 2, cents(45)).await.granted, cents(45));
    let tomorrow = store.reserve_from("2026-11-16", id(1), Attempt(2), cents(60), cap, Some(&pool)).await.unwrap();
    assert_eq!(tomorrow.granted, cents(50), "a pool knows no days");
    let totals = store.pool_totals("race").await.unwrap();
    assert_eq!(totals, DayTotals { settled: cents(10), reserved: cents(90) });
    // Others are not in it.
    assert_eq!(store.reserve(DAY, id(2), Attempt(9), cents(500), cap).await.unwrap().granted, cents(500));
    assert_eq!(store.pool_totals("race").await.unwrap(), totals);
}
