//! OpenCode: how it is called, and a reader of what it prints. Decides nothing.
//!
//! It prints an event a line on standard output, for its own session only, and no last one. What the events leave out is in
//! its log, which it is told to print on standard error: which model is asked, every request that is tried again, and
//! requests that no event shows.

mod call;
mod error;
mod invocation;
mod kind;
mod log;
mod parser;
mod patience;
mod plugins;
pub(crate) mod settings;

use invocation::{environment, invocation};
pub(crate) use kind::KIND;
use plugins::foreign;

use crate::adapter::Parser;

/// A reader of what OpenCode prints.
pub(crate) fn parser() -> Box<dyn Parser> {
    Box::new(parser::Reader::default())
}

#[cfg(test)]
#[path = "opencode_tests.rs"]
mod tests;
