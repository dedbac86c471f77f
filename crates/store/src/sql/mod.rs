//! The store in a SQL database. All statements are written once, in the SQL that every supported database understands; what
//! differs (connections, locks, error codes) is in the module of each database.

mod artifacts;
mod attempts;
mod board;
mod budget;
mod hints;
mod journal;
pub(crate) mod postgres;
mod runs;
mod schema;
mod session;
pub(crate) mod sqlite;
mod stops;
mod trust;
mod watch;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use ralph_model::{Attempt, Money, RunId, Timestamp};

use crate::artifact::Artifact;
use crate::attempt::AttemptEntry;
use crate::chain::{Broken, Head, NewEvent, Recorded, Seq, Walk};
use crate::changes::Changes;
use crate::error::{Error, Result};
use crate::money::{DayTotals, OpenReservation, Reservation, Reserve};
use crate::run::{Append, Filter, Hint, Lease, LeaseHolder, Lookup, NewRun, RunEntry, RunStatus, Settlement, StopMode};
use crate::store::{ChainReport, Quarantine, Store, StoreHandle, Trusted};
use session::{Backend, Durability, Session};

/// Begins a transaction, does the work in it, and commits.
macro_rules! transaction {
    ($begin:expr, $module:ident::$work:ident($($argument:expr),*)) => {{
        let mut session = $begin.await?;
        let done = $module::$work(&mut session, $($argument),*).await?;
        session.commit(done).await
    }};
}
use transaction;

/// A SQL database: the [`Store`] in it, and the board.
#[derive(Debug)]
pub struct SqlStore {
    backend: Backend,
}

/// The board of a database. Clones share their connections.
pub type BoardHandle = Arc<SqlStore>;

/// A database: all that it holds, on the same connections.
#[derive(Debug, Clone)]
pub struct Database {
    pub store: StoreHandle,
    pub board: BoardHandle,
}

impl Database {
    /// Opens a SQLite database as [`crate::open_sqlite`] does.
    pub async fn open_sqlite(path: &Path) -> Result<Self> {
        Ok(sqlite::open(path, sqlite::SERVER_READERS).await?.into())
    }

    /// Opens a PostgreSQL database as [`crate::open_postgres`] does, with enough connections for a server.
    pub async fn open_postgres(url: &str) -> Result<Self> {
        Ok(postgres::open(url, postgres::SERVER_CONNECTIONS).await?.into())
    }
}

impl From<SqlStore> for Database {
    fn from(store: SqlStore) -> Self {
        let store = Arc::new(store);
        Self { store: store.clone(), board: store }
    }
}

