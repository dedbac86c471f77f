//! The compiled program, used as a person or a script uses it: real git, real processes, real SQLite, a scripted agent.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    missing_docs,
    unreachable_pub,
    reason = "tests panic with what went wrong"
)]

mod aid;
mod fake;
mod harness;

// Durability and supervision.
mod activation;
mod afterwards;
mod attacks;
mod closed_network;
mod crash;
mod database;
mod distrust;
mod flood;
mod gateway;
mod interrupt;
mod journals;
mod lock;
mod money;
mod stops;
mod survivors;

// Agents of several kinds, and several agents.
mod agents;
mod crew;
mod race;
mod reach;

// Loops in a session of the user's own.
mod session;

// Manners, words and surroundings.
mod commands;
mod completion;
mod git_manners;
mod json_keys;
mod logging;
mod mcp;
mod prohibited;
mod prompts;
mod refusals;
mod server;
mod surroundings;
mod traces;
mod trust;
mod worker;
