//! Leases: whoever acquired a run last writes to it, and nobody else.

use ralph_model::{Attempt, Money, Timestamp};
use ralph_store::{Epoch, Error, LeaseHolder, Seq, Settlement, StopMode};

use super::for_every_store;
use crate::database::Database;
use crate::{holder, id, machine, numbered, reserve, started};

for_every_store!(
    a_stale_lease_writes_nothing,
    epochs_count_up_and_the_holder_follows,
    a_renewed_lease_counts_longer_until_the_run_ends,
    a_quarantine_makes_leases_stale,
    finishing_leaves_nothing_behind,
    requests_to_stop_are_seen_by_others_and_gone_when_cleared,
    now_stays_now,
    hints_are_numbered_and_stay,
);

async fn a_stale_lease_writes_nothing(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (old, head) = started(&store, id(1), 2).await;
    store.reserve(old, reserve(1, Money::dollars(1))).await.unwrap();
    store.request_stop(id(1), StopMode::Now, Timestamp(1)).await.unwrap();
    let new = other.acquire(id(1), Some(holder(12))).await.unwrap();
    let settlement = Settlement { attempt: Attempt(1), amount: Money::ZERO };
    for refused in [
        store.append(old, head.seq, numbered(3).into()).await.map(drop),
        store.reserve(old, reserve(2, Money::dollars(1))).await.map(drop),
        store.settle(old, settlement).await,
        store.release(old, Attempt(1)).await,
        store.clear_stop(old).await,
        store.finish(old, Some("{}")).await,
        store.renew(old, Timestamp(99)).await,
        store.note_began(old, Attempt(1), None).await,
        store.note_cost(old, Attempt(1), None).await,
        store.record_artifacts(old, &[]).await,
    ] {
        let expected = Error::StaleLease { run: id(1), held: Epoch(1), newest: Epoch(2) };
        assert_eq!(refused, Err(expected));
    }
    let entry = store.run(id(1)).await.unwrap();
    assert_eq!((entry.head, entry.pid, entry.epoch), (head, Some(12), Epoch(2)));
    assert_eq!((entry.lease_until, store.certificate(id(1)).await), (Some(Timestamp(31_000)), Ok(None)));
    assert_eq!(store.open_reservations(id(1)).await.unwrap().len(), 1);
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), Some(StopMode::Now));
    other.append(new, head.seq, numbered(3).into()).await.unwrap();
    other.settle(new, settlement).await.unwrap();
}

async fn epochs_count_up_and_the_holder_follows(database: &Database) {
    let store = database.open().await;
    let (first, _) = started(&store, id(1), 1).await;
    assert_eq!(first.epoch, Epoch(1));
    let entry = store.run(id(1)).await.unwrap();
    assert_eq!((entry.pid, entry.machine), (Some(4711), Some(machine("host"))));
    let elsewhere = LeaseHolder { machine: machine("elsewhere"), pid: u32::MAX, until: Timestamp(5) };
    for (epoch, holder) in [(2, Some(elsewhere)), (3, None)] {
        assert_eq!(store.acquire(id(1), holder.clone()).await.unwrap().epoch, Epoch(epoch));
        let entry = store.run(id(1)).await.unwrap();
        let found = entry.pid.zip(entry.machine).zip(entry.lease_until);
        let found = found.map(|((pid, machine), until)| LeaseHolder { machine, pid, until });
        assert_eq!((entry.epoch, found), (Epoch(epoch), holder));
    }
}

async fn a_renewed_lease_counts_longer_until_the_run_ends(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, _) = started(&store, id(1), 1).await;
    assert_eq!(other.run(id(1)).await.unwrap().lease_until, Some(Timestamp(31_000)));
    store.renew(lease, Timestamp(41_000)).await.unwrap();
    assert_eq!(other.run(id(1)).await.unwrap().lease_until, Some(Timestamp(41_000)));
    store.finish(lease, None).await.unwrap();
    let entry = other.run(id(1)).await.unwrap();
    assert_eq!((entry.lease_until, entry.machine), (None, Some(machine("host"))));
}

async fn a_quarantine_makes_leases_stale(database: &Database) {
    let store = database.open().await;
    let (lease, _) = started(&store, id(1), 3).await;
    store.quarantine_after(id(1), Seq(2)).await.unwrap();
    let late = store.append(lease, Seq(2), numbered(3).into()).await;
    assert!(matches!(late, Err(Error::StaleLease { .. })), "{late:?}");
}

async fn finishing_leaves_nothing_behind(database: &Database) {
    let store = database.open().await;
    let (lease, _) = started(&store, id(1), 1).await;
    store.reserve(lease, reserve(1, Money::dollars(1))).await.unwrap();
    store.settle(lease, Settlement { attempt: Attempt(1), amount: Money::dollars(1) }).await.unwrap();
    store.reserve(lease, reserve(2, Money::dollars(1))).await.unwrap();
    store.request_stop(id(1), StopMode::Now, Timestamp(1)).await.unwrap();
    store.finish(lease, None).await.unwrap();
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), None);
    assert_eq!(store.open_reservations(id(1)).await.unwrap(), []);
    let amounts: Vec<_> = store.settlements(id(1)).await.unwrap().iter().map(|settled| settled.amount).collect();
    assert_eq!(amounts, [Money::dollars(1), Money::ZERO]);
    assert_eq!(store.run(id(1)).await.unwrap().pid, None);
}

async fn requests_to_stop_are_seen_by_others_and_gone_when_cleared(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, _) = started(&store, id(1), 1).await;
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), None);
    other.request_stop(id(1), StopMode::AfterIteration, Timestamp(5)).await.unwrap();
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), Some(StopMode::AfterIteration));
    store.clear_stop(lease).await.unwrap();
    assert_eq!(other.stop_requested(id(1)).await.unwrap(), None);
}

async fn now_stays_now(database: &Database) {
    let store = database.open().await;
    started(&store, id(1), 1).await;
    for mode in [StopMode::AfterIteration, StopMode::Now, StopMode::AfterIteration] {
        store.request_stop(id(1), mode, Timestamp(5)).await.unwrap();
    }
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), Some(StopMode::Now));
}

async fn hints_are_numbered_and_stay(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    started(&store, id(1), 1).await;
    started(&store, id(2), 1).await;
    other.tell(id(1), "first", Timestamp(5)).await.unwrap();
    other.tell(id(2), "of another", Timestamp(6)).await.unwrap();
    other.tell(id(1), "second", Timestamp(7)).await.unwrap();
    let hints = store.hints_after(id(1), 0).await.unwrap();
    let told: Vec<(u32, i64, &str)> = hints.iter().map(|hint| (hint.number, hint.at.0, hint.text.as_str())).collect();
    assert_eq!(told, [(1, 5, "first"), (2, 7, "second")]);
    assert_eq!(store.hints_after(id(1), 1).await.unwrap().len(), 1);
    assert!(store.hints_after(id(1), 2).await.unwrap().is_empty());
    assert!(store.tell(id(3), "to no one", Timestamp(8)).await.is_err());
}
