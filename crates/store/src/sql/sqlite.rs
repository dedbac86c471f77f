//! Everything that is true of SQLite alone: how the file is made and opened, how a write begins and what its codes mean.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, SqliteConnection, SqlitePool};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard, OwnedMutexGuard, oneshot};

use super::SqlStore;
use super::schema::{self, Dialect, Step};
use super::session::{Backend, Durability, Value, bound};
use super::watch::Watch;
use crate::changes::Change;
use crate::error::{Error, Result};
use crate::store::StoreHandle;

/// How long a call waits for other processes before it gives up.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often commits of other processes are looked for while somebody subscribes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Takes the write lock at once: a transaction that reads first and writes later fails at the second step, whatever the
/// timeout, when another process wrote in between.
pub(super) const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";

/// Connections that read at a time, for one run and for a server. Each takes a thread, and reads the schema first.
const READERS: u32 = 1;
pub(super) const SERVER_READERS: u32 = 2;

/// Reads of a transaction that begins like this see one state.
pub(super) const BEGIN_READ: &str = "BEGIN";

const COMMIT: &str = "COMMIT";

/// Rows that are added in one transaction.
const MAX_TOGETHER: usize = 64;

/// The switch between commits that wait for the disk and commits that do not. Later commits that wait make earlier ones durable too.
/// They act when they are prepared, so that what holds one may not be kept prepared.
const SYNC: &str = "PRAGMA synchronous = FULL";
pub(super) const NO_SYNC: &str = "PRAGMA synchronous = NORMAL";

/// Opens the database, making the file (0600) and its folder (0700) where they are missing, and brings an older schema up to
/// date.
///
/// # Errors
/// When the file cannot be made, read or written, is no database of Ralph's, or is of a newer Ralph.
pub async fn open_sqlite(path: &Path) -> Result<StoreHandle> {
    Ok(Arc::new(open(path, READERS).await?))
}

pub(super) async fn open(path: &Path, readers: u32) -> Result<SqlStore> {
    make(path)?;
    let connection = ready(path, schema::STEPS).await?;
    Ok(SqliteBackend::new(path, Some(connection), readers).into_store())
}

/// Opens the database when there is one. Makes nothing: `None` where no file is, for commands that only look.
pub async fn open_existing_sqlite(path: &Path) -> Result<Option<StoreHandle>> {
    match path.metadata() {
        // A file without a byte is one that another process is about to fill.
        Ok(metadata) if metadata.len() > 0 => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::Open { place: text(path), detail: error.to_string() }),
    }
    let connection = ready(path, schema::STEPS).await?;
    Ok(Some(Arc::new(SqliteBackend::new(path, Some(connection), READERS).into_store())))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// One file: a connection that writes and a few that read.
#[derive(Debug)]
pub(crate) struct SqliteBackend {
    path: PathBuf,
    pub(super) place: String,
    /// Empty until the first write, and after a write that failed: a connection that saw a failure is not used again.
    writer: Arc<Mutex<Option<SqliteConnection>>>,
    /// Rows to be added that wait for the connection that writes.
    waiting: std::sync::Mutex<Vec<Waiting>>,
    pub(super) readers: SqlitePool,
    pub(super) watch: Arc<Watch>,
}

impl SqliteBackend {
    pub(super) fn new(path: &Path, writer: Option<SqliteConnection>, readers: u32) -> Self {
        Self {
            path: path.to_owned(),
            place: text(path),
            writer: Arc::new(Mutex::new(writer)),
            waiting: std::sync::Mutex::default(),
            readers: pool(path, readers),
            watch: Arc::new(Watch::new()),
        }
    }

    pub(super) const fn into_store(self) -> SqlStore {
        SqlStore { backend: Backend::Sqlite(self) }
    }

    /// Folds the write-ahead log into the file where no other process has it open.
    pub(super) async fn close(&self) -> sqlx::Result<()> {
        self.readers.close().await;
        match self.writer.lock().await.take() {
            Some(connection) => connection.close().await,
            None => Ok(()),
        }
    }

