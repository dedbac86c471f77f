//! Subscriptions: what is written is heard of, in this process and in others.

use std::time::Duration;

use ralph_model::Timestamp;
use ralph_store::{Change, Changes, Seq, StopMode, StoreHandle};

use super::for_every_database;
use crate::database::Database;
use crate::{id, numbered, started};

for_every_database!(
    changes_of_this_process_are_named,
    changes_of_other_processes_are_heard_of,
    a_store_is_followed_again_after_all_subscribers_left,
);

async fn until(changes: &mut Changes, wanted: Change) {
    let heard = async { while changes.next().await.expect("the store is open") != wanted {} };
    tokio::time::timeout(Duration::from_secs(20), heard).await.expect("the change is heard of");
}

async fn changes_of_this_process_are_named(database: &Database) {
    let store = database.open().await;
    let mut changes = store.subscribe();
    // A server hears of nothing before it listens.
    if !database.has_loose_types() {
        until(&mut changes, Change::Any).await;
        until(&mut changes, Change::Any).await;
    }
    let (lease, head) = started(&store, id(1), 3).await;
    until(&mut changes, Change::Events { run: id(1), head: Seq(3) }).await;
    store.request_stop(id(1), StopMode::Now, Timestamp(1)).await.unwrap();
    until(&mut changes, Change::Stop { run: id(1) }).await;
    // What is refused is no change.
    let refused = store.append(lease, Seq(2), numbered(9).into()).await;
    assert!(refused.is_err());
    store.append(lease, head.seq, numbered(4).into()).await.unwrap();
    until(&mut changes, Change::Events { run: id(1), head: Seq(4) }).await;
}

/// Waits until the events of a run reach a place, and looks only when something changed.
async fn follow(store: &StoreHandle, changes: &mut Changes, to: u64) {
    let followed = async {
        let mut seen = Seq(1);
        while seen < Seq(to) {
            changes.next().await.expect("the store is open");
            seen = store.events_after(id(1), seen, 100).await.unwrap().last().map_or(seen, |event| event.seq);
        }
    };
    tokio::time::timeout(Duration::from_secs(20), followed).await.expect("the events are heard of");
}

async fn changes_of_other_processes_are_heard_of(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, mut head) = started(&other, id(1), 1).await;
    let mut changes = store.subscribe();
    for number in 2..=4 {
        head = other.append(lease, head.seq, numbered(number).into()).await.unwrap();
        follow(&store, &mut changes, head.seq.0).await;
    }
}

async fn a_store_is_followed_again_after_all_subscribers_left(database: &Database) {
    let (store, other) = (database.open().await, database.open().await);
    let (lease, mut head) = started(&other, id(1), 1).await;
    for number in 2..=3 {
        let mut changes = store.subscribe();
        head = other.append(lease, head.seq, numbered(number).into()).await.unwrap();
        follow(&store, &mut changes, head.seq.0).await;
    }
    store.close().await.unwrap();
}
