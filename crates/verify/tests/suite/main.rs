//! Real runners on small projects: planted tests are reported by honest projects, and not by projects that cheat.
//!
//! `scripts/test-tools` installs the runners. A missing one fails its tests.

// Tests may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the tests run real runners on real files")]

mod bench;
mod go;
mod javascript;
mod node;
mod python;
mod rust;
