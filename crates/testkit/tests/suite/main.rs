//! Real processes, real repositories, real test runners.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)] // A test that cannot go on has failed.

mod agent;
mod children;
mod fixtures;
mod http;
mod model;
mod repositories;
mod support;