    /// Looks for commits of other processes until the last subscriber leaves. The number that is looked at changes with every
    /// commit of another connection, and reading it touches no table.
    pub(super) fn follow(&self) {
        let (path, readers, watch) = (self.path.clone(), self.readers.clone(), Arc::clone(&self.watch));
        tokio::spawn(async move {
            let (mut connection, mut seen) = (None, None);
            loop {
                // Also before the first look: subscribers read what they want to know when they begin, and many end before that.
                tokio::time::sleep(POLL_INTERVAL).await;
                if !watch.is_wanted() || readers.is_closed() {
                    break;
                }
                let version = data_version(&path, &mut connection).await;
                let version = version.inspect_err(|error| tracing::warn!(%error, "changes of others cannot be seen"));
                let version = version.ok();
                // What was written before the first look is unknown too.
                if version.is_none() || seen != version {
                    watch.send(Change::Any);
                }
                seen = version;
            }
        });
    }

    /// The connection that writes, for a look while nobody writes: another one takes a thread and reads the schema first. A server reads
    /// beside its writes.
    pub(super) fn share(&self) -> Option<MappedMutexGuard<'_, SqliteConnection>> {
        MutexGuard::try_map(self.free()?, Option::as_mut).ok()
    }

    /// The same for several looks at one state of the database, which are a transaction.
    pub(super) fn take_free(&self) -> Option<Writer<'_>> {
        let mut slot = self.free()?;
        let connection = slot.take()?;
        Some(Writer { connection, slot, durability: Durability::PowerLoss })
    }

    fn free(&self) -> Option<MutexGuard<'_, Option<SqliteConnection>>> {
        let is_shared = self.readers.options().get_max_connections() <= READERS;
        if is_shared { self.writer.try_lock().ok() } else { None }
    }

    /// Takes the connection for a write, which its first statement has to begin so that no other process can interleave with it.
    pub(super) async fn write(&self, durability: Durability) -> sqlx::Result<Writer<'_>> {
        let mut slot = self.writer.lock().await;
        let connection = take(&self.path, &mut slot).await?;
        Ok(Writer { connection, slot, durability })
    }

    /// Adds a row with one statement, and returns how many it added. Callers that wait for the connection meanwhile are served
    /// in one transaction: then the disk is waited for once. That is a task of its own, so that no caller who gives up takes
    /// others with it.
    pub(super) async fn insert(&self, doing: &'static str, sql: &'static str, values: Vec<Value>) -> Result<u64> {
        let (answer, mut answered) = oneshot::channel();
        self.waiting().push(Waiting { doing, sql, values, answer });
        tokio::select! {
            biased;
            done = &mut answered => return done.unwrap_or_else(|_| Err(self.vanished(doing))),
            slot = Arc::clone(&self.writer).lock_owned() => {
                let mut waiting = self.waiting();
                let count = waiting.len().min(MAX_TOGETHER);
                let together: Vec<Waiting> = waiting.drain(..count).collect();
                drop(waiting);
                tokio::spawn(serve(self.path.clone(), slot, together));
            }
        }
        answered.await.unwrap_or_else(|_| Err(self.vanished(doing)))
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn vanished(&self, doing: &'static str) -> Error {
        Error::Database { place: self.place.clone(), doing, detail: "the process ends".to_owned() }
    }
}

/// A row to be added, and who waits for it.
#[derive(Debug)]
struct Waiting {
    doing: &'static str,
    sql: &'static str,
    values: Vec<Value>,
    answer: oneshot::Sender<Result<u64>>,
}

/// Adds the rows of several callers. One that cannot be added fails for its caller alone.
async fn serve(path: PathBuf, mut slot: OwnedMutexGuard<Option<SqliteConnection>>, waiting: Vec<Waiting>) {
    let place = text(&path);
    let outcome = match waiting.len() {
        0 | 1 => None,
        _ => together(&path, &mut slot, &waiting).await.ok(),
    };
    match outcome {
        Some((mut connection, added)) => {
            let committed = sqlx::query(COMMIT).execute(&mut connection).await;
            if committed.is_ok() {
                *slot = Some(connection);
            }
            for (one, added) in waiting.into_iter().zip(added) {
                let done = committed.as_ref().map(|_| added).map_err(|source| fault(&place, one.doing, source));
                let _ = one.answer.send(done);
            }
        }
        None => {
            for one in waiting {
                let done = alone(&path, &mut slot, &one).await.map_err(|source| fault(&place, one.doing, &source));
                let _ = one.answer.send(done);
            }
        }
    }
}

