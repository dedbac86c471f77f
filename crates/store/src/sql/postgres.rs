//! Everything that is true of PostgreSQL alone: how it is reached, how its tables are made and what its codes mean.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool, Postgres, Row as _, Transaction};
use tokio::time::{Instant, timeout};

use super::SqlStore;
use super::schema::{self, Dialect};
use super::session::Backend;
use super::watch::Watch;
use crate::changes::Change;
use crate::error::{Error, Result};
use crate::store::StoreHandle;

/// How long a call waits for the server, or for a lock that another process holds, before it gives up.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Connections of one process. A race runs several loops in one.
const MAX_CONNECTIONS: u32 = 4;

/// Connections of a process that serves others.
pub(super) const SERVER_CONNECTIONS: u32 = 16;

/// The channel on which changes are announced.
const CHANNEL: &str = "ralph";

/// Subscribers look for themselves this often, for proxies that swallow notifications.
const FALLBACK_INTERVAL: Duration = Duration::from_secs(2);

/// What every connection begins with. Ralph's tables are in a schema of their own, so that a database can be shared with other
/// programs. A process that hangs in a transaction must not block others for ever.
const PREPARE_CONNECTION: &str = "SET search_path TO ralph; SET statement_timeout TO '30s'; SET lock_timeout TO '10s'; \
     SET idle_in_transaction_session_timeout TO '60s'";

/// The lock under which one process makes the tables; any number that no other program uses.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7283016403)";

/// Opens a PostgreSQL database, and makes or migrates Ralph's tables in it.
///
/// # Errors
/// When the URL is none, the server cannot be reached or refuses, or the tables are of a newer Ralph.
pub async fn open_postgres(url: &str) -> Result<StoreHandle> {
    Ok(Arc::new(open(url, MAX_CONNECTIONS).await?))
}

pub(super) async fn open(url: &str, max_connections: u32) -> Result<SqlStore> {
    if let Some((scheme, _)) = url.split_once("://").filter(|(scheme, _)| !["postgres", "postgresql"].contains(scheme))
    {
        return Err(Error::Unreachable {
            place: "the PostgreSQL database".to_owned(),
            detail: format!("`{scheme}://` is another kind of database; write postgres://USER@HOST/NAME"),
        });
    }
    let options = PgConnectOptions::from_str(url).map_err(|source| Error::Unreachable {
        place: "the PostgreSQL database".to_owned(),
        detail: format!("its URL cannot be read: {source}"),
    })?;
    let options = options.application_name("ralph").disable_statement_logging();
    let place = place(&options);
    // Once without the pool, which would say no more than that time ran out.
    let refused = |detail: String| Error::Unreachable { place: place.clone(), detail };
    let mut connection = match timeout(TIMEOUT, options.connect()).await {
        Ok(connected) => connected.map_err(|source| fault(&place, "connect", &source))?,
        Err(_) => return Err(refused(format!("no answer within {} s", TIMEOUT.as_secs()))),
    };
    migrate(&place, &mut connection).await?;
    // The pool opens connections of its own when they are needed.
    let _ = connection.close().await;
    let pool = PgPoolOptions::new()
        .max_connections(max_connections)
        .min_connections(0)
        .acquire_timeout(TIMEOUT)
        .after_connect(|connection, _| {
            Box::pin(async move { sqlx::raw_sql(PREPARE_CONNECTION).execute(connection).await.map(drop) })
        })
        .connect_lazy_with(options);
    let backend = PostgresBackend { place, pool, watch: Arc::new(Watch::new()) };
    Ok(SqlStore { backend: Backend::Postgres(backend) })
}

/// Where the server is, without the password.
fn place(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or(options.get_username());
    let (user, port) = (options.get_username(), options.get_port());
    match options.get_socket() {
        Some(socket) => format!("postgresql://{user}@{}:{port}/{database}", socket.display()),
        None => format!("postgresql://{user}@{}:{port}/{database}", options.get_host()),
    }
}

#[derive(Debug)]
pub(crate) struct PostgresBackend {
    pub(super) place: String,
    pub(super) pool: PgPool,
    pub(super) watch: Arc<Watch>,
}

impl PostgresBackend {
    /// A transaction that writes.
    pub(super) async fn begin(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        self.begin_with("BEGIN").await
    }

    /// A transaction of several reads that see one state.
    pub(super) async fn snapshot(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        self.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
    }

