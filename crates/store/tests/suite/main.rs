//! The store among real processes: killed ones, racing ones, and a disk without room.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)] // a failed test is to stop at once

mod campaign;
mod conformance;
mod crash;
mod database;
mod full;
mod helper;
mod race;
mod remote;
mod server;
mod values;

use values::*;
