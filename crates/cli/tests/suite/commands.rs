//! Every command besides `run`, as people and scripts use it.

mod history;
mod reports;
mod setup;
