//! Supervises one process tree: starts it, records what it prints, and sees to it that nothing of it is left.
//! Decides nothing about what an outcome means, and reads no environment variable, home directory or terminal.
//!
//! ```text
//!   Supervisor ──► launcher ──fork──► reaper ──fork──► program ──► its tree
//!       ▲ ▲                             │  (subreaper: orphans of the tree become its children)
//!       │ └─────────── socket ──────────┘
//!       └──── stdout, stderr: bytes → (ChunkCodec) → no escapes → Redactor → sanitised text → log, tails, observer
//! ```
//!
//! - One launcher for all runs is the program executed once more; see there. One socket joins supervisor and reaper: the request with its descriptors goes down, then orders; reports come up. A socket
//!   that closes is a message of its own: to the reaper that Ralph died, to the supervisor that the reaper did.
//! - The reaper says that the program *ended* before it says that the tree is *gone*; only then does a run finish.
//! - A program in a [`Sandbox`] is confined between fork and exec, by a stage of its own; see there.
//! - The end of a pipe is never waited for: a process outside the tree may hold its other end for ever.

mod bridge;
mod error;
mod feed;
mod idle;
mod launch;
mod launcher;
mod live;
mod log;
mod outlet;
mod output;
mod pace;
mod plumbing;
mod reaper;
mod sandbox;
mod spec;
mod supervisor;
mod sweep;
mod tail;
mod tree;
mod wire;

pub use error::Error;
pub use feed::{Feed, FeedError, Feeder, feed};
pub use log::Log;
pub use reaper::reaper_main;
pub use sandbox::{Files, Level, Network, NetworkLevel, ReadLevel, Sandbox, Unenforceable, probe};
pub use spec::{Finished, Pieces, ReaperProgram, Recorded, Spec, Stdin, Stop, Stream};
pub use supervisor::Supervisor;
pub use sweep::TREE_VARIABLE;
