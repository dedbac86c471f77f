//! Tools that start programs or talk to others.

#![allow(clippy::unwrap_used, reason = "tests")]

mod git;
mod shell;
mod support;
