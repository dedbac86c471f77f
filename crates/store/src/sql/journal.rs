//! Journals: append in one transaction, read with proof. Never edits an event.

use ralph_model::{RunId, Timestamp};

use super::session::{Row, Session, values};
use super::{artifacts, attempts, budget, runs};
use crate::chain::{self, Break, Broken, Hash, Head, NewEvent, Recorded, Seq, Unreadable, Walk};
use crate::changes::Change;
use crate::error::{Error, Result};
use crate::run::{Append, Lease, NewRun};
use crate::store::Quarantine;

pub(super) async fn create(session: &mut Session<'_>, new: &NewRun, first: &NewEvent) -> Result<(Lease, Head)> {
    let genesis = Head::genesis(new.id);
    let lease = runs::insert(session, new, genesis).await?;
    let head = insert(session, new.id, genesis, std::slice::from_ref(first)).await?;
    Ok((lease, head))
}

pub(super) async fn append(session: &mut Session<'_>, lease: Lease, after: Seq, append: &Append) -> Result<Head> {
    let Append { events, summary, settle, start, artifacts } = append;
    let noted = runs::fence(session, lease).await?;
    if noted.seq != after {
        return Err(Error::Conflict { run: lease.run, expected: after, found: noted.seq });
    }
    if let Some(settlement) = settle {
        budget::settle(session, lease.run, *settlement).await?;
    }
    let head = insert(session, lease.run, noted, events).await?;
    if let Some(summary) = summary {
        runs::update(session, lease.run, summary).await?;
    }
    if let Some(start) = start {
        attempts::insert(session, lease.run, start).await?;
    }
    artifacts::record(session, lease.run, artifacts).await?;
    Ok(head)
}

/// Follows the whole chain of a journal.
pub(super) async fn walk(session: &mut Session<'_>, run: RunId) -> Result<Walk> {
    let noted = runs::noted_head(session, run).await?;
    let all = "SELECT seq, at, version, kind, payload, hash FROM events WHERE loop = $1 ORDER BY seq";
    let rows = session.rows(all, values![run]).await?;
    Ok(chain::walk(run, Head::genesis(run), noted, rows.iter().map(recorded).collect()))
}

/// The events after one, of which the chain is followed from there.
pub(super) async fn after(session: &mut Session<'_>, run: RunId, seq: Seq, limit: u32) -> Result<Vec<Recorded>> {
    let noted = runs::noted_head(session, run).await?;
    if seq > noted.seq {
        return Err(Error::Conflict { run, expected: seq, found: noted.seq });
    }
    let broken = |Broken { seq, why }| Error::Broken { run, seq, why };
    let mut from = Head::genesis(run);
    if seq > from.seq {
        let row = session.row("SELECT hash FROM events WHERE loop = $1 AND seq = $2", values![run, seq]).await?;
        let row = row.ok_or_else(|| broken(Broken { seq, why: Break::Missing }))?;
        let hash = row.read::<String>("hash").and_then(|hash| hash.parse().ok());
        let hash = hash.ok_or_else(|| broken(Broken { seq, why: Break::Unreadable { column: "hash".to_owned() } }))?;
        from = Head { seq, hash };
    }
    let some =
        "SELECT seq, at, version, kind, payload, hash FROM events WHERE loop = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let rows = session.rows(some, values![run, seq, limit]).await?;
    let is_cut_short = u32::try_from(rows.len()).is_ok_and(|found| found == limit);
    let walk = chain::walk(run, from, noted, rows.iter().map(recorded).collect());
    match walk.broken {
        Some(Broken { why: Break::Truncated { .. }, .. }) if is_cut_short => Ok(walk.intact),
        Some(wrong) => Err(broken(wrong)),
        None => Ok(walk.intact),
    }
}

pub(super) async fn quarantine(session: &mut Session<'_>, run: RunId, seq: Seq) -> Result<Quarantine> {
    // A process that still writes must not continue a journal that changed under it.
    runs::acquire(session, run, None).await?;
    let walk = walk(session, run).await?;
    if walk.head.seq < seq {
        let missing = Broken { seq: walk.head.seq.next(), why: Break::Truncated { head: seq } };
        let Broken { seq, why } = walk.broken.unwrap_or(missing);
        return Err(Error::Broken { run, seq, why });
    }
    let hash = walk.intact.iter().find(|event| event.seq == seq).map(|event| event.hash);
    let head = Head { seq, hash: hash.unwrap_or_else(|| Hash::genesis(run)) };
    let next = "SELECT COALESCE(MAX(batch), 0) + 1 AS batch FROM quarantined WHERE loop = $1";
    let batch = session.row(next, values![run]).await?.map_or(Ok(1), |row| row.small("batch"))?;
    // Inside the database, because a broken row may not be readable as an event.
    let copy = "INSERT INTO quarantined (loop, batch, seq, at, version, kind, payload, hash) \
         SELECT loop, $2, seq, at, version, kind, payload, hash FROM events WHERE loop = $1 AND NOT (seq BETWEEN 1 AND $3)";
    let events = session.execute(copy, values![run, batch, seq]).await?;
    let rest = "DELETE FROM events WHERE loop = $1 AND NOT (seq BETWEEN 1 AND $2)";
    session.execute(rest, values![run, seq]).await?;
    runs::move_head(session, run, head, None).await?;
    Ok(Quarantine { batch, events, head })
}

async fn insert(session: &mut Session<'_>, run: RunId, from: Head, events: &[NewEvent]) -> Result<Head> {
    let row = "INSERT INTO events (loop, seq, at, version, kind, payload, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let mut head = from;
    for event in events {
        head = head.and(run, event);
        let (kind, payload) = (event.kind.as_str(), event.payload.as_str());
        let values = values![run, head.seq, event.at, event.version, kind, payload, head.hash.to_string()];
        session.later(row, values).await?;
    }
    if let Some(last) = events.last() {
        runs::move_head(session, run, head, Some(last.at)).await?;
        session.announce(Change::Events { run, head: head.seq }).await?;
    }
    Ok(head)
}

fn recorded(row: &Row<'_>) -> Result<Recorded, Unreadable> {
    let number = |column| row.read::<i64>(column).ok_or(Unreadable(column));
    let text = |column| row.read::<String>(column).ok_or(Unreadable(column));
    Ok(Recorded {
        seq: Seq(u64::try_from(number("seq")?).map_err(|_| Unreadable("seq"))?),
        at: Timestamp(number("at")?),
        version: u32::try_from(number("version")?).map_err(|_| Unreadable("version"))?,
        kind: text("kind")?,
        payload: text("payload")?,
        hash: text("hash")?.parse().map_err(|_| Unreadable("hash"))?,
    })
}
