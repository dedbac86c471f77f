//! Tools that start programs or talk to others.

// Helpers are no tests, in which unwrapping would be allowed anyway.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod board;
mod git;
mod mcp;
mod messages;
mod receiver;
mod shell;
mod support;
mod web;
