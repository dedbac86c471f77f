//! Works on the tasks of a server. A worker claims a task, makes a clone of its repository, runs the loop with the journal on
//! the server, pushes the tree of every iteration to the branch `ralph/<task>`, and reports the end. Another worker continues
//! the task of one that died, on any machine: from the journal and the branch.
//!
//! Reads no environment variable, home directory or terminal, and prints nothing.

mod commit;
mod crew;
mod end;
mod error;
mod git;
mod job;
mod lease;
mod place;
mod prompt;
mod publish;
mod report;
mod source;
mod worker;

pub use error::Error;
pub use report::WorkerEvent;
pub use worker::{Worker, WorkerOptions};
