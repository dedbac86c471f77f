//! This machine: where Ralph keeps things, what agents and checks find in their environment, what they may write, which
//! agents are here, and everything that a run needs from outside.
//!
//! Reads no environment variable, home directory or terminal: the program passes what it found as [`HostInput`].

pub mod agents;
mod crew;
pub mod database;
mod decide;
mod dirs;
mod environment;
mod error;
mod host;
mod level;
mod liveness;
mod models;
mod once;
mod own_models;
mod preflight;
mod prepare;
mod sandbox;
mod session;
mod start;
mod task_files;
mod tools;
mod traces;
mod trial;

pub use crew::{CrewEdges, CrewRequest};
pub use decide::{DecideRequest, Decided};
pub use dirs::{DatabaseChoice, Dirs, NoHome};
pub use error::Error;
pub use host::{ForAgents, GUARD, Host, HostInput, REAPER, find_program, this_machine};
pub use liveness::Liveness;
pub use once::OnePass;
pub use prepare::{existing_folder, workspace};
pub use start::{Opened, Prepared, RunRequest};
pub use task_files::{Checkpoints, Claim, Claims, TaskFile, TaskFiles};
pub use trial::Trial;
