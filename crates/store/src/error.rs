//! What can go wrong with the store, with the file and what to do in each message.

use std::io;
use std::path::{Path, PathBuf};

use ralph_model::{Attempt, LoopId, Money};

use crate::chain::{Break, Seq};
use crate::sqlite;

/// The result of every call on a store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call on the store failed. Nothing of a failed call is stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or its folder could not be made.
    #[error("could not create {path}: {source}; make its folder writable, or choose another place for Ralph's state")]
    Create {
        /// What was to be made.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file is there and cannot be opened.
    #[error(
        "could not open {path}: {detail}; it and its folder have to be writable, because SQLite keeps two more files beside it"
    )]
    Open {
        /// The database.
        path: PathBuf,
        /// The database's words.
        detail: String,
    },
    /// Another process kept the file locked for too long.
    #[error("{path} was locked by another process for more than {seconds} s; see which Ralph is busy, then try again")]
    Busy {
        /// The database.
        path: PathBuf,
        /// How long Ralph waited.
        seconds: u64,
    },
    /// No room on the disk, in the quota or under the limit on file sizes.
    #[error(
        "no room to write {path} (disk, quota or limit on file sizes); everything acknowledged is kept: free some space, then resume"
    )]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// The file, its folder or its disk does not take writes.
    #[error(
        "{path} is on a read-only disk or not writable by this user; make it writable, or choose another place for Ralph's state"
    )]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// The disk failed in some other way.
    #[error("the disk failed under {path}: {detail}; check its health and its space, then resume")]
    Disk {
        /// The database.
        path: PathBuf,
        /// The database's words.
        detail: String,
    },
    /// The bytes are no sound SQLite database.
    #[error(
        "{path} is damaged or no database at all ({detail}); move it aside and start again, or bring back a copy of it"
    )]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The database's words.
        detail: String,
    },
    /// A sound database of some other program.
    #[error("{path} is a database of another program; it was left as it is: choose another place for Ralph's state")]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// Written by a newer Ralph.
    #[error(
        "{path} has schema {found}, and this Ralph knows schemas up to {known}; it was left as it is: use the newer Ralph that wrote it"
    )]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// The schema of the file.
        found: u32,
        /// The newest schema that this program knows.
        known: u32,
    },
    /// The file system has no shared memory between processes, as many network file systems.
    #[error("{path} is on a file system without shared memory maps; put Ralph's state on a local disk")]
    NoSharedMemory {
        /// The database.
        path: PathBuf,
    },
    /// Somebody else wrote to this journal since it was read.
    #[error("another process wrote to loop {loop_id}: its journal is at event {found}, not {expected}; read it again")]
    Conflict {
        /// Whose journal.
        loop_id: LoopId,
        /// Where the caller thought it ended.
        expected: Seq,
        /// Where it ends.
        found: Seq,
    },
    /// The journal is not the one that was written.
    #[error("the journal of loop {loop_id} is broken at event {seq}: {why}")]
    Broken {
        /// Whose journal.
        loop_id: LoopId,
        /// The first event that is not as it was written.
        seq: Seq,
        /// In what way.
        why: Break,
    },
    /// No such loop.
    #[error("there is no loop {loop_id} in {path}")]
    UnknownLoop {
        /// The id that was asked for.
        loop_id: LoopId,
        /// The database.
        path: PathBuf,
    },
    /// Ids are never used twice.
    #[error("loop {loop_id} exists already")]
    LoopExists {
        /// The id.
        loop_id: LoopId,
    },
    /// The money of the day does not suffice for a reservation that was to be made whole.
    #[error("{wanted} does not fit into the day's budget of {cap}: {left} is left")]
    OverBudget {
        /// What was to be reserved.
        wanted: Money,
        /// What is left.
        left: Money,
        /// The day's cap.
        cap: Money,
    },
    /// Money can only be settled against a reservation.
    #[error("attempt {attempt} of loop {loop_id} has no reservation to settle")]
    NoReservation {
        /// Whose attempt.
        loop_id: LoopId,
        /// Which attempt.
        attempt: Attempt,
    },
    /// An attempt is settled once it ended, and never reserves again.
    #[error("attempt {attempt} of loop {loop_id} is settled already; a new attempt needs a new number")]
    AlreadySettled {
        /// Whose attempt.
        loop_id: LoopId,
        /// Which attempt.
        attempt: Attempt,
    },
    /// A stored value that no Ralph writes.
    #[error("{path} holds `{value}` as {column}, which is no such thing; somebody else wrote it")]
    Malformed {
        /// The database.
        path: PathBuf,
        /// Which column.
        column: &'static str,
        /// What it holds.
        value: String,
    },
    /// Anything else the database said.
    #[error("could not {doing} in {path}: {source}")]
    Database {
        /// The database.
        path: PathBuf,
        /// What was to be done.
        doing: &'static str,
        /// The database's words.
        source: sqlx::Error,
    },
}

impl Error {
    /// Turns what the driver said into what a person can act on.
    pub(crate) fn from_driver(path: &Path, doing: &'static str, source: sqlx::Error) -> Self {
        let path = path.to_owned();
        match sqlite::fault(&source) {
            sqlite::Fault::Busy => Self::Busy { path, seconds: sqlite::TIMEOUT.as_secs() },
            sqlite::Fault::Full => Self::Full { path },
            sqlite::Fault::ReadOnly => Self::ReadOnly { path },
            sqlite::Fault::Disk => Self::Disk { path, detail: words(&source) },
            sqlite::Fault::Corrupt => Self::Corrupt { path, detail: words(&source) },
            sqlite::Fault::CannotOpen => Self::Open { path, detail: words(&source) },
            sqlite::Fault::Other => Self::Database { path, doing, source },
        }
    }

    /// Turns a failure to make a file into what a person can act on.
    pub(crate) fn from_create(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            _ => Self::Create { path, source },
        }
    }
}

fn words(source: &sqlx::Error) -> String {
    source.as_database_error().map_or_else(|| source.to_string(), |error| error.message().to_owned())
}
