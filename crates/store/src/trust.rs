//! Content of repositories that the user approved, by its hash and place. Approves nothing by itself.

use ralph_model::Timestamp;

use crate::error::Result;
use crate::store::Store;

/// Content that the user approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// The hash of exactly that content.
    pub hash: String,
    /// The file that held it.
    pub path: String,
    /// When it was approved.
    pub at: Timestamp,
}

impl Store {
    /// Remembers that the user approved this content in this place.
    ///
    /// # Errors
    /// What the database says.
    pub async fn trust(&self, hash: &str, path: &str, at: Timestamp) -> Result<()> {
        let mut writing = self.write("remember trusted content").await?;
        let row = "INSERT INTO trusted (hash, path, at) VALUES ($1, $2, $3) ON CONFLICT (hash, path) DO NOTHING";
        let noted = sqlx::query(row).bind(hash).bind(path).bind(at.0).execute(writing.on()).await;
        noted.map_err(|error| writing.fault(error))?;
        writing.commit().await
    }

    /// Whether the user approved this content in this place.
    ///
    /// # Errors
    /// What the database says.
    pub async fn is_trusted(&self, hash: &str, path: &str) -> Result<bool> {
        let row = sqlx::query("SELECT 1 FROM trusted WHERE hash = $1 AND path = $2")
            .bind(hash)
            .bind(path)
            .fetch_optional(self.readers())
            .await
            .map_err(self.fault("look for trusted content"))?;
        Ok(row.is_some())
    }

    /// All content that the user approved, newest first.
    ///
    /// # Errors
    /// What the database says.
    pub async fn trusted(&self) -> Result<Vec<Trusted>> {
        let rows = sqlx::query("SELECT hash, path, at FROM trusted ORDER BY at DESC, path, hash")
            .fetch_all(self.readers())
            .await
            .map_err(self.fault("list trusted content"))?;
        rows.iter()
            .map(|row| {
                Ok(Trusted {
                    hash: self.column(row, "hash")?,
                    path: self.column(row, "path")?,
                    at: Timestamp(self.column(row, "at")?),
                })
            })
            .collect()
    }

    /// Takes trust in a content back, wherever it was given. Says for how many places.
    ///
    /// # Errors
    /// What the database says.
    pub async fn revoke(&self, hash: &str) -> Result<u64> {
        let mut writing = self.write("revoke trust").await?;
        let gone = sqlx::query("DELETE FROM trusted WHERE hash = $1").bind(hash).execute(writing.on()).await;
        let gone = gone.map_err(|error| writing.fault(error))?.rows_affected();
        writing.commit().await?;
        Ok(gone)
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
