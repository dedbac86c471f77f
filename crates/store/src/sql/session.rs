//! One connection in use, whichever database it belongs to, and the values that go in and come out.

use std::time::{Duration, Instant};

use ralph_model::{Attempt, Money, RunId, TaskId, Timestamp};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Decode, Postgres, Row as _, SqlSafeStr, Sqlite, SqliteConnection, Transaction, Type};
use tokio::sync::MappedMutexGuard;

use super::postgres::{self, PostgresBackend};
use super::schema::Dialect;
use super::sqlite::{self, SqliteBackend};
use crate::chain::Seq;
use crate::changes::{Change, Changes};
use crate::error::{Error, Result};

/// A wait for the right to write that is worth a word.
const LONG_WAIT: Duration = Duration::from_millis(100);

/// The databases that a store can be in.
#[derive(Debug)]
pub(crate) enum Backend {
    Sqlite(SqliteBackend),
    Postgres(PostgresBackend),
}

impl Backend {
    pub(crate) fn place(&self) -> &str {
        match self {
            Self::Sqlite(sqlite) => &sqlite.place,
            Self::Postgres(postgres) => &postgres.place,
        }
    }

    pub(crate) async fn close(&self) -> Result<()> {
        let closed = match self {
            Self::Sqlite(sqlite) => sqlite.close().await,
            Self::Postgres(postgres) => postgres.close().await,
        };
        closed.map_err(|source| self.fault("close the database", &source))
    }

    pub(crate) fn subscribe(&self) -> Changes {
        match self {
            Self::Sqlite(sqlite) => sqlite.watch.subscribe(|| sqlite.follow()),
            Self::Postgres(postgres) => postgres.watch.subscribe(|| postgres.follow()),
        }
    }

    fn fault(&self, doing: &'static str, source: &sqlx::Error) -> Error {
        tracing::debug!(doing, %source, "the database refused");
        match self {
            Self::Sqlite(sqlite) => sqlite::fault(&sqlite.place, doing, source),
            Self::Postgres(postgres) => postgres::fault(&postgres.place, doing, source),
        }
    }
}

/// What a committed write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    PowerLoss,
    /// SQLite does not wait for the disk then. A server has a disk of its own, and may be on another machine than the process
    /// that dies: there every write survives a loss of power.
    ProcessDeath,
}

/// A connection in use. One that writes and is dropped before [`Session::commit`] rolls everything back: after an error or a
/// cancelled future nothing half-done can reach the next write.
pub(crate) struct Session<'s> {
    backend: &'s Backend,
    doing: &'static str,
    connection: Connection<'s>,
    later: Later,
    /// Whether statements are not kept prepared.
    is_prepared_anew: bool,
    /// What subscribers of this process hear of after the commit.
    changes: Vec<Change>,
}

/// Statements for SQLite that travel to its thread together with the next one: each call there and back takes longer than a statement.
#[derive(Default)]
struct Later {
    sql: String,
    values: Vec<Value>,
}

impl Later {
    fn push(&mut self, sql: &str, values: Vec<Value>) {
        if !self.sql.is_empty() {
            self.sql.push_str("; ");
        }
        let mut parts = sql.split('$');
        self.sql.push_str(parts.next().unwrap_or_default());
        for part in parts {
            // The values of all of them are numbered together.
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let number = part[..digits].parse::<usize>().unwrap_or_default() + self.values.len();
            self.sql.push_str(&format!("${number}{}", &part[digits..]));
        }
        self.values.extend(values);
    }
}

