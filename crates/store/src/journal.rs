//! Journals: append in one transaction, read with proof. Never edits an event.

use ralph_model::{LoopId, Timestamp};
use sqlx::Row as _;

use crate::budget::{self, MoneyChange};
use crate::chain::{self, Broken, Hash, Head, NewEvent, Recorded, Seq, Unreadable, Walk};
use crate::error::{Error, Result};
use crate::loops::{self, LoopSummary, NewLoop};
use crate::sqlite::{Connection, Row};
use crate::store::{Store, Writing};

/// What following a journal's chain showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// How many events are as they were written, from the first on.
    pub events: u64,
    /// Where the intact part ends.
    pub head: Head,
    /// The first event that is not as it was written.
    pub broken: Option<Broken>,
}

/// What was set aside, and where the journal ends now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantine {
    /// Which setting aside of this loop's events it was, counted from 1. Rows of table `quarantined` carry it.
    pub batch: u32,
    /// How many events were set aside.
    pub events: u64,
    /// Where the journal ends now.
    pub head: Head,
}

impl Store {
    /// Records a loop and its first event.
    ///
    /// # Errors
    /// [`Error::LoopExists`] for an id that was used before; else what the database says.
    pub async fn create_loop(&self, new: NewLoop, first: NewEvent) -> Result<Head> {
        let mut writing = self.write("record a loop").await?;
        let genesis = Head::genesis(new.id);
        if let Err(error) = loops::insert(writing.on(), &new, genesis).await {
            let taken = error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation);
            return Err(if taken { Error::LoopExists { loop_id: new.id } } else { writing.fault(error) });
        }
        let head = insert_events(&mut writing, new.id, genesis, &[first]).await?;
        writing.commit().await?;
        Ok(head)
    }

    /// Appends events to a journal that ends at `after`, and changes what is listed about the loop and its money, all in
    /// one transaction: on disk when this returns, or not at all.
    ///
    /// A caller that drops the future while it waits does not know whether the events are recorded; it has to read the
    /// journal again.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the journal does not end at `after`, [`Error::OverBudget`], [`Error::NoReservation`] and
    /// [`Error::AlreadySettled`] for the money; else what the database says.
    pub async fn append(
        &self,
        loop_id: LoopId,
        after: Seq,
        events: &[NewEvent],
        summary: Option<LoopSummary>,
        money: Option<MoneyChange>,
    ) -> Result<Head> {
        let mut writing = self.write("append to a journal").await?;
        let noted = self.noted_head(writing.on(), loop_id).await?;
        if noted.seq != after {
            return Err(Error::Conflict { loop_id, expected: after, found: noted.seq });
        }
        let head = insert_events(&mut writing, loop_id, noted, events).await?;
        if let Some(summary) = summary {
            loops::update(writing.on(), loop_id, &summary).await.map_err(|error| writing.fault(error))?;
        }
        if let Some(change) = money {
            budget::change(&mut writing, loop_id, change).await?;
        }
        writing.commit().await?;
        Ok(head)
    }

    /// The whole journal of a loop, proven to be the one that was written.
    ///
    /// # Errors
    /// [`Error::Broken`] with the first event that is not as it was written; [`Error::UnknownLoop`].
    pub async fn journal(&self, loop_id: LoopId) -> Result<Vec<Recorded>> {
        let walk = self.walk(loop_id).await?;
        match walk.broken {
            None => Ok(walk.intact),
            Some(Broken { seq, why }) => Err(Error::Broken { loop_id, seq, why }),
        }
    }

    /// How much of a journal is as it was written. A broken one is a finding here, not an error.
    ///
    /// # Errors
    /// [`Error::UnknownLoop`]; else what the database says.
    pub async fn verify(&self, loop_id: LoopId) -> Result<ChainReport> {
        let Walk { intact, head, broken } = self.walk(loop_id).await?;
        Ok(ChainReport { events: intact.len() as u64, head, broken })
    }

    /// Moves the events after `seq` aside, so that a loop with a broken journal can go on from its intact part. They
    /// stay in the table `quarantined`; nothing is deleted.
    ///
    /// # Errors
    /// [`Error::Broken`] when the events up to `seq` are not intact themselves; [`Error::UnknownLoop`].
    pub async fn quarantine_after(&self, loop_id: LoopId, seq: Seq) -> Result<Quarantine> {
        let mut writing = self.write("set broken events aside").await?;
        let walk = self.walk_on(writing.on(), loop_id).await?;
        if walk.head.seq < seq {
            let Broken { seq, why } =
                walk.broken.unwrap_or(Broken { seq: walk.head.seq.next(), why: chain::Break::Truncated { head: seq } });
            return Err(Error::Broken { loop_id, seq, why });
        }
        let hash = walk.intact.iter().find(|event| event.seq == seq).map(|event| event.hash);
        let head = Head { seq, hash: hash.unwrap_or_else(|| Hash::genesis(loop_id)) };
        let moved = set_aside(writing.on(), loop_id, head).await;
        let (batch, events) = moved.map_err(|error| writing.fault(error))?;
        let batch = u32::try_from(batch).map_err(|_| self.malformed("quarantined.batch", batch))?;
        writing.commit().await?;
        Ok(Quarantine { batch, events, head })
    }

    async fn walk(&self, loop_id: LoopId) -> Result<Walk> {
        // One snapshot for the head and the events: a writer may append in between.
        let mut snapshot = self.readers().begin().await.map_err(self.fault("read a journal"))?;
        self.walk_on(&mut snapshot, loop_id).await
    }

    async fn walk_on(&self, connection: &mut Connection, loop_id: LoopId) -> Result<Walk> {
        let noted = self.noted_head(connection, loop_id).await?;
        let rows = sqlx::query("SELECT seq, at, version, kind, payload, hash FROM events WHERE loop = $1 ORDER BY seq")
            .bind(loop_id.to_string())
            .fetch_all(connection)
            .await
            .map_err(self.fault("read a journal"))?;
        Ok(chain::walk(loop_id, noted, rows.iter().map(recorded).collect()))
    }

    async fn noted_head(&self, connection: &mut Connection, loop_id: LoopId) -> Result<Head> {
        let row = sqlx::query("SELECT head_seq, head_hash FROM loops WHERE id = $1")
            .bind(loop_id.to_string())
            .fetch_optional(connection)
            .await
            .map_err(self.fault("read a journal"))?
            .ok_or_else(|| self.unknown(loop_id))?;
        self.head_of(&row)
    }

    pub(crate) fn head_of(&self, row: &Row) -> Result<Head> {
        let seq: i64 = self.column(row, "head_seq")?;
        let hash: String = self.column(row, "head_hash")?;
        Ok(Head {
            seq: Seq(u64::try_from(seq).map_err(|_| self.malformed("head_seq", seq))?),
            hash: hash.parse().map_err(|_| self.malformed("head_hash", &hash))?,
        })
    }
}

