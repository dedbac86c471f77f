//! OpenCode: how it is called, and a reader of what it prints. Decides nothing.
//!
//! It prints an event a line on standard output, for its own session only, and no last one. Which model is asked, what is tried
//! again and what subagents use is in no event: the gateway sees it, and without that subagents are not permitted.

mod call;
mod error;
mod invocation;
mod kind;
pub(crate) mod models;
mod parser;
mod plugins;
pub(crate) mod settings;

use invocation::{environment, invocation};
pub(crate) use kind::KIND;
use plugins::foreign;

use crate::adapter::Parser;

/// A reader of what OpenCode prints, which asks this model.
pub(crate) fn parser(model: Option<String>) -> Box<dyn Parser> {
    Box::new(parser::Reader::new(model))
}

#[cfg(test)]
#[path = "opencode_tests.rs"]
mod tests;
