//! The workspace of a loop: snapshots in a git directory of Ralph's own, changed files, the guard over prohibited paths,
//! the files that a verdict depends on, the lock, and manners towards the user's repository.
//!
//! What a verdict depends on is known in three steps. [`Pins`] say which files that are; [`Workspace::pins_baseline`]
//! remembers them, and [`Workspace::snapshot_guarded`] finds in one pass what became of them and of the prohibited ones. What an
//! [`Offence`] wants restored goes in with [`Workspace::swap_in`] while the checks run, and out again with
//! [`Workspace::swap_out`], also after a crash. Or the checks run in a [`Checkout`], which takes the same [`Placement`]s as
//! an overlay over the agent's tree.
//!
//! Synchronous: callers run it on a thread that may block. It reads no environment variable and no home directory, and
//! nothing of what a repository configures is ever executed.

mod checkout;
mod content;
mod descent;
mod difference;
mod error;
mod exclude;
mod git;
mod gitdir;
mod guard;
mod lock;
mod object;
mod own;
mod place;
mod placement;
mod quote;
pub mod repository;
mod rules;
mod scan;
mod stamp;
mod stop;
mod store;
mod swap;
mod tracked;
mod untracked;
mod workspace;

pub use checkout::{Checkout, Synced};
pub use error::Error;
pub use exclude::{Excluded, exclude_ralph_folder};
pub use guard::{Baseline, Guard, Offence, PinBaseline, Pins, leads_into};
pub use lock::{Holder, Lock, LockError, holder};
pub use own::OwnFolder;
pub use placement::Placement;
pub use repository::Repository;
pub use stop::StopFlag;
pub use swap::Since;
pub use workspace::{Labelled, Options, Snapshot, Workspace};
