//! Real folders, real git, real processes.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)] // A test that cannot go on should stop with a backtrace.

mod agents;
mod checkout;
mod commits;
mod deep;
mod guard;
mod ignored;
mod large;
mod lock;
mod pins;
mod property;
mod reported;
mod repository;
mod restore;
mod snapshot;
mod stop;
mod support;
mod unreadable;
mod untracked;
