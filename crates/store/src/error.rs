//! What can go wrong with the store, with the place and what to do in each message. Holds no type of a driver, so that a store
//! on another machine can report the same.

use ralph_model::{Attempt, RunId, TaskId};

use crate::chain::{Break, Seq};
use crate::run::Epoch;

/// The result of every call on a store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call on the store failed. Nothing of a failed call is stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// The file or its folder could not be made.
    #[error("could not create {place}: {detail}; make its folder writable, or choose another place for Ralph's state")]
    Create { place: String, detail: String },
    /// The file is there and cannot be opened.
    #[error(
        "could not open {place}: {detail}; it and its folder must be writable, because SQLite keeps two more files next to it"
    )]
    Open { place: String, detail: String },
    /// Another process kept the file locked for too long.
    #[error("{place} was locked by another process for more than {seconds} s; see which Ralph is busy, then try again")]
    Busy { place: String, seconds: u64 },
    /// The server cannot be reached, or does not let Ralph in.
    #[error("could not connect to {place}: {detail}; start the server, or check the database URL and the network")]
    Unreachable { place: String, detail: String },
    /// No room on the disk, in the quota or under the limit on file sizes.
    #[error(
        "no room to write {place} (disk, quota or limit on file sizes); everything acknowledged is kept: free some space, then resume"
    )]
    Full { place: String },
    /// The file, its folder or its disk does not take writes.
    #[error(
        "{place} is on a read-only disk or not writable by this user; make it writable, or choose another place for Ralph's state"
    )]
    ReadOnly { place: String },
    /// The disk failed in some other way.
    #[error("the disk failed under {place}: {detail}; check its health and its space, then resume")]
    Disk { place: String, detail: String },
    /// The bytes are no sound SQLite database.
    #[error(
        "{place} is damaged or no database at all ({detail}); move it aside and start again, or bring back a copy of it"
    )]
    Corrupt { place: String, detail: String },
    /// A sound database of some other program.
    #[error("{place} is a database of another program; it was left as it is: choose another place for Ralph's state")]
    Foreign { place: String },
    /// Written by a newer Ralph.
    #[error(
        "{place} has schema {found}, and this Ralph knows schemas up to {known}; it was left as it is: use the newer Ralph that wrote it"
    )]
    NewerSchema { place: String, found: u32, known: u32 },
    /// The file system has no shared memory between processes, as many network file systems.
    #[error("{place} is on a file system without shared memory maps; put Ralph's state on a local disk")]
    NoSharedMemory { place: String },
    /// Another process took the run over.
    #[error(
        "another process took over loop {run} (lease {newest}, this process holds {held}): nothing was written; stop here"
    )]
    StaleLease { run: RunId, held: Epoch, newest: Epoch },
    /// Another process wrote to this journal since it was read.
    #[error("another process wrote to loop {run}: its journal is at event {found}, not {expected}; read it again")]
    Conflict { run: RunId, expected: Seq, found: Seq },
    /// The journal is not the one that was written.
    #[error("the journal of loop {run} is broken at event {seq}: {why}")]
    Broken { run: RunId, seq: Seq, why: Break },
    /// No such run.
    #[error("there is no loop {run} in {place}")]
    UnknownRun { run: RunId, place: String },
    /// Ids are never used twice.
    #[error("loop {run} exists already")]
    RunExists { run: RunId },
    /// Money can only be settled against a reservation.
    #[error("attempt {attempt} of loop {run} has no reservation to settle")]
    NoReservation { run: RunId, attempt: Attempt },
    /// An attempt is settled once it ended, and never reserves again.
    #[error("attempt {attempt} of loop {run} is settled already; a new attempt needs a new number")]
    AlreadySettled { run: RunId, attempt: Attempt },
    /// What is recorded of an attempt needs a record of its start.
    #[error("the start of attempt {attempt} of loop {run} is not recorded")]
    UnknownAttempt { run: RunId, attempt: Attempt },
    /// No such task.
    #[error("there is no task {task} in {place}")]
    UnknownTask { task: TaskId, place: String },
    /// The lease on a task expired, or another worker claimed the task.
    #[error(
        "the lease on task {task} ended or passed to another worker (epoch {held}, newest {newest}): nothing was written; stop working on it"
    )]
    StaleTaskLease { task: TaskId, held: Epoch, newest: Epoch },
    /// The call does not fit the state that the task is in.
    #[error("task {task} {detail}")]
    TaskConflict { task: TaskId, detail: String },
    /// An idempotency key came with other content than before.
    #[error("the idempotency key `{key}` was used for another request; send a new key")]
    KeyReused { key: String },
    /// No such approval, schedule, agent or token.
    #[error("there is no {what} `{id}`")]
    UnknownEntry { what: &'static str, id: String },
    /// An approval that was answered or expired, or a name that is in use.
    #[error("{what} `{id}` {detail}")]
    EntryConflict { what: &'static str, id: String, detail: String },
    /// A stored value that no Ralph writes.
    #[error("{place} holds `{value}` as {column}, which Ralph does not write; another program changed it")]
    Malformed { place: String, column: &'static str, value: String },
    /// Anything else the database said.
    #[error("could not {doing} in {place}: {detail}")]
    Database { place: String, doing: &'static str, detail: String },
}