enum Connection<'s> {
    SqliteWriter(sqlite::Writer<'s>),
    SqliteReader(PoolConnection<Sqlite>),
    SqliteSnapshot(Transaction<'static, Sqlite>),
    SqliteShared(MappedMutexGuard<'s, SqliteConnection>),
    PostgresReader(PoolConnection<Postgres>),
    PostgresTransaction(Transaction<'static, Postgres>),
}

/// Values for a statement, in the order of their placeholders.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$(crate::sql::session::Value::from($value)),*] };
}
pub(super) use values;

/// A query with its values bound. A macro, because the types differ for each database.
macro_rules! bound {
    ($sql:expr, $values:expr) => {{
        let mut query = sqlx::query($sql);
        for value in $values {
            query = match value {
                Value::Int(value) => query.bind(value),
                Value::Text(value) => query.bind(value),
                Value::Bool(value) => query.bind(value),
                Value::Bytes(value) => query.bind(value),
            };
        }
        query
    }};
}

pub(super) use bound;

/// Evaluates an expression with the driver's own connection.
macro_rules! with_connection {
    ($session:expr, $connection:ident => $run:expr) => {
        match &mut $session.connection {
            Connection::SqliteWriter(writer) => {
                let $connection = writer.connection();
                $run
            }
            Connection::SqliteReader(reader) => {
                let $connection = &mut **reader;
                $run
            }
            Connection::SqliteSnapshot(snapshot) => {
                let $connection = &mut **snapshot;
                $run
            }
            Connection::SqliteShared(shared) => {
                let $connection = &mut **shared;
                $run
            }
            Connection::PostgresReader(reader) => {
                let $connection = &mut **reader;
                $run
            }
            Connection::PostgresTransaction(transaction) => {
                let $connection = &mut **transaction;
                $run
            }
        }
    };
}

impl<'s> Session<'s> {
    pub(super) async fn write(backend: &'s Backend, doing: &'static str, durability: Durability) -> Result<Self> {
        let started = Instant::now();
        let connection = match backend {
            Backend::Sqlite(sqlite) => sqlite.write(durability).await.map(Connection::SqliteWriter),
            Backend::Postgres(postgres) => postgres.begin().await.map(Connection::PostgresTransaction),
        };
        let waited = started.elapsed();
        if waited >= LONG_WAIT {
            tracing::debug!(doing, ?waited, "waited for the database");
        }
        let mut session = Self::of(backend, doing, connection)?;
        if let Backend::Sqlite(_) = backend {
            if durability == Durability::ProcessDeath {
                session.later.push(sqlite::NO_SYNC, Vec::new());
                session.is_prepared_anew = true;
            }
            session.later.push(sqlite::BEGIN_WRITE, Vec::new());
        }
        Ok(session)
    }

    /// A connection for one statement that writes. PostgreSQL makes it durable by itself, which saves two round trips.
    pub(super) async fn single(backend: &'s Backend, doing: &'static str, durability: Durability) -> Result<Self> {
        match backend {
            Backend::Sqlite(_) => Self::write(backend, doing, durability).await,
            Backend::Postgres(_) => Self::read(backend, doing).await,
        }
    }

    pub(super) async fn read(backend: &'s Backend, doing: &'static str) -> Result<Self> {
        let connection = match backend {
            Backend::Sqlite(sqlite) => match sqlite.share() {
                Some(shared) => Ok(Connection::SqliteShared(shared)),
                None => sqlite.readers.acquire().await.map(Connection::SqliteReader),
            },
            Backend::Postgres(postgres) => postgres.pool.acquire().await.map(Connection::PostgresReader),
        };
        Self::of(backend, doing, connection)
    }

    pub(super) async fn snapshot(backend: &'s Backend, doing: &'static str) -> Result<Self> {
        let connection = match backend {
            Backend::Sqlite(sqlite) => match sqlite.take_free() {
                Some(free) => {
                    let mut session = Self::of(backend, doing, Ok(Connection::SqliteWriter(free)))?;
                    session.later.push(sqlite::BEGIN_READ, Vec::new());
                    return Ok(session);
                }
                None => sqlite.readers.begin().await.map(Connection::SqliteSnapshot),
            },
            Backend::Postgres(postgres) => postgres.snapshot().await.map(Connection::PostgresTransaction),
        };
        Self::of(backend, doing, connection)
    }

    fn of(backend: &'s Backend, doing: &'static str, connection: sqlx::Result<Connection<'s>>) -> Result<Self> {
        let connection = connection.map_err(|source| backend.fault(doing, &source))?;
        let (later, is_prepared_anew, changes) = (Later::default(), false, Vec::new());
        Ok(Self { backend, doing, connection, later, is_prepared_anew, changes })
    }

    /// Runs a statement whose result nothing depends on, before the next one or before the commit.
    pub(super) async fn later(&mut self, sql: &'static str, values: Vec<Value>) -> Result<()> {
        if self.dialect() == Dialect::Postgres {
            return self.execute(sql, values).await.map(drop);
        }
        self.later.push(sql, values);
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        let Later { sql, values } = std::mem::take(&mut self.later);
        if sql.is_empty() {
            return Ok(());
        }
        let done = with_connection!(self, connection => {
            bound!(AssertSqlSafe(sql), values).persistent(!self.is_prepared_anew).execute(connection).await.map(drop)
        });
        done.map_err(|source| self.backend.fault(self.doing, &source))
    }

    /// Runs a statement, and returns how many rows it changed.
    pub(super) async fn execute(&mut self, sql: impl SqlSafeStr, values: Vec<Value>) -> Result<u64> {
        // By itself: rows are counted for a whole call.
        self.flush().await?;
        let values = self.storable(values);
        let done = with_connection!(self, connection => {
            bound!(sql, values).execute(connection).await.map(|done| done.rows_affected())
        });
        done.map_err(|source| self.backend.fault(self.doing, &source))
    }

    pub(super) async fn rows(&mut self, sql: impl SqlSafeStr, values: Vec<Value>) -> Result<Vec<Row<'s>>> {
        let (backend, mut values) = (self.backend, self.storable(values));
        let mut sql = sql.into_sql_str();
        if !self.later.sql.is_empty() {
            // None of the others gives a row.
            self.later.push(sql.as_str(), values);
            let together = std::mem::take(&mut self.later);
            (sql, values) = (AssertSqlSafe(together.sql).into_sql_str(), together.values);
        }
        let rows = with_connection!(self, connection => {
            let rows = bound!(sql, values).persistent(!self.is_prepared_anew).fetch_all(connection).await;
            rows.map(|rows| rows.into_iter().map(|row| Row { place: backend.place(), cells: Cells::from(row) }).collect())
        });
        rows.map_err(|source| backend.fault(self.doing, &source))
    }

    pub(super) async fn row(&mut self, sql: impl SqlSafeStr, values: Vec<Value>) -> Result<Option<Row<'s>>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    fn storable(&self, values: Vec<Value>) -> Vec<Value> {
        match self.dialect() {
            Dialect::Sqlite => values,
            Dialect::Postgres => values.into_iter().map(Value::without_null).collect(),
        }
    }

    /// Makes the transaction durable, and returns what came of it.
    pub(super) async fn commit<T>(self, value: T) -> Result<T> {
        let committed = match self.connection {
            Connection::SqliteWriter(writer) => writer.commit(self.later.sql, self.later.values).await,
            Connection::PostgresTransaction(transaction) => transaction.commit().await,
            Connection::SqliteReader(_)
            | Connection::SqliteSnapshot(_)
            | Connection::SqliteShared(_)
            | Connection::PostgresReader(_) => Ok(()),
        };
        committed.map_err(|source| self.backend.fault(self.doing, &source))?;
        if let Backend::Sqlite(sqlite) = self.backend {
            self.changes.into_iter().for_each(|change| sqlite.watch.send(change));
        }
        Ok(value)
    }

    /// Tells subscribers of every process what this transaction changes, once it is committed.
    pub(super) async fn announce(&mut self, change: Change) -> Result<()> {
        match self.dialect() {
            Dialect::Sqlite => self.changes.push(change),
            Dialect::Postgres => drop(self.rows("SELECT pg_notify('ralph', $1)", values![change.encode()]).await?),
        }
        Ok(())
    }

    /// Makes other transactions that lock the same name wait until this one ends. SQLite has one writer at a time anyway.
    pub(super) async fn lock(&mut self, name: &str) -> Result<()> {
        if self.dialect() == Dialect::Postgres {
            self.rows("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", values![name]).await?;
        }
        Ok(())
    }

    pub(super) const fn dialect(&self) -> Dialect {
        match self.backend {
            Backend::Sqlite(_) => Dialect::Sqlite,
            Backend::Postgres(_) => Dialect::Postgres,
        }
    }

    pub(super) fn unknown(&self, run: RunId) -> Error {
        Error::UnknownRun { run, place: self.backend.place().to_owned() }
    }

    pub(super) fn unknown_task(&self, task: TaskId) -> Error {
        Error::UnknownTask { task, place: self.backend.place().to_owned() }
    }
}

