//! The databases that the suite runs against.

use std::path::{Path, PathBuf};

use ralph_store::{StoreHandle, open_sqlite};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tempfile::TempDir;

use crate::folder;

/// One empty database.
pub(crate) enum Database {
    Sqlite { _folder: TempDir, path: PathBuf },
}

impl Database {
    pub(crate) fn sqlite() -> Self {
        let folder = folder();
        Self::Sqlite { path: folder.path().join("ralph.db"), _folder: folder }
    }

    /// Opens the database, as one more process would.
    pub(crate) async fn open(&self) -> StoreHandle {
        match self {
            Self::Sqlite { path, .. } => open_sqlite(path).await.unwrap(),
        }
    }

    /// Whether a column of one type can hold a value of another.
    pub(crate) const fn has_loose_types(&self) -> bool {
        match self {
            Self::Sqlite { .. } => true,
        }
    }

    /// Runs statements behind the store's back, as an editor for databases would. No key is checked.
    pub(crate) async fn meddle(&self, statements: &[&str]) {
        match self {
            Self::Sqlite { path, .. } => {
                let mut connection = connect(path).await;
                for statement in statements {
                    sqlx::query(AssertSqlSafe(*statement)).execute(&mut connection).await.unwrap();
                }
                connection.close().await.unwrap();
            }
        }
    }

    /// Rows of two numbers.
    pub(crate) async fn pairs(&self, sql: &'static str) -> Vec<(i64, i64)> {
        match self {
            Self::Sqlite { path, .. } => {
                let rows = sqlx::query(sql).fetch_all(&mut connect(path).await).await.unwrap();
                rows.iter().map(|row| (row.get(0), row.get(1))).collect()
            }
        }
    }
}

async fn connect(path: &Path) -> sqlx::SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).foreign_keys(false);
    sqlx::SqliteConnection::connect_with(&options).await.unwrap()
}
