//! The `fs_` tools. Every path is opened beneath the workspace; see [`root`].

mod change;
mod read;
mod root;
mod search;
mod walk;

use std::io;
use std::sync::Arc;

use crate::Services;
use crate::registry::Registry;
use root::Root;

/// Larger files are neither read nor searched.
const MAX_FILE: u64 = 16 << 20;

pub(crate) fn register(registry: &mut Registry, services: &Services) -> io::Result<()> {
    let root = Arc::new(Root::open(&services.workspace, Arc::clone(&services.prohibited))?);
    read::register(registry, &root);
    change::register(registry, &root);
    search::register(registry, &root);
    Ok(())
}

/// Whether a text is not for reading.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8 << 10).any(|byte| *byte == 0)
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
