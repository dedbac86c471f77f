//! Configuration: what the flags, an approved `ralph.toml` and the user's own file say, put together into one loop.
//!
//! Everything but `read` and `load` is pure: paths, environment values and file contents come in as arguments. What a
//! repository says takes effect only through [`Repository`], and that type cannot be made to hold more than approval
//! allows.

pub(crate) mod agents;
mod choose;
mod error;
#[cfg(test)]
mod fixtures;
mod keys;
mod layer;
pub(crate) mod listed;
mod parse;
mod read;
mod repository;
mod resolve;

pub(crate) use choose::Layers;
pub(crate) use error::Error;
pub(crate) use keys::{Class, Key};
pub(crate) use layer::{Dollars, Layer, OneOrMore, Pause, Span};
pub(crate) use parse::{Document, Present, parse};
pub(crate) use read::{Links, read};
pub(crate) use repository::{Approval, FILE_NAME, Repository, RepositoryFile, hash};
pub(crate) use resolve::{Inputs, Resolved, caps, metrics_path, resolve};

/// The largest configuration file or skill that is read.
pub(crate) const MAX_BYTES: u64 = 256 * 1024;
