//! Adds Ralph to the settings of coding agents, and removes exactly that again.
//!
//! ```text
//!  plan (client, scope) ──► pieces: a file of our own, or edits of a settings file
//!        pieces + files as they are ──► changes, to be shown ──► written, with a record for each file
//!        record + file as it is     ──► the file as it was, or a refusal
//! ```
//!
//! A file that has not changed since gets the bytes back that it had. In one that somebody changed only what is ours is removed,
//! and only where it is still as it was written.

mod apply;
mod diff;
mod json;
mod plan;
mod record;
mod settings;

pub use apply::{Change, Installer};
pub use diff::diff;
pub use plan::{Client, Places, Scope};

use std::io;
use std::path::PathBuf;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {why}\n  fix it, then try again; nothing was changed", .path.display())]
    Broken { path: PathBuf, why: String },

    #[error("{}: {what} is there already and is not Ralph's\n  rename or remove it, then try again; nothing was changed", .path.display())]
    Taken { path: PathBuf, what: String },

    #[error("{}: {what} was changed after Ralph added it\n  remove it yourself; nothing was changed", .path.display())]
    Altered { path: PathBuf, what: String },

    #[error("{}: is read-only\n  make it writable, then try again; nothing was changed", .path.display())]
    ReadOnly { path: PathBuf },

    #[error("{}: {what}\n  nothing was changed", .path.display())]
    NotOrdinary { path: PathBuf, what: &'static str },

    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}
