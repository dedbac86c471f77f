//! The workspace of a loop: snapshots in a git directory of Ralph's own, changed files, the guard over prohibited paths,
//! the lock, and manners towards the user's repository.
//!
//! Synchronous: callers run it on a thread that may block. It reads no environment variable and no home directory, and
//! nothing of what a repository configures is ever executed.

mod difference;
mod error;
mod exclude;
mod git;
mod gitdir;
mod guard;
mod lock;
mod object;
mod place;
mod quote;
pub mod repository;
mod rules;
mod scan;
mod stamp;
mod store;
mod tracked;
mod workspace;

pub use error::Error;
pub use exclude::{Excluded, exclude_ralph_folder};
pub use guard::{Baseline, Guard};
pub use lock::{Holder, Lock, LockError, holder};
pub use repository::Repository;
pub use workspace::{Labelled, Options, Snapshot, Workspace};
