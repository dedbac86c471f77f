//! The chain of hashes that makes a changed, missing or moved event visible. Pure: rows in, findings out.
//!
//! It shows damage and clumsy edits. A process that can write the file can also compute a new chain; what guards against that
//! is a head that was noted elsewhere.

use std::fmt;
use std::str::FromStr;

use ralph_model::{RunId, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The place of an event in its journal, counted from 1. Zero is the place before the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seq(pub u64);

impl Seq {
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A SHA-256 over an event and all before it. Shown and stored as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash before the first event of a run.
    pub fn genesis(run: RunId) -> Self {
        let mut digest = Sha256::new();
        digest.update(b"ralph journal 1\n");
        digest.update(run.to_string());
        Self(digest.finalize().into())
    }

    /// The hash of an event that follows the one with this hash. Numbers are eight bytes, big end first; texts have
    /// their length in front, so that no two events have the same bytes.
    fn link(self, run: RunId, seq: Seq, event: Content<'_>) -> Self {
        let mut digest = Sha256::new();
        digest.update(self.0);
        let mut text = |text: &str| {
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text);
        };
        text(&run.to_string());
        text(event.kind);
        text(event.payload);
        digest.update(seq.0.to_be_bytes());
        digest.update(event.at.0.to_be_bytes());
        digest.update(u64::from(event.version).to_be_bytes());
        Self(digest.finalize().into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a hash: expected 64 lower-case hexadecimal digits")]
pub struct ParseHash(String);

impl FromStr for Hash {
    type Err = ParseHash;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseHash(text.to_owned());
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(wrong());
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let (high, low) = (digit(pair[0]).ok_or_else(wrong)?, digit(pair[1]).ok_or_else(wrong)?);
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = ParseHash;

    fn try_from(text: String) -> Result<Self, ParseHash> {
        text.parse()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The place of its last event.
    pub seq: Seq,
    /// The hash of its last event, and so of the whole journal.
    pub hash: Hash,
}

impl Head {
    /// The end of a journal without events.
    pub fn genesis(run: RunId) -> Self {
        Self { seq: Seq(0), hash: Hash::genesis(run) }
    }

    /// Where the journal ends with one more event.
    pub(crate) fn and(self, run: RunId, event: &NewEvent) -> Self {
        let seq = self.seq.next();
        Self { seq, hash: self.hash.link(run, seq, event.content()) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEvent {
    pub at: Timestamp,
    pub version: u32,
    pub kind: String,
    /// The event as JSON text, kept byte for byte.
    pub payload: String,
}

impl NewEvent {
    fn content(&self) -> Content<'_> {
        Content { at: self.at, version: self.version, kind: &self.kind, payload: &self.payload }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub seq: Seq,
    pub at: Timestamp,
    pub version: u32,
    pub kind: String,
    /// The event as JSON text.
    pub payload: String,
    /// The hash of this event and all before it.
    pub hash: Hash,
}

impl Recorded {
    pub(crate) fn is(&self, event: &NewEvent) -> bool {
        (self.at, self.version, &self.kind, &self.payload) == (event.at, event.version, &event.kind, &event.payload)
    }

    fn content(&self) -> Content<'_> {
        Content { at: self.at, version: self.version, kind: &self.kind, payload: &self.payload }
    }
}

#[derive(Clone, Copy)]
struct Content<'e> {
    at: Timestamp,
    version: u32,
    kind: &'e str,
    payload: &'e str,
}

/// In what way an event is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Break {
    #[error("it was changed after it was written")]
    Changed,
    #[error("it is missing, though later events are there")]
    Missing,
    #[error("it was moved to place {found_at}")]
    Reordered { found_at: Seq },
    #[error("its column `{column}` cannot be read")]
    Unreadable { column: String },
    #[error("it and all after it are missing: the journal went up to event {head}")]
    Truncated { head: Seq },
    #[error("it comes after the journal's end, event {head}: another program added it")]
    BeyondHead { head: Seq },
    /// The chain is whole and its end is another than the one noted with the run.
    #[error("the chain ends in another hash than the one noted with the run")]
    HeadDiffers,
}

/// The first event that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    pub seq: Seq,
    /// In what way it is not as written.
    pub why: Break,
}

/// A row that could not be read as an event: the name of the first such column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) &'static str);

/// How far a journal is as it was written.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) intact: Vec<Recorded>,
    pub(crate) head: Head,
    pub(crate) broken: Option<Broken>,
}

/// Follows the chain from `from` through `rows`, which are in the order of their places, to the head noted with the run.
pub(crate) fn walk(run: RunId, from: Head, noted: Head, rows: Vec<Result<Recorded, Unreadable>>) -> Walk {
    let mut reached = from;
    let mut broken = None;
    let mut good = 0;
    for (index, row) in rows.iter().enumerate() {
        let seq = reached.seq.next();
        let why = match row {
            Err(Unreadable(column)) => Some(Break::Unreadable { column: (*column).to_owned() }),
            Ok(event) if event.seq != seq => Some(displaced(run, reached, &rows[index..]).unwrap_or(Break::Missing)),
            Ok(event) if reached.hash.link(run, seq, event.content()) != event.hash => {
                Some(displaced(run, reached, &rows[index..]).unwrap_or(Break::Changed))
            }
            Ok(_) if seq > noted.seq => Some(Break::BeyondHead { head: noted.seq }),
            Ok(event) if seq == noted.seq && event.hash != noted.hash => Some(Break::HeadDiffers),
            Ok(event) => {
                reached = Head { seq, hash: event.hash };
                None
            }
        };
        if let Some(why) = why {
            broken = Some(Broken { seq, why });
            break;
        }
        good = index + 1;
    }
    if broken.is_none() && reached.seq < noted.seq {
        broken = Some(Broken { seq: reached.seq.next(), why: Break::Truncated { head: noted.seq } });
    }
    let intact = rows.into_iter().take(good).flatten().collect();
    Walk { intact, head: reached, broken }
}

/// Whether the event that belongs after `reached` stands further down.
fn displaced(run: RunId, reached: Head, rows: &[Result<Recorded, Unreadable>]) -> Option<Break> {
    let seq = reached.seq.next();
    rows.iter()
        .flatten()
        .find(|event| event.seq != seq && reached.hash.link(run, seq, event.content()) == event.hash)
        .map(|event| Break::Reordered { found_at: event.seq })
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
