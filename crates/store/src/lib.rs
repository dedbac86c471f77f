//! What Ralph must not lose: journals, the list of runs, the day's money, stop requests, trusted content, and the board with
//! its tasks.
//!
//! Knows an event as a kind, a version and JSON text. Decides nothing about a run, looks at no clock and never reads an
//! event's meaning. Several Ralph processes share one database; every change is one transaction that is durable when the
//! call returns.

mod artifact;
mod attempt;
mod board;
mod chain;
mod changes;
mod error;
mod money;
pub mod remote;
mod run;
mod sql;
mod store;

#[cfg(test)]
mod testing;

pub use artifact::{Artifact, ArtifactKind, PATCHES, patch_name};
pub use attempt::{AttemptEntry, Metering, NewAttempt};
pub use board::{
    AgentEntry, Approval, ApprovalStatus, Claim, Claimed, Progress, Reminder, Renewed, Role, Schedule, StatusCount,
    TaskChange, TaskEnd, TaskEvent, TaskFilter, TaskHolder, TaskLease, Token,
};
pub use chain::{Break, Broken, Hash, Head, NewEvent, ParseHash, Recorded, Seq};
pub use changes::{Change, Changes};
pub use error::{Error, Result};
pub use money::{DayTotals, OpenReservation, Pool, Reservation, Reserve};
pub use run::{
    Append, Epoch, Filter, Hint, Lease, LeaseHolder, Lookup, Machine, NewRun, ParseRunStatus, RunEntry, RunStatus,
    RunSummary, Settlement, StopMode,
};
pub use sql::postgres::open_postgres;
pub use sql::sqlite::{open_existing_sqlite, open_sqlite};
pub use sql::{BoardHandle, Database, SqlStore};
pub use store::{ChainReport, Quarantine, Store, StoreHandle, Trusted};
