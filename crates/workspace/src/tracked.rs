//! Paths that belong to the tree although they are ignored. Tracked stays tracked.

use std::collections::HashSet;

/// A set of paths that also knows their folders.
#[derive(Default)]
pub(crate) struct Tracked {
    files: HashSet<Box<[u8]>>,
    folders: HashSet<Box<[u8]>>,
}

impl Tracked {
    pub(crate) fn add(&mut self, path: &[u8]) {
        if !self.files.insert(path.into()) {
            return;
        }
        let mut rest = path;
        while let Some(slash) = rest.iter().rposition(|byte| *byte == b'/') {
            rest = &rest[..slash];
            if !self.folders.insert(rest.into()) {
                break;
            }
        }
    }

    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.files.contains(path)
    }

    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        self.folders.contains(folder)
    }
}

#[cfg(test)]
#[path = "tracked_tests.rs"]
mod tests;
