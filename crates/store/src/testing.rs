//! Plain values for the unit tests of this crate. What a store does is tested in `tests/suite`, for every database.

use std::path::Path;

use ralph_model::{RunId, RunKind, Timestamp};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{NewEvent, NewRun};

/// In memory where the machine has such a place: the tests are about rows, not about the disk.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

pub(crate) fn id(number: u128) -> RunId {
    RunId::from_uuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

pub(crate) fn event(number: i64) -> NewEvent {
    NewEvent {
        at: Timestamp(1_000 + number),
        version: 1,
        kind: "iterationStarted".to_owned(),
        payload: format!(r#"{{"iteration":{number}}}"#),
    }
}

pub(crate) fn new_run(id: RunId) -> NewRun {
    NewRun {
        id,
        kind: RunKind::Loop,
        parent: None,
        workspace: "/work/project".to_owned(),
        origin: None,
        objective: "make the tests pass".to_owned(),
        agent: "command".to_owned(),
        skill: None,
        holder: None,
        at: Timestamp(1_000),
    }
}

/// Runs statements behind the store's back, as an editor for databases would.
pub(crate) async fn meddle(path: &Path, statements: &[&str]) {
    use sqlx::Connection as _;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).foreign_keys(false);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    for statement in statements {
        sqlx::query(sqlx::AssertSqlSafe(*statement)).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}
