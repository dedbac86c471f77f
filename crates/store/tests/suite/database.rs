//! The databases that the suite runs against.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use ralph_store::remote::{Call, RemoteStore, Reply, SendError, Transport, answer};
use ralph_store::{StoreHandle, open_postgres, open_sqlite};
use ralph_testkit::postgres::Cluster;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};
use tempfile::TempDir;

use crate::folder;

/// One empty database.
pub(crate) enum Database {
    Sqlite {
        _folder: TempDir,
        path: PathBuf,
    },
    /// The same behind calls that travel as JSON, and whose answers are lost now and then.
    Remote {
        _folder: TempDir,
        path: PathBuf,
    },
    Postgres {
        url: String,
    },
}

impl Database {
    pub(crate) fn sqlite() -> Self {
        let folder = folder();
        Self::Sqlite { path: folder.path().join("ralph.db"), _folder: folder }
    }

    pub(crate) fn remote() -> Self {
        let folder = folder();
        Self::Remote { path: folder.path().join("ralph.db"), _folder: folder }
    }

    pub(crate) fn postgres(cluster: &Cluster, name: &str) -> Self {
        // Names of databases have at most 63 characters.
        let name = &name[name.len().saturating_sub(60)..];
        Self::Postgres { url: cluster.create_database(name) }
    }

    /// Where it is, for another process.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Sqlite { path, .. } | Self::Remote { path, .. } => path.to_str().unwrap().to_owned(),
            Self::Postgres { url } => url.clone(),
        }
    }

    /// Opens the database, as one more process would.
    pub(crate) async fn open(&self) -> StoreHandle {
        let store = open(&self.address()).await;
        match self {
            Self::Remote { .. } => Wire::reliable(store),
            Self::Sqlite { .. } | Self::Postgres { .. } => store,
        }
    }

    /// Opens the database for tasks too, as one more server would.
    pub(crate) async fn open_all(&self) -> ralph_store::Database {
        match self {
            Self::Sqlite { path, .. } | Self::Remote { path, .. } => {
                ralph_store::Database::open_sqlite(path).await.unwrap()
            }
            Self::Postgres { url } => ralph_store::Database::open_postgres(url).await.unwrap(),
        }
    }

    /// Whether a column of one type can hold a value of another.
    pub(crate) const fn has_loose_types(&self) -> bool {
        match self {
            Self::Sqlite { .. } | Self::Remote { .. } => true,
            Self::Postgres { .. } => false,
        }
    }

    /// Runs statements behind the store's back, as an editor for databases would. No key is checked.
    pub(crate) async fn meddle(&self, statements: &[&str]) {
        match self {
            Self::Sqlite { path, .. } | Self::Remote { path, .. } => {
                let mut connection = connect(path).await;
                for statement in statements {
                    sqlx::query(AssertSqlSafe(*statement)).execute(&mut connection).await.unwrap();
                }
                connection.close().await.unwrap();
            }
            Self::Postgres { url } => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                let unchecked = "SET search_path TO ralph; SET session_replication_role TO replica";
                sqlx::raw_sql(unchecked).execute(&mut connection).await.unwrap();
                for statement in statements {
                    sqlx::raw_sql(AssertSqlSafe(*statement)).execute(&mut connection).await.unwrap();
                }
                connection.close().await.unwrap();
            }
        }
    }

    /// Rows of two numbers.
    pub(crate) async fn pairs(&self, sql: &'static str) -> Vec<(i64, i64)> {
        match self {
            Self::Sqlite { path, .. } | Self::Remote { path, .. } => {
                let rows = sqlx::query(sql).fetch_all(&mut connect(path).await).await.unwrap();
                rows.iter().map(|row| (row.get(0), row.get(1))).collect()
            }
            Self::Postgres { url } => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                sqlx::raw_sql("SET search_path TO ralph").execute(&mut connection).await.unwrap();
                let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
                rows.iter().map(|row| (row.get(0), row.get(1))).collect()
            }
        }
    }
}

/// Carries calls to a store as JSON.
#[derive(Debug)]
pub(crate) struct Wire {
    store: StoreHandle,
    sent: AtomicU32,
    /// After every so many calls that were carried out an answer is lost.
    loses_every: u32,
}

impl Wire {
    fn reliable(store: StoreHandle) -> StoreHandle {
        Self::losing(store, u32::MAX)
    }

    pub(crate) fn losing(store: StoreHandle, loses_every: u32) -> StoreHandle {
        let wire = Self { store, sent: AtomicU32::new(0), loses_every };
        Arc::new(RemoteStore::new(Box::new(wire), Duration::from_secs(5)))
    }
}

#[async_trait]
impl Transport for Wire {
    fn place(&self) -> &str {
        self.store.place()
    }

    async fn send(&self, call: &Call) -> Result<Reply, SendError> {
        let call = serde_json::from_slice(&serde_json::to_vec(call).unwrap()).unwrap();
        let reply = answer(&*self.store, call).await.map_err(|error| SendError::Unreachable(error.to_string()))?;
        let reply = serde_json::to_vec(&reply).unwrap();
        if (self.sent.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.loses_every) {
            return Err(SendError::Unreachable("the answer is lost".to_owned()));
        }
        Ok(serde_json::from_slice(&reply).unwrap())
    }
}

/// Opens a database by its address.
pub(crate) async fn open(address: &str) -> StoreHandle {
    if address.starts_with("postgresql://") {
        open_postgres(address).await.unwrap()
    } else {
        open_sqlite(Path::new(address)).await.unwrap()
    }
}

async fn connect(path: &Path) -> SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).foreign_keys(false);
    SqliteConnection::connect_with(&options).await.unwrap()
}