/// One statement that adds a row, for each database: it takes one call, and calls travel to a thread or a server and back.
pub(super) struct Insert {
    pub(super) sqlite: &'static str,
    /// Also notifies subscribers, and returns a row for each that it added.
    pub(super) postgres: &'static str,
}

impl Insert {
    /// Carries it out, notifies subscribers where it added rows, and returns how many.
    pub(super) async fn run(
        &self,
        backend: &Backend,
        doing: &'static str,
        values: Vec<Value>,
        change: Change,
    ) -> Result<u64> {
        match backend {
            Backend::Sqlite(sqlite) => {
                let rows = sqlite.insert(doing, self.sqlite, values).await?;
                if rows > 0 {
                    sqlite.watch.send(change);
                }
                Ok(rows)
            }
            Backend::Postgres(postgres) => {
                let values = values.into_iter().map(Value::without_null);
                let rows = bound!(self.postgres, values).fetch_all(&postgres.pool).await;
                rows.map(|rows| rows.len() as u64).map_err(|source| backend.fault(doing, &source))
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bool(bool),
    Bytes(Vec<u8>),
}

impl Value {
    /// PostgreSQL takes every character except the null character.
    fn without_null(self) -> Self {
        match self {
            Self::Text(Some(text)) if text.contains('\0') => Self::Text(Some(text.replace('\0', "\u{fffd}"))),
            other => other,
        }
    }
}

macro_rules! value_from {
    ($($type:ty: $value:ident => $made:expr;)+) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $made
            }
        })+
    };
}

