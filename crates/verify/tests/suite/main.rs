//! Real runners on small projects: planted tests are reported by honest projects, and not by projects that cheat.
//!
//! `cargo`, `python3` and `node` are expected. Other runners are used when they are found, or, with `RALPH_TEST_LONG=1`,
//! after they were installed into the target folder. What is missing is said aloud.

// Tests may fail loudly, and what they skip has to be seen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the tests run real runners on real files")]

mod bench;
mod go;
mod javascript;
mod node;
mod python;
mod rust;
