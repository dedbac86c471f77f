//! Makes failing tests in the form of a project's runner, and judges whether checks reported them.
//!
//! Works on texts that are handed in. Reads and writes no file, starts nothing, draws no random numbers of its own.
//!
//! A planted test has a *mark*: a name of harmless words, such as `hazel_river_40711`. A report of its failure shows the
//! mark as the name of a failing test, or the mark's *message*, which the planted code puts together only when it fails
//! and which therefore stands in no source line that a runner might quote.

mod command;
mod go;
mod javascript;
mod judge;
mod mention;
mod names;
mod plant;
mod project;
mod python;
mod rust;
mod text;

pub use judge::{Judgement, Seen, Why, judge};
pub use mention::mentions;
pub use plant::{File, Plant, Presence, Stops, plants};
