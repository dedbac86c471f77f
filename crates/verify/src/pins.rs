//! Says what a verdict depends on besides its commands, and compares files of which only parts count. Reads the workspace's
//! files and writes nothing; executes nothing.
//!
//! Pins are lines of a `.gitignore` with a kind: of several that match a path the last one counts, and a line that
//! begins with `!` takes a path out again. [`PinSet`] reads them so.

mod computed;
mod expand;
mod format;
mod json;
mod listed;
mod named;
mod parts;
pub(crate) mod path;
mod pinset;
mod programs;
mod question;
mod runner;
mod rust_items;
mod settings;
mod sources;
mod stack;
#[cfg(test)]
mod testing;
mod words;

pub use expand::{Expanded, expand};
pub use format::{same_but_for_format, same_but_for_packages};
pub(crate) use named::executed_files;
pub use parts::{NoOthers, Others, Parts, Rest, compare_new, compare_parts, new_judges, without_new_tests};
pub use pinset::{PinSet, allows};
pub use programs::{Program, changed_programs, programs};
pub(crate) use question::starts;
pub use question::{Answer, Question, pins};
pub use runner::only_runner;
pub(crate) use runner::started_by;
pub use sources::Sources;
pub(crate) use words::{Simple, commands};
