//! What can go wrong with the store, with the place and what to do in each message. Holds no type of a driver, so that a store
//! on another machine can report the same.

use ralph_model::{Attempt, RunId, TaskId};

use crate::chain::{Break, Seq};
use crate::run::Epoch;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call on the store failed. Nothing of a failed call is stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("could not create {place}: {detail}; make its folder writable, or choose another place for Ralph's state")]
    Create { place: String, detail: String },
    #[error(
        "could not open {place}: {detail}; it and its folder must be writable, because SQLite keeps two more files next to it"
    )]
    Open { place: String, detail: String },
    #[error("{place} was locked by another process for more than {seconds} s; see which Ralph is busy, then try again")]
    Busy { place: String, seconds: u64 },
    #[error("could not connect to {place}: {detail}; start the server, or check the database URL and the network")]
    Unreachable { place: String, detail: String },
    /// No room on the disk, in the quota or under the limit on file sizes.
    #[error(
        "no room to write {place} (disk, quota or limit on file sizes); everything acknowledged is kept: free some space, then resume"
    )]
    Full { place: String },
    #[error(
        "{place} is on a read-only disk or not writable by this user; make it writable, or choose another place for Ralph's state"
    )]
    ReadOnly { place: String },
    #[error("the disk failed under {place}: {detail}; check its health and its space, then resume")]
    Disk { place: String, detail: String },
    #[error(
        "{place} is damaged or no database at all ({detail}); move it aside and start again, or bring back a copy of it"
    )]
    Corrupt { place: String, detail: String },
    #[error("{place} is a database of another program; it was left as it is: choose another place for Ralph's state")]
    Foreign { place: String },
    #[error(
        "{place} has schema {found}, and this Ralph knows schemas up to {known}; it was left as it is: use the newer Ralph that wrote it"
    )]
    NewerSchema { place: String, found: u32, known: u32 },
    #[error("{place} is on a file system without shared memory maps; put Ralph's state on a local disk")]
    NoSharedMemory { place: String },
    #[error(
        "another process took over loop {run} (lease {newest}, this process holds {held}): nothing was written; stop here"
    )]
    StaleLease { run: RunId, held: Epoch, newest: Epoch },
    #[error("another process wrote to loop {run}: its journal is at event {found}, not {expected}; read it again")]
    Conflict { run: RunId, expected: Seq, found: Seq },
    #[error("the journal of loop {run} is broken at event {seq}: {why}")]
    Broken { run: RunId, seq: Seq, why: Break },
    #[error("there is no loop {run} in {place}")]
    UnknownRun { run: RunId, place: String },
    #[error("loop {run} exists already")]
    RunExists { run: RunId },
    #[error("attempt {attempt} of loop {run} has no reservation to settle")]
    NoReservation { run: RunId, attempt: Attempt },
    #[error("attempt {attempt} of loop {run} is settled already; a new attempt needs a new number")]
    AlreadySettled { run: RunId, attempt: Attempt },
    #[error("the start of attempt {attempt} of loop {run} is not recorded")]
    UnknownAttempt { run: RunId, attempt: Attempt },
    #[error("there is no task {task} in {place}")]
    UnknownTask { task: TaskId, place: String },
    #[error(
        "the lease on task {task} ended or passed to another worker (epoch {held}, newest {newest}): nothing was written; stop working on it"
    )]
    StaleTaskLease { task: TaskId, held: Epoch, newest: Epoch },
    #[error("task {task} {detail}")]
    TaskConflict { task: TaskId, detail: String },
    #[error("the idempotency key `{key}` was used for another request; send a new key")]
    KeyReused { key: String },
    #[error("there is no {what} `{id}`")]
    UnknownEntry { what: &'static str, id: String },
    #[error("{what} `{id}` {detail}")]
    EntryConflict { what: &'static str, id: String, detail: String },
    #[error("{place} holds `{value}` as {column}, which Ralph does not write; another program changed it")]
    Malformed { place: String, column: &'static str, value: String },
    #[error("could not {doing} in {place}: {detail}")]
    Database { place: String, doing: &'static str, detail: String },
}
