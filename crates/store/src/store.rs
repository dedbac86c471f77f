//! Opens the database and hands out its connections. Knows no table but the schema's version.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_model::LoopId;
use sqlx::Connection as _;
use tokio::sync::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::schema::{self, Step};
use crate::sqlite::{self, Connection, Contents, Pool, WriteAhead};

/// Ralph's durable state in one SQLite file. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// Empty until the first write, and after a write that failed: a connection that saw a failure is not used again.
    writer: Mutex<Option<Connection>>,
    readers: Pool,
}

impl Store {
    /// Opens the database, making the file (0600) and its folder (0700) where they are missing, and brings an older
    /// schema up to date.
    ///
    /// # Errors
    /// When the file cannot be made, read or written, is no database of Ralph's, or is of a newer Ralph.
    pub async fn open(path: &Path) -> Result<Self> {
        make(path)?;
        let connection = ready(path, schema::STEPS).await?;
        Ok(Self::new(path, Some(connection)))
    }

    /// Opens the database when there is one. Makes nothing: `None` where no file is, for commands that only look.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub async fn open_existing(path: &Path) -> Result<Option<Self>> {
        match path.metadata() {
            // A file without a byte is one that another process is about to fill.
            Ok(metadata) if metadata.len() > 0 => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::Open { path: path.to_owned(), detail: error.to_string() }),
        }
        let connection = ready(path, schema::STEPS).await?;
        Ok(Some(Self::new(path, Some(connection))))
    }

    fn new(path: &Path, writer: Option<Connection>) -> Self {
        let readers = sqlite::readers(path);
        Self { shared: Arc::new(Shared { path: path.to_owned(), writer: Mutex::new(writer), readers }) }
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Closes all connections of this store and its clones, folding the write-ahead log into the file where nobody else
    /// has it open. Without it nothing is lost; the log only stays beside the file.
    ///
    /// # Errors
    /// When the database cannot be closed cleanly.
    pub async fn close(self) -> Result<()> {
        self.shared.readers.close().await;
        let writer = self.shared.writer.lock().await.take();
        match writer {
            Some(connection) => connection.close().await.map_err(self.fault("close the database")),
            None => Ok(()),
        }
    }

    pub(crate) fn readers(&self) -> &Pool {
        &self.shared.readers
    }

    /// Turns what the driver said into an error of ours.
    pub(crate) fn fault(&self, doing: &'static str) -> impl Fn(sqlx::Error) -> Error + '_ {
        move |source| Error::from_driver(self.path(), doing, source)
    }

    /// Begins a write that no other process can interleave with.
    pub(crate) async fn write(&self, doing: &'static str) -> Result<Writing<'_>> {
        let mut slot = self.shared.writer.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => sqlite::connect_writer(self.path()).await.map_err(self.fault(doing))?,
        };
        sqlx::query(sqlite::BEGIN_WRITE).execute(&mut connection).await.map_err(self.fault(doing))?;
        Ok(Writing { connection, slot, path: self.path(), doing })
    }
}

/// One write transaction. Dropped without [`Writing::commit`], it takes its connection with it, and closing that rolls
/// everything back: after an error or a cancelled future nothing half-done can reach the next write.
pub(crate) struct Writing<'s> {
    connection: Connection,
    slot: MutexGuard<'s, Option<Connection>>,
    path: &'s Path,
    doing: &'static str,
}

impl Writing<'_> {
    /// The connection, for queries inside the transaction.
    pub(crate) fn on(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Turns what the driver said into an error of ours.
    pub(crate) fn fault(&self, source: sqlx::Error) -> Error {
        Error::from_driver(self.path, self.doing, source)
    }

    /// The same, for a row that names a loop: where the loop does not exist, that is what is wrong.
    pub(crate) fn foreign_key(&self, source: sqlx::Error, loop_id: LoopId) -> Error {
        if source.as_database_error().is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation) {
            return Error::UnknownLoop { loop_id, path: self.path.to_owned() };
        }
        self.fault(source)
    }

    /// Makes the transaction durable.
    pub(crate) async fn commit(mut self) -> Result<()> {
        let committed = sqlx::query("COMMIT").execute(&mut self.connection).await;
        committed.map_err(|error| Error::from_driver(self.path, self.doing, error))?;
        *self.slot = Some(self.connection);
        Ok(())
    }
}

fn make(path: &Path) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| Error::from_create(folder, error))?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => tighten(path),
        Err(error) => Err(Error::from_create(path, error)),
    }
}

/// Objectives and outputs are nobody else's business, also in a file that was copied with wider permissions.
fn tighten(path: &Path) -> Result<()> {
    let refused = |error| Error::from_create(path, error);
    let metadata = path.metadata().map_err(refused)?;
    if !metadata.is_file() {
        return Err(Error::Open { path: path.to_owned(), detail: "it is not an ordinary file".to_owned() });
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused)?;
    }
    Ok(())
}

/// A connection to a database with the newest schema. The switch to a write-ahead log and the first moments of a new
/// file ignore the busy timeout, so waiting for other processes is done here.
async fn ready(path: &Path, steps: &[Step]) -> Result<Connection> {
    let begun = Instant::now();
    loop {
        match prepare(path, steps).await {
            Err(Error::Busy { .. }) if begun.elapsed() < sqlite::TIMEOUT => {
                tokio::time::sleep(Duration::from_millis(15)).await;
            }
            done => return done,
        }
    }
}

async fn prepare(path: &Path, steps: &[Step]) -> Result<Connection> {
    let fault = |source| Error::from_driver(path, "open the database", source);
    let known = steps.last().map_or(0, |step| step.version);
    let mut connection = sqlite::connect_writer(path).await.map_err(fault)?;
    // Looking comes first, so that a file of somebody else is not touched and an up-to-date one costs no write.
    let found = schema_of(path, known, sqlite::contents(&mut connection).await.map_err(fault)?)?;
    if found == known {
        return Ok(connection);
    }
    if sqlite::write_ahead(&mut connection).await.map_err(fault)? == WriteAhead::Refused {
        return Err(Error::NoSharedMemory { path: path.to_owned() });
    }
    sqlx::query(sqlite::BEGIN_WRITE).execute(&mut connection).await.map_err(fault)?;
    // Another process may have done it all while this one waited for the lock.
    let found = schema_of(path, known, sqlite::contents(&mut connection).await.map_err(fault)?)?;
    schema::apply(&mut connection, found, steps).await.map_err(fault)?;
    sqlx::query("COMMIT").execute(&mut connection).await.map_err(fault)?;
    Ok(connection)
}

fn schema_of(path: &Path, known: u32, contents: Contents) -> Result<u32> {
    let found = match contents {
        Contents::Empty => 0,
        Contents::Foreign => return Err(Error::Foreign { path: path.to_owned() }),
        Contents::Schema(version) => u32::try_from(version).map_err(|_| Error::Malformed {
            path: path.to_owned(),
            column: "schema.version",
            value: version.to_string(),
        })?,
    };
    if found > known {
        return Err(Error::NewerSchema { path: path.to_owned(), found, known });
    }
    Ok(found)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