    /// In a task of its own, so that it is not cancelled with its caller: a cancelled `BEGIN` returns the connection to the pool with
    /// the transaction open, and the next user would write into it.
    async fn begin_with(&self, statement: &'static str) -> sqlx::Result<Transaction<'static, Postgres>> {
        let pool = self.pool.clone();
        let begun = tokio::spawn(async move { pool.begin_with(statement).await }).await;
        begun.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    pub(super) async fn close(&self) -> sqlx::Result<()> {
        self.pool.close().await;
        Ok(())
    }

    /// Listens for notifications until the last subscriber leaves.
    pub(super) fn follow(&self) {
        let (pool, watch) = (self.pool.clone(), Arc::clone(&self.watch));
        tokio::spawn(async move {
            while watch.is_wanted() && !pool.is_closed() {
                // What happened while there was no connection is unknown.
                watch.send(Change::Any);
                if let Err(error) = listen(&pool, &watch).await {
                    tracing::warn!(%error, "the connection for notifications is lost");
                    tokio::time::sleep(FALLBACK_INTERVAL).await;
                }
            }
        });
    }
}

async fn listen(pool: &PgPool, watch: &Watch) -> sqlx::Result<()> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    watch.send(Change::Any);
    let mut looked = Instant::now();
    while watch.is_wanted() {
        let left = FALLBACK_INTERVAL.saturating_sub(looked.elapsed());
        match timeout(left, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => watch.send(Change::parse(notification.payload()).unwrap_or(Change::Any)),
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                watch.send(Change::Any);
                looked = Instant::now();
            }
        }
    }
    Ok(())
}

async fn migrate(place: &str, connection: &mut PgConnection) -> Result<()> {
    let fault = |source: sqlx::Error| fault(place, "make Ralph's tables", &source);
    sqlx::raw_sql(PREPARE_CONNECTION).execute(&mut *connection).await.map_err(fault)?;
    let known = schema::newest();
    // Looking comes first: an up-to-date database costs no lock, and a user without the right to create can use it.
    if schema::check(place, version(connection).await.map_err(fault)?, known)? == known {
        return Ok(());
    }
    let mut transaction = connection.begin().await.map_err(fault)?;
    sqlx::raw_sql(MIGRATION_LOCK).execute(&mut *transaction).await.map_err(fault)?;
    // Another process may have done it all while this one waited for the lock.
    let found = schema::check(place, version(&mut transaction).await.map_err(fault)?, known)?;
    sqlx::raw_sql("CREATE SCHEMA IF NOT EXISTS ralph").execute(&mut *transaction).await.map_err(fault)?;
    for statement in schema::statements(found, schema::STEPS, Dialect::Postgres) {
        sqlx::raw_sql(statement).execute(&mut *transaction).await.map_err(fault)?;
    }
    transaction.commit().await.map_err(fault)
}

/// The schema of the tables that are there; 0 where there are none.
async fn version(connection: &mut PgConnection) -> sqlx::Result<i64> {
    // Not `to_regclass`: it may answer from a cache that does not know yet what another process committed.
    let there = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'ralph' AND tablename = 'schema'";
    if sqlx::query(there).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(0);
    }
    let row = sqlx::query("SELECT COALESCE(MAX(version), 0) FROM ralph.schema").fetch_one(connection).await?;
    row.try_get(0)
}

/// Turns what the driver said into what a person can act on.
pub(super) fn fault(place: &str, doing: &'static str, source: &sqlx::Error) -> Error {
    let place = place.to_owned();
    let Some(error) = source.as_database_error() else {
        let detail = match source {
            sqlx::Error::PoolTimedOut => format!("no connection within {} s", TIMEOUT.as_secs()),
            other => other.to_string(),
        };
        return match source {
            // A server that starts may answer as none.
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed => Error::Unreachable { place, detail },
            _ => Error::Database { place, doing, detail },
        };
    };
    let detail = error.message().to_owned();
    match error.code().as_deref().unwrap_or_default() {
        // Lock and statement timeouts, a deadlock, a serialisation failure.
        "55P03" | "57014" | "40P01" | "40001" => Error::Busy { place, seconds: TIMEOUT.as_secs() },
        "53100" => Error::Full { place },
        "25006" => Error::ReadOnly { place },
        "XX001" | "XX002" => Error::Corrupt { place, detail },
        // Connection, login, unknown database, too many connections, shutdown and start.
        code if ["08", "28"].contains(&code.get(..2).unwrap_or_default())
            || ["3D000", "53300", "57P01", "57P02", "57P03"].contains(&code) =>
        {
            Error::Unreachable { place, detail }
        }
        _ => Error::Database { place, doing, detail },
    }
}

#[cfg(test)]
#[path = "postgres_tests.rs"]
mod tests;
