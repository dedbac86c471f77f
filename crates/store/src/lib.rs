//! What Ralph must not lose: journals, the list of loops, the day's money, stop requests and trusted content.
//!
//! Knows an event as a kind, a version and JSON text. Decides nothing about a loop, looks at no clock and never reads an
//! event's meaning. Several Ralph processes share one file; every change is one transaction that is on disk when the
//! call returns.

mod budget;
mod chain;
mod error;
mod journal;
mod loops;
mod schema;
mod sqlite;
mod stops;
mod store;
mod trust;

#[cfg(test)]
mod testing;

pub use budget::{DayTotals, MoneyChange, OpenReservation, Pool, Reservation, Settlement};
pub use chain::{Break, Broken, Hash, Head, NewEvent, ParseHash, Recorded, Seq};
pub use error::{Error, Result};
pub use journal::{ChainReport, Quarantine};
pub use loops::{Filter, Found, LoopEntry, LoopStatus, LoopSummary, NewLoop, ParseLoopStatus};
pub use stops::StopMode;
pub use store::Store;
pub use trust::Trusted;