/// Adds rows in one transaction, which is still open.
async fn together(
    path: &Path,
    slot: &mut Option<SqliteConnection>,
    waiting: &[Waiting],
) -> sqlx::Result<(SqliteConnection, Vec<u64>)> {
    let mut connection = take(path, slot).await?;
    sqlx::query(BEGIN_WRITE).execute(&mut connection).await?;
    let mut added = Vec::with_capacity(waiting.len());
    for one in waiting {
        let done = bound!(one.sql, one.values.iter().cloned()).execute(&mut connection).await?;
        added.push(done.rows_affected());
    }
    Ok((connection, added))
}

/// Adds one row. The statement begins and ends its transaction itself, and takes the write lock first.
async fn alone(path: &Path, slot: &mut Option<SqliteConnection>, one: &Waiting) -> sqlx::Result<u64> {
    let mut connection = take(path, slot).await?;
    let done = bound!(one.sql, one.values.iter().cloned()).execute(&mut connection).await?;
    *slot = Some(connection);
    Ok(done.rows_affected())
}

/// The connection that writes. It is put back after a success only.
async fn take(path: &Path, slot: &mut Option<SqliteConnection>) -> sqlx::Result<SqliteConnection> {
    match slot.take() {
        Some(connection) => Ok(connection),
        None => connect_writer(path).await,
    }
}

/// One write transaction. Dropped without [`Writer::commit`], it takes its connection with it, and closing that rolls back.
pub(super) struct Writer<'s> {
    connection: SqliteConnection,
    slot: MutexGuard<'s, Option<SqliteConnection>>,
    durability: Durability,
}

impl Writer<'_> {
    pub(super) const fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Carries out what is left to do and commits.
    pub(super) async fn commit(mut self, rest: String, values: Vec<Value>) -> sqlx::Result<()> {
        let waits = self.durability == Durability::PowerLoss;
        let mut all = if rest.is_empty() { COMMIT.to_owned() } else { format!("{rest}; {COMMIT}") };
        if !waits {
            all = format!("{all}; {SYNC}");
        }
        bound!(AssertSqlSafe(all), values).persistent(waits).execute(&mut self.connection).await?;
        *self.slot = Some(self.connection);
        Ok(())
    }
}

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
async fn connect_writer(path: &Path) -> sqlx::Result<SqliteConnection> {
    options(path).connect().await
}

/// Connections that only read, none of which is opened before it is needed.
fn pool(path: &Path, connections: u32) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(0)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(TIMEOUT)
        .connect_lazy_with(options(path).pragma("query_only", "ON"))
}

/// A number that changes with every commit of another connection than this one, which is opened where there is none.
async fn data_version(path: &Path, connection: &mut Option<SqliteConnection>) -> sqlx::Result<i64> {
    // Taken out, so that a connection that saw a failure is not used again.
    let mut open = match connection.take() {
        Some(open) => open,
        None => options(path).pragma("query_only", "ON").connect().await?,
    };
    let version = sqlx::query("PRAGMA data_version").fetch_one(&mut open).await?.try_get(0)?;
    *connection = Some(open);
    Ok(version)
}

/// Whether the write-ahead log could be switched on. The setting stays with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteAhead {
    On,
    Refused,
}

/// Switches the file to a write-ahead log, so that readers and the writer do not wait for each other.
async fn write_ahead(connection: &mut SqliteConnection) -> sqlx::Result<WriteAhead> {
    let row = sqlx::query("PRAGMA journal_mode = WAL").fetch_one(connection).await?;
    let mode: String = row.try_get(0)?;
    Ok(if mode == "wal" { WriteAhead::On } else { WriteAhead::Refused })
}

/// What the file holds before Ralph does anything to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contents {
    Empty,
    Foreign,
    Schema(i64),
}

/// Looks at the file without changing it.
async fn contents(connection: &mut SqliteConnection) -> sqlx::Result<Contents> {
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

fn make(path: &Path) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| from_create(folder, &error))?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => tighten(path),
        Err(error) => Err(from_create(path, &error)),
    }
}

