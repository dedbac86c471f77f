//! Real processes under a real reaper. Nothing here is simulated, so every bound on time is generous.
// Test helpers are not `#[test]` functions, where unwrapping and printing would be allowed anyway.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod feed;
mod host;
mod launcher;
mod limits;
mod outcomes;
mod output;
mod sandbox;
mod support;
mod trees;
