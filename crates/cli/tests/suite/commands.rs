//! Every command besides `run`, as people and scripts use it.

mod everyday;
mod history;
mod reports;
mod setup;
