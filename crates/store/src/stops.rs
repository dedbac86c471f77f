//! Requests to end a loop, from whatever process. Ends nothing.

use ralph_model::{LoopId, Timestamp};

use crate::error::Result;
use crate::store::Store;

/// How a loop is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopMode {
    /// When the iteration that runs is over.
    AfterIteration,
    /// At once.
    Now,
}

impl StopMode {
    const fn name(self) -> &'static str {
        match self {
            Self::AfterIteration => "after-iteration",
            Self::Now => "now",
        }
    }
}

impl Store {
    /// Asks a loop to end. A request to end now is not weakened by a later, milder one.
    ///
    /// # Errors
    /// [`crate::Error::UnknownLoop`]; else what the database says.
    pub async fn request_stop(&self, loop_id: LoopId, how: StopMode, at: Timestamp) -> Result<()> {
        let mut writing = self.write("ask a loop to stop").await?;
        let row = "INSERT INTO stops (loop, how, at) VALUES ($1, $2, $3)
             ON CONFLICT (loop) DO UPDATE SET how = $2, at = $3 WHERE stops.how <> 'now'";
        let asked = sqlx::query(row).bind(loop_id.to_string()).bind(how.name()).bind(at.0).execute(writing.on()).await;
        if let Err(error) = asked {
            return Err(writing.foreign_key(error, loop_id));
        }
        writing.commit().await
    }

    /// Whether and how a loop was asked to end.
    ///
    /// # Errors
    /// What the database says.
    pub async fn stop_requested(&self, loop_id: LoopId) -> Result<Option<StopMode>> {
        let row = sqlx::query("SELECT how FROM stops WHERE loop = $1")
            .bind(loop_id.to_string())
            .fetch_optional(self.readers())
            .await
            .map_err(self.fault("look for a stop request"))?;
        let Some(row) = row else { return Ok(None) };
        let how: String = self.column(&row, "how")?;
        match [StopMode::AfterIteration, StopMode::Now].into_iter().find(|known| known.name() == how) {
            Some(how) => Ok(Some(how)),
            None => Err(self.malformed("stops.how", how)),
        }
    }

    /// Forgets a request, once it was followed or the loop is started again.
    ///
    /// # Errors
    /// What the database says.
    pub async fn clear_stop(&self, loop_id: LoopId) -> Result<()> {
        let mut writing = self.write("clear a stop request").await?;
        sqlx::query("DELETE FROM stops WHERE loop = $1")
            .bind(loop_id.to_string())
            .execute(writing.on())
            .await
            .map_err(|error| writing.fault(error))?;
        writing.commit().await
    }
}

#[cfg(test)]
#[path = "stops_tests.rs"]
mod tests;
