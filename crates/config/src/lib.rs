//! Configuration: what the caller, an approved `ralph.toml` and the user's own file say, put together into one loop.
//!
//! Everything but `read` and `load` is pure: paths, environment values and file contents come in as arguments. What a
//! repository says takes effect only through [`Repository`], and that type cannot be made to hold more than approval
//! allows.

pub mod agents;
mod choose;
mod effective;
mod error;
#[cfg(test)]
#[path = "fixtures_tests.rs"]
mod fixtures;
mod json;
mod keys;
mod layer;
mod location;
mod parse;
mod read;
mod repository;
mod resolve;
mod schema;
pub mod skills;
mod spelling;
pub mod trust;
mod user;

pub use choose::{Layers, writable_paths};
pub use effective::{Effective, effective};
pub use error::Error;
pub use keys::{Class, Key, ValueKind, meant};
pub use layer::{
    CapsTable, CrewTable, Dollars, Layer, McpTable, ModelTable, NamedAgent, NotifyTable, OneOrMore, Pause, Places,
    PriceTable, Span, WebTable, Whose,
};
pub use location::Location;
pub use parse::{Document, Present, parse};
pub use ralph_agents::files::Links;
pub use read::read;
pub use repository::{Approval, FILE_NAME, Repository, RepositoryFile, hash};
pub use resolve::{Inputs, Origin, Resolved, RunSettings, Source, caps, metrics_path, resolve, resolve_access};
pub use schema::{Owner, schema};
pub use spelling::Spelling;
pub use user::{read_user, read_user_document};

/// The largest configuration file or skill that is read.
pub const MAX_BYTES: u64 = 256 * 1024;