value_from! {
    i64: number => Self::Int(Some(number));
    Option<i64>: number => Self::Int(number);
    i32: number => Self::Int(Some(number.into()));
    u32: number => Self::Int(Some(number.into()));
    Option<u32>: number => Self::Int(number.map(i64::from));
    // Events and epochs are counted one by one, so none ever comes near the edge.
    u64: number => Self::Int(Some(i64::try_from(number).unwrap_or(i64::MAX)));
    Seq: seq => seq.0.into();
    Attempt: attempt => attempt.0.into();
    Money: amount => amount.micros().into();
    Timestamp: at => at.0.into();
    Option<Timestamp>: at => Self::Int(at.map(|at| at.0));
    bool: flag => Self::Bool(flag);
    Vec<u8>: bytes => Self::Bytes(bytes);
    String: text => Self::Text(Some(text));
    &str: text => Self::Text(Some(text.to_owned()));
    Option<&str>: text => Self::Text(text.map(str::to_owned));
    RunId: run => run.to_string().into();
    Option<RunId>: run => Self::Text(run.map(|run| run.to_string()));
    TaskId: task => task.to_string().into();
    Option<TaskId>: task => Self::Text(task.map(|task| task.to_string()));
}

pub(crate) trait Column:
    for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>
{
}
impl<T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>> Column for T {}

pub(crate) struct Row<'s> {
    place: &'s str,
    cells: Cells,
}

enum Cells {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl From<PgRow> for Cells {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl From<SqliteRow> for Cells {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl Row<'_> {
    /// The value of a column, or none where the column holds something else.
    pub(crate) fn read<T: Column>(&self, column: &'static str) -> Option<T> {
        match &self.cells {
            Cells::Sqlite(row) => row.try_get(column).ok(),
            Cells::Postgres(row) => row.try_get(column).ok(),
        }
    }

    /// The value of a column, or an error that names the column.
    pub(crate) fn get<T: Column>(&self, column: &'static str) -> Result<T> {
        self.read(column).ok_or_else(|| self.malformed(column, "a value of another type"))
    }

    /// A value in the form that Ralph writes it, or an error that names the column.
    pub(crate) fn parsed<T: Column + std::fmt::Display, U>(
        &self,
        column: &'static str,
        parse: impl FnOnce(&T) -> Option<U>,
    ) -> Result<U> {
        let value = self.get::<T>(column)?;
        parse(&value).ok_or_else(|| self.malformed(column, value))
    }

    /// A count that is never negative.
    pub(crate) fn count(&self, column: &'static str) -> Result<u64> {
        self.parsed(column, |number: &i64| u64::try_from(*number).ok())
    }

    /// The number of an attempt, or another small count.
    pub(crate) fn small(&self, column: &'static str) -> Result<u32> {
        self.parsed(column, |number: &i64| u32::try_from(*number).ok())
    }

    pub(crate) fn small_or_null(&self, column: &'static str) -> Result<Option<u32>> {
        self.get::<Option<i64>>(column)?.map(|_| self.small(column)).transpose()
    }

    /// A value that was stored as text that `parse` reads.
    pub(crate) fn parsed_or_null<U>(
        &self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Option<U>,
    ) -> Result<Option<U>> {
        let text = self.get::<Option<String>>(column)?;
        text.map(|text| parse(&text).ok_or_else(|| self.malformed(column, text))).transpose()
    }

    pub(crate) fn time_or_null(&self, column: &'static str) -> Result<Option<Timestamp>> {
        Ok(self.get::<Option<i64>>(column)?.map(Timestamp))
    }

    pub(crate) fn money(&self, column: &'static str) -> Result<Money> {
        self.get(column).map(Money::from_micros)
    }

    fn malformed(&self, column: &'static str, value: impl std::fmt::Display) -> Error {
        Error::Malformed { place: self.place.to_owned(), column, value: value.to_string() }
    }
}