impl SqlStore {
    async fn write(&self, doing: &'static str) -> Result<Session<'_>> {
        Session::write(&self.backend, doing, Durability::PowerLoss).await
    }

    /// Begins a transaction that writes for the holder of the lease.
    async fn write_under(&self, doing: &'static str, lease: Lease) -> Result<Session<'_>> {
        let mut session = self.write(doing).await?;
        runs::fence(&mut session, lease).await?;
        Ok(session)
    }

    /// Begins a transaction that writes what is not worth a wait for the disk, for the holder of the lease.
    async fn note(&self, doing: &'static str, lease: Lease) -> Result<Session<'_>> {
        let mut session = Session::write(&self.backend, doing, Durability::ProcessDeath).await?;
        runs::fence(&mut session, lease).await?;
        Ok(session)
    }

    async fn read(&self, doing: &'static str) -> Result<Session<'_>> {
        Session::read(&self.backend, doing).await
    }

    async fn walk(&self, run: RunId) -> Result<Walk> {
        transaction!(self.snapshot("read a journal"), journal::walk(run))
    }

    /// A connection for several queries that see one state of the database.
    async fn snapshot(&self, doing: &'static str) -> Result<Session<'_>> {
        Session::snapshot(&self.backend, doing).await
    }
}

#[async_trait]
impl Store for SqlStore {
    fn place(&self) -> &str {
        self.backend.place()
    }

    async fn close(&self) -> Result<()> {
        self.backend.close().await
    }

    async fn create_run(&self, new: NewRun, first: NewEvent) -> Result<(Lease, Head)> {
        transaction!(self.write("record a run"), journal::create(&new, &first))
    }

    async fn acquire(&self, run: RunId, holder: Option<LeaseHolder>) -> Result<Lease> {
        transaction!(self.write("take over a run"), runs::acquire(run, holder.as_ref()))
    }

    async fn renew(&self, lease: Lease, until: Timestamp) -> Result<()> {
        transaction!(self.note("renew a lease", lease), runs::renew(lease.run, until))
    }

    async fn append(&self, lease: Lease, after: Seq, append: Append) -> Result<Head> {
        transaction!(self.write("append to a journal"), journal::append(lease, after, &append))
    }

    async fn finish(&self, lease: Lease, certificate: Option<&str>) -> Result<()> {
        let mut session = self.write_under("finish a run", lease).await?;
        runs::retire(&mut session, lease.run, certificate).await?;
        stops::clear(&mut session, lease.run).await?;
        budget::release_open(&mut session, lease.run).await?;
        session.commit(()).await
    }

    async fn certificate(&self, run: RunId) -> Result<Option<String>> {
        runs::certificate(&mut self.read("read a certificate").await?, run).await
    }

    async fn note_began(&self, lease: Lease, attempt: Attempt, at: Option<Timestamp>) -> Result<()> {
        transaction!(self.note("record the start of an agent", lease), attempts::note_began(lease.run, attempt, at))
    }

    async fn note_cost(&self, lease: Lease, attempt: Attempt, cost: Option<Money>) -> Result<()> {
        transaction!(self.note("record a cost", lease), attempts::note_cost(lease.run, attempt, cost))
    }

    async fn attempts(&self, run: RunId) -> Result<Vec<AttemptEntry>> {
        attempts::list(&mut self.read("read attempts").await?, run).await
    }

    async fn record_artifacts(&self, lease: Lease, artifacts: &[Artifact]) -> Result<()> {
        transaction!(self.write_under("record artifacts", lease), artifacts::record(lease.run, artifacts))
    }

    async fn artifacts(&self, run: RunId) -> Result<Vec<Artifact>> {
        artifacts::list(&mut self.read("list artifacts").await?, run).await
    }

    async fn journal(&self, run: RunId) -> Result<Vec<Recorded>> {
        let walk = self.walk(run).await?;
        match walk.broken {
            None => Ok(walk.intact),
            Some(Broken { seq, why }) => Err(Error::Broken { run, seq, why }),
        }
    }

    async fn events_after(&self, run: RunId, seq: Seq, limit: u32) -> Result<Vec<Recorded>> {
        transaction!(self.snapshot("read a journal"), journal::after(run, seq, limit))
    }

    fn subscribe(&self) -> Changes {
        self.backend.subscribe()
    }

    async fn verify(&self, run: RunId) -> Result<ChainReport> {
        let walk = self.walk(run).await?;
        Ok(ChainReport { events: walk.intact.len() as u64, head: walk.head, broken: walk.broken })
    }

    async fn quarantine_after(&self, run: RunId, seq: Seq) -> Result<Quarantine> {
        transaction!(self.write("set broken events aside"), journal::quarantine(run, seq))
    }

    async fn runs(&self, filter: &Filter) -> Result<Vec<RunEntry>> {
        runs::list(&mut self.read("list runs").await?, filter).await
    }

    async fn run_counts(&self) -> Result<Vec<(RunStatus, u64)>> {
        runs::counts(&mut self.read("count runs").await?).await
    }

    async fn run(&self, run: RunId) -> Result<RunEntry> {
        runs::get(&mut self.read("read a run").await?, run).await
    }

    async fn find(&self, text: &str) -> Result<Lookup> {
        runs::find(&mut self.read("look for a run").await?, text).await
    }

    async fn reserve(&self, lease: Lease, reserve: Reserve) -> Result<Reservation> {
        transaction!(self.write_under("reserve money", lease), budget::reserve(lease.run, &reserve))
    }

    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<()> {
        transaction!(self.write_under("settle money", lease), budget::settle(lease.run, settlement))
    }

    async fn release(&self, lease: Lease, attempt: Attempt) -> Result<()> {
        transaction!(self.write_under("release money", lease), budget::release(lease.run, attempt))
    }

    async fn open_reservations(&self, run: RunId) -> Result<Vec<OpenReservation>> {
        budget::open_reservations(&mut self.read("read reservations").await?, run).await
    }

    async fn settlements(&self, run: RunId) -> Result<Vec<Settlement>> {
        budget::settlements(&mut self.read("read settlements").await?, run).await
    }

    async fn day_totals(&self, day: &str) -> Result<DayTotals> {
        budget::day_totals(&mut self.read("read the day's budget").await?, day).await
    }

    async fn pool_totals(&self, pool: &str) -> Result<DayTotals> {
        budget::pool_totals(&mut self.read("read a shared budget").await?, pool).await
    }

    async fn request_stop(&self, run: RunId, mode: StopMode, at: Timestamp) -> Result<()> {
        transaction!(self.write("ask a run to stop"), stops::request(run, mode, at))
    }

    async fn stop_requested(&self, run: RunId) -> Result<Option<StopMode>> {
        stops::requested(&mut self.read("look for a stop request").await?, run).await
    }

    async fn clear_stop(&self, lease: Lease) -> Result<()> {
        transaction!(self.write_under("clear a stop request", lease), stops::clear(lease.run))
    }

    async fn tell(&self, run: RunId, text: &str, at: Timestamp) -> Result<()> {
        transaction!(self.write("tell a run something"), hints::insert(run, text, at))
    }

    async fn hints_after(&self, run: RunId, number: u32) -> Result<Vec<Hint>> {
        hints::after(&mut self.read("read what a run was told").await?, run, number).await
    }

    async fn remove_run(&self, run: RunId) -> Result<()> {
        transaction!(self.write("remove a run"), runs::remove(run))
    }

    async fn trust(&self, hash: &str, path: &str, at: Timestamp) -> Result<()> {
        transaction!(self.write("remember trusted content"), trust::insert(hash, path, at))
    }

    async fn is_trusted(&self, hash: &str, path: &str) -> Result<bool> {
        trust::contains(&mut self.read("look for trusted content").await?, hash, path).await
    }

    async fn trusted(&self) -> Result<Vec<Trusted>> {
        trust::list(&mut self.read("list trusted content").await?).await
    }

    async fn revoke(&self, hash: &str) -> Result<u64> {
        transaction!(self.write("revoke trust"), trust::revoke(hash))
    }
}
