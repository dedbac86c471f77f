//! Where the paths of a sandbox really lead, and whether they can be had together. Changes nothing.

use std::path::{Path, PathBuf};

use crate::wire::Jail;

/// Paths of a sandbox that cannot be had together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unenforceable {
    #[error("{path} is listed as both hidden and writable: remove it from one of the lists")]
    Contradiction { path: PathBuf },
    #[error(
        "{hidden} cannot be protected, because it is below {writable}, which the program may write: \
         move one of the two, or install bubblewrap"
    )]
    Exposed { hidden: PathBuf, writable: PathBuf },
}

/// The same with paths that lead through no links, each of which exists and says something that none of the others says.
pub(crate) fn plan(jail: &Jail) -> Result<Jail, Unenforceable> {
    let hidden = resolved(&jail.hidden);
    // Before links are followed as well: what is below another entry may be a link that an earlier program put there.
    let writable = without_nested(&resolved(&without_nested(&jail.writable, &jail.hidden)), &hidden);
    if let Some(path) = writable.iter().find(|path| hidden.contains(path)) {
        return Err(Unenforceable::Contradiction { path: path.clone() });
    }
    if jail.bubblewrap.is_none() && !jail.own_mounts && jail.landlock.is_some() {
        for hidden in &hidden {
            if let Some(writable) = writable.iter().find(|writable| hidden.starts_with(writable)) {
                return Err(Unenforceable::Exposed { hidden: hidden.clone(), writable: writable.clone() });
            }
        }
    }
    Ok(Jail { writable, hidden, ..jail.clone() })
}

/// Those that exist, where they really are. What cannot be looked up cannot be written by the program either.
fn resolved(paths: &[PathBuf]) -> Vec<PathBuf> {
    // Many do not exist, which one call tells; to resolve a path takes one for each of its parts.
    let existing = paths.iter().filter(|path| path.exists());
    let mut paths: Vec<PathBuf> = existing.filter_map(|path| path.canonicalize().ok()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Those that are not below another one already, unless something between the two is hidden.
fn without_nested(paths: &[PathBuf], hidden: &[PathBuf]) -> Vec<PathBuf> {
    let covers = |outer: &Path, inner: &Path| {
        inner != outer
            && inner.starts_with(outer)
            && !hidden.iter().any(|hidden| inner.starts_with(hidden) && hidden.starts_with(outer))
    };
    paths.iter().filter(|inner| !paths.iter().any(|outer| covers(outer, inner))).cloned().collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
