//! What concerns the database itself and the user of this machine: a remote store does neither.

use ralph_model::Timestamp;
use ralph_store::{Error, Filter, Trusted};

use super::for_every_database;
use crate::database::Database;
use crate::{id, new_run, numbered};

for_every_database!(
    a_value_that_no_ralph_writes_is_named,
    approvals_are_for_one_content_at_one_path,
    a_removed_run_leaves_nothing_and_others_stay,
);

async fn a_value_that_no_ralph_writes_is_named(database: &Database) {
    let store = database.open().await;
    let cases = [
        ("UPDATE loops SET status = 'ASLEEP'", "status"),
        ("UPDATE loops SET iterations = -1", "iterations"),
        ("UPDATE loops SET head_hash = 'none'", "head_hash"),
        ("UPDATE loops SET pid = -1", "pid"),
        ("UPDATE loops SET id = 'first'", "id"),
        ("UPDATE loops SET kind = 'walk'", "kind"),
        ("UPDATE loops SET parent = 'me'", "parent"),
        ("UPDATE loops SET epoch = -1", "epoch"),
        ("UPDATE loops SET iterations = 'many'", "iterations"),
    ];
    let usable = if database.has_loose_types() { cases.len() } else { cases.len() - 1 };
    for (statement, column) in &cases[..usable] {
        store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
        database.meddle(&[statement]).await;
        let error = store.runs(&Filter::default()).await.unwrap_err();
        assert!(matches!(&error, Error::Malformed { column: found, .. } if found == column), "{statement}: {error}");
        database.meddle(&["DELETE FROM events", "DELETE FROM loops"]).await;
    }
}

async fn approvals_are_for_one_content_at_one_path(database: &Database) {
    let store = database.open().await;
    store.trust("a", "/work/ralph.toml", Timestamp(1)).await.unwrap();
    store.trust("a", "/work/ralph.toml", Timestamp(9)).await.unwrap();
    store.trust("a", "/other/ralph.toml", Timestamp(2)).await.unwrap();
    store.trust("b", "/work/ralph.toml", Timestamp(3)).await.unwrap();
    assert!(store.is_trusted("a", "/work/ralph.toml").await.unwrap());
    assert!(!store.is_trusted("b", "/other/ralph.toml").await.unwrap());
    let trusted = |hash: &str, path: &str, at| Trusted { hash: hash.into(), path: path.into(), at: Timestamp(at) };
    assert_eq!(
        store.trusted().await.unwrap(),
        [
            trusted("b", "/work/ralph.toml", 3),
            trusted("a", "/other/ralph.toml", 2),
            trusted("a", "/work/ralph.toml", 1)
        ]
    );
    assert_eq!(store.revoke("a").await.unwrap(), 2);
    assert_eq!(store.revoke("a").await.unwrap(), 0);
    assert!(!store.is_trusted("a", "/work/ralph.toml").await.unwrap());
}

async fn a_removed_run_leaves_nothing_and_others_stay(database: &Database) {
    let store = database.open().await;
    for number in [1, 2] {
        store.create_run(new_run(id(number)), numbered(1)).await.unwrap();
        store.tell(id(number), "something", Timestamp(1)).await.unwrap();
    }
    store.remove_run(id(1)).await.unwrap();
    assert!(matches!(store.run(id(1)).await, Err(Error::UnknownRun { .. })));
    assert!(matches!(store.remove_run(id(1)).await, Err(Error::UnknownRun { .. })));
    assert_eq!(store.runs(&Filter::default()).await.unwrap().len(), 1);
    assert_eq!(store.journal(id(2)).await.unwrap().len(), 1);
    store.create_run(new_run(id(1)), numbered(1)).await.unwrap();
    assert!(store.hints_after(id(1), 0).await.unwrap().is_empty());
}
