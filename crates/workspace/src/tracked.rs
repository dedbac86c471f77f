//! Paths that belong to the tree although they are ignored. Tracked stays tracked.

use std::collections::HashSet;

use sha1::{Digest as _, Sha1};

use crate::object::Id;
use crate::rules::update_part;

/// A set of paths that also knows their folders. Most scans ask for none, so that lists are read when one does.
#[derive(Default)]
pub(crate) struct Tracked {
    lists: Vec<(Vec<u8>, Vec<u8>)>,
    hash: Sha1,
    files: HashSet<Box<[u8]>>,
    folders: HashSet<Box<[u8]>>,
}

impl Tracked {
    /// Adds those of the paths, between which are zero bytes, that begin with the prefix, without it.
    pub(crate) fn add_list(&mut self, mut paths: Vec<u8>, prefix: Vec<u8>) {
        // Git writes one after the last path, too.
        paths.pop_if(|byte| *byte == 0);
        update_part(&mut self.hash, &prefix);
        update_part(&mut self.hash, &paths);
        let list = (paths, prefix);
        // The start of a loop is usually what the index tracks.
        if !self.lists.contains(&list) {
            self.lists.push(list);
        }
    }

    /// Tells these lists from others.
    pub(crate) fn hash(&self) -> Id {
        Id(self.hash.clone().finalize().into())
    }

    fn read(&mut self) {
        for (paths, prefix) in std::mem::take(&mut self.lists) {
            let paths = paths.split(|byte| *byte == 0).filter_map(|path| path.strip_prefix(&prefix[..]));
            paths.filter(|path| !path.is_empty()).for_each(|path| self.add(path));
        }
    }

    fn add(&mut self, path: &[u8]) {
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

    pub(crate) fn has(&mut self, path: &[u8]) -> bool {
        self.read();
        self.files.contains(path)
    }

    pub(crate) fn has_below(&mut self, folder: &[u8]) -> bool {
        self.read();
        self.folders.contains(folder)
    }
}

#[cfg(test)]
#[path = "tracked_tests.rs"]
mod tests;
