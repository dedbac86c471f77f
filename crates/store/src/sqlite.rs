//! Everything that is true of SQLite alone: how a connection is set up, how a write begins and what its codes mean.
//!
//! The rest of the crate speaks SQL that PostgreSQL understands too.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Row as _};

pub(crate) type Database = sqlx::Sqlite;
pub(crate) type Connection = sqlx::SqliteConnection;
pub(crate) type Pool = sqlx::SqlitePool;
pub(crate) type Row = sqlx::sqlite::SqliteRow;

/// How long a call waits for other processes before it gives up.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Takes the write lock at once: a transaction that reads first and writes later fails at the second step, whatever the
/// timeout, when somebody else wrote in between.
pub(crate) const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .foreign_keys(true)
        // NORMAL can lose acknowledged commits at power loss when the journal is a write-ahead log.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(TIMEOUT)
        // Half a mebibyte: a loop writes three small transactions an iteration and has to stay small itself.
        .pragma("cache_size", "-512")
        .disable_statement_logging()
}

/// The one connection of this process that writes.
pub(crate) async fn connect_writer(path: &Path) -> sqlx::Result<Connection> {
    options(path).connect().await
}

/// Connections that only read, none of which is opened before it is needed.
pub(crate) fn readers(path: &Path) -> Pool {
    SqlitePoolOptions::new()
        .max_connections(2)
        .min_connections(0)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(TIMEOUT)
        .connect_lazy_with(options(path).pragma("query_only", "ON"))
}

/// Whether the write-ahead log could be switched on. The setting stays with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteAhead {
    On,
    Refused,
}

/// Switches the file to a write-ahead log, so that readers and the writer do not wait for each other.
pub(crate) async fn write_ahead(connection: &mut Connection) -> sqlx::Result<WriteAhead> {
    let row = sqlx::query("PRAGMA journal_mode = WAL").fetch_one(connection).await?;
    let mode: String = row.try_get(0)?;
    Ok(if mode == "wal" { WriteAhead::On } else { WriteAhead::Refused })
}

/// What the file holds before Ralph does anything to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    Empty,
    Foreign,
    Schema(i64),
}

/// Looks at the file without changing it.
pub(crate) async fn contents(connection: &mut Connection) -> sqlx::Result<Contents> {
    let tables = "SELECT COUNT(*), COALESCE(SUM(name = 'schema'), 0) FROM sqlite_master WHERE type = 'table'";
    let row = sqlx::query(tables).fetch_one(&mut *connection).await?;
    let (all, own): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    if all == 0 {
        return Ok(Contents::Empty);
    }
    if own == 0 {
        return Ok(Contents::Foreign);
    }
    let row = sqlx::query("SELECT COALESCE(MAX(version), 0) FROM schema").fetch_one(connection).await?;
    Ok(Contents::Schema(row.try_get(0)?))
}

/// What a failure means for whoever has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Busy,
    Full,
    ReadOnly,
    Disk,
    Corrupt,
    CannotOpen,
    Other,
}

/// Reads a result code; the low byte is the family, the rest the kind.
pub(crate) fn fault(error: &sqlx::Error) -> Fault {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return Fault::Busy;
    }
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code).and_then(|code| code.parse().ok());
    let Some(code): Option<u32> = code else { return Fault::Other };
    match (code & 0xff, code >> 8) {
        // BUSY and LOCKED.
        (5 | 6, _) => Fault::Busy,
        (8, _) => Fault::ReadOnly,
        (13, _) => Fault::Full,
        // IOERR_WRITE stands for a quota or a limit on file sizes, IOERR_SHMSIZE for a full disk under the -shm file.
        (10, 3 | 19) => Fault::Full,
        (10, _) => Fault::Disk,
        // CORRUPT and NOTADB.
        (11 | 26, _) => Fault::Corrupt,
        (14, _) => Fault::CannotOpen,
        _ => Fault::Other,
    }
}
