//! Throwaway stores and plain values for the tests of this crate.

use std::path::Path;

use ralph_model::{LoopId, Timestamp};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{NewEvent, NewLoop, Store};

/// In memory where the machine has such a place: the tests are about rows, not about the disk.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

pub(crate) async fn store() -> (TempDir, Store) {
    let folder = folder();
    let store = Store::open(&folder.path().join("ralph.db")).await.unwrap();
    (folder, store)
}

pub(crate) fn id(number: u128) -> LoopId {
    LoopId::from_uuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

pub(crate) fn event(number: i64) -> NewEvent {
    NewEvent {
        at: Timestamp(1_000 + number),
        version: 1,
        kind: "iterationStarted".to_owned(),
        payload: format!(r#"{{"iteration":{number}}}"#),
    }
}

pub(crate) fn new_loop(id: LoopId, at: i64) -> NewLoop {
    NewLoop {
        id,
        workspace: "/work/project".to_owned(),
        objective: "make the tests pass".to_owned(),
        agent: "command".to_owned(),
        skill: None,
        pid: Some(4711),
        at: Timestamp(at),
    }
}

/// A loop with events 1 to `events`.
pub(crate) async fn started(store: &Store, id: LoopId, events: i64) -> crate::Head {
    let mut head = store.create_loop(new_loop(id, 1_000), event(1)).await.unwrap();
    let more: Vec<NewEvent> = (2..=events).map(event).collect();
    if !more.is_empty() {
        head = store.append(id, head.seq, &more, None, None).await.unwrap();
    }
    head
}

/// Runs statements behind the store's back, as somebody with an editor for databases would.
pub(crate) async fn meddle(store: &Store, statements: &[&str]) {
    use sqlx::Connection as _;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(store.path()).foreign_keys(false);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    for statement in statements {
        sqlx::query(sqlx::AssertSqlSafe(*statement)).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}