/// Objectives and outputs are private, also in a file that was copied with wider permissions.
fn tighten(path: &Path) -> Result<()> {
    let refused = |error| from_create(path, &error);
    let metadata = path.metadata().map_err(refused)?;
    if !metadata.is_file() {
        return Err(Error::Open { place: text(path), detail: "it is not an ordinary file".to_owned() });
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused)?;
    }
    Ok(())
}

/// A connection to a database with the newest schema. The switch to a write-ahead log and the first moments of a new
/// file ignore the busy timeout, so waiting for other processes is done here.
async fn ready(path: &Path, steps: &[Step]) -> Result<SqliteConnection> {
    let begun = Instant::now();
    loop {
        match prepare(path, steps).await {
            Err(Error::Busy { .. }) if begun.elapsed() < TIMEOUT => {
                tokio::time::sleep(Duration::from_millis(15)).await;
            }
            done => return done,
        }
    }
}

async fn prepare(path: &Path, steps: &[Step]) -> Result<SqliteConnection> {
    let place = text(path);
    let fault = |source: sqlx::Error| fault(&place, "open the database", &source);
    let known = steps.last().map_or(0, Step::version);
    let mut connection = connect_writer(path).await.map_err(fault)?;
    // Looking comes first, so that a file of another program is not touched and an up-to-date one costs no write.
    let found = version(&place, contents(&mut connection).await.map_err(fault)?)?;
    if schema::check(&place, found, known)? == known {
        return Ok(connection);
    }
    if write_ahead(&mut connection).await.map_err(fault)? == WriteAhead::Refused {
        return Err(Error::NoSharedMemory { place: text(path) });
    }
    sqlx::query(BEGIN_WRITE).execute(&mut connection).await.map_err(fault)?;
    // Another process may have done it all while this one waited for the lock.
    let found = version(&place, contents(&mut connection).await.map_err(fault)?)?;
    for statement in schema::statements(schema::check(&place, found, known)?, steps, Dialect::Sqlite) {
        sqlx::query(statement).execute(&mut connection).await.map_err(fault)?;
    }
    sqlx::query(COMMIT).execute(&mut connection).await.map_err(fault)?;
    Ok(connection)
}

fn version(place: &str, contents: Contents) -> Result<i64> {
    match contents {
        Contents::Empty => Ok(0),
        Contents::Foreign => Err(Error::Foreign { place: place.to_owned() }),
        Contents::Schema(version) => Ok(version),
    }
}

/// Turns what the driver said into what a person can act on. The low byte of a result code is the family, the rest the kind.
pub(super) fn fault(place: &str, doing: &'static str, source: &sqlx::Error) -> Error {
    let place = place.to_owned();
    let busy = Error::Busy { place: place.clone(), seconds: TIMEOUT.as_secs() };
    if matches!(source, sqlx::Error::PoolTimedOut) {
        return busy;
    }
    let (detail, code) = match source.as_database_error() {
        Some(error) => (error.message().to_owned(), error.code().and_then(|code| code.parse::<u32>().ok())),
        None => (source.to_string(), None),
    };
    let Some(code) = code else { return Error::Database { place, doing, detail } };
    match (code & 0xff, code >> 8) {
        // BUSY and LOCKED.
        (5 | 6, _) => busy,
        (8, _) => Error::ReadOnly { place },
        (13, _) => Error::Full { place },
        // IOERR_WRITE stands for a quota or a limit on file sizes, IOERR_SHMSIZE for a full disk under the -shm file.
        (10, 3 | 19) => Error::Full { place },
        (10, _) => Error::Disk { place, detail },
        // CORRUPT and NOTADB.
        (11 | 26, _) => Error::Corrupt { place, detail },
        (14, _) => Error::Open { place, detail },
        _ => Error::Database { place, doing, detail },
    }
}

/// Turns a failure to make a file into what a person can act on.
fn from_create(path: &Path, source: &io::Error) -> Error {
    let place = text(path);
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full { place },
        io::ErrorKind::ReadOnlyFilesystem => Error::ReadOnly { place },
        _ => Error::Create { place, detail: source.to_string() },
    }
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod tests;
