//! The real agent programs, each pointed at a scripted model on loopback. Only with the feature `clients`, and with
//! `RALPH_TEST_CLIENTS` naming the folder of their programs: `scripts/test --clients` sees to both.

// A test may fail loudly, and this is no library.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod client;
mod crew;
mod endings;
mod faults;
#[path = "../suite/harness.rs"]
#[expect(dead_code, reason = "shared with a suite that uses more of it")]
mod harness;
mod install;
mod isolation;
mod loops;
mod mcp;
mod money;
mod place;
mod prices;
#[path = "../suite/mcp/server.rs"]
#[expect(dead_code, reason = "shared with a suite that uses more of it")]
mod server;
mod session;
mod wire;