async fn insert_events(writing: &mut Writing<'_>, loop_id: LoopId, from: Head, events: &[NewEvent]) -> Result<Head> {
    let mut head = from;
    for event in events {
        head = head.and(loop_id, event);
        let row =
            "INSERT INTO events (loop, seq, at, version, kind, payload, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let inserted = sqlx::query(row)
            .bind(loop_id.to_string())
            .bind(column_of(head.seq))
            .bind(event.at.0)
            .bind(i64::from(event.version))
            .bind(event.kind.as_str())
            .bind(event.payload.as_str())
            .bind(head.hash.to_string())
            .execute(writing.on())
            .await;
        inserted.map_err(|error| writing.fault(error))?;
    }
    if let Some(last) = events.last() {
        let moved = move_head(writing.on(), loop_id, head, Some(last.at)).await;
        moved.map_err(|error| writing.fault(error))?;
    }
    Ok(head)
}

async fn move_head(
    connection: &mut Connection,
    loop_id: LoopId,
    head: Head,
    at: Option<Timestamp>,
) -> sqlx::Result<()> {
    let row = "UPDATE loops SET head_seq = $2, head_hash = $3, updated_at = COALESCE($4, updated_at) WHERE id = $1";
    sqlx::query(row)
        .bind(loop_id.to_string())
        .bind(column_of(head.seq))
        .bind(head.hash.to_string())
        .bind(at.map(|at| at.0))
        .execute(connection)
        .await?;
    Ok(())
}

async fn set_aside(connection: &mut Connection, loop_id: LoopId, head: Head) -> sqlx::Result<(i64, u64)> {
    let batch = sqlx::query("SELECT COALESCE(MAX(batch), 0) + 1 FROM quarantined WHERE loop = $1")
        .bind(loop_id.to_string())
        .fetch_one(&mut *connection)
        .await?;
    let batch: i64 = batch.try_get(0)?;
    // Inside the database, because a broken row may not be readable as an event.
    let copy = "INSERT INTO quarantined (loop, batch, seq, at, version, kind, payload, hash)
         SELECT loop, $2, seq, at, version, kind, payload, hash FROM events WHERE loop = $1 AND NOT (seq BETWEEN 1 AND $3)";
    let copied = sqlx::query(copy)
        .bind(loop_id.to_string())
        .bind(batch)
        .bind(column_of(head.seq))
        .execute(&mut *connection)
        .await?
        .rows_affected();
    sqlx::query("DELETE FROM events WHERE loop = $1 AND NOT (seq BETWEEN 1 AND $2)")
        .bind(loop_id.to_string())
        .bind(column_of(head.seq))
        .execute(&mut *connection)
        .await?;
    move_head(connection, loop_id, head, None).await?;
    Ok((batch, copied))
}

/// Places are counted one by one, so none ever comes near the edge.
fn column_of(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}

fn recorded(row: &Row) -> Result<Recorded, Unreadable> {
    let wrong = |column| move |_: sqlx::Error| Unreadable(column);
    let seq: i64 = row.try_get("seq").map_err(wrong("seq"))?;
    let version: i64 = row.try_get("version").map_err(wrong("version"))?;
    let hash: String = row.try_get("hash").map_err(wrong("hash"))?;
    Ok(Recorded {
        seq: Seq(u64::try_from(seq).map_err(|_| Unreadable("seq"))?),
        at: Timestamp(row.try_get("at").map_err(wrong("at"))?),
        version: u32::try_from(version).map_err(|_| Unreadable("version"))?,
        kind: row.try_get("kind").map_err(wrong("kind"))?,
        payload: row.try_get("payload").map_err(wrong("payload"))?,
        hash: hash.parse().map_err(|_| Unreadable("hash"))?,
    })
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
