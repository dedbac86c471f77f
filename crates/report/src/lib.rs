//! Metrics: one line per finished loop, a summary over many of them, and the report that people read.
//!
//! Reads and writes the files it is told to. Knows nothing of running loops and looks at no clock.

pub mod chart;

mod alert;
mod date;
mod error;
mod lines;
mod markdown;
mod record;
mod summary;
mod tally;
mod write;

pub use alert::{Alert, COMPLETION_TARGET, STALL_TARGET};
pub use date::day_start;
pub use error::{Error, Result};
pub use lines::{Read, append, read};
pub use markdown::{Heading, markdown};
pub use record::{Record, Status};
pub use summary::{Day, Group, Summary};
pub use tally::{Rate, Spread};
pub use write::write;

#[cfg(test)]
#[path = "testing_tests.rs"]
mod testing;
