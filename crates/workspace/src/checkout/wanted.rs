//! What a checkout is to hold: a tree with some paths otherwise. Touches no file of the checkout.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;

use crate::difference::list;
use crate::git::Git;
use crate::object::{Files, Id, Kind, Mode, tree_of};
use crate::placement::path_of;
use crate::scan::MARKER_ID;
use crate::store::Store;
use crate::{Error, Placement};

/// Files and links by path.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) files: BTreeMap<Vec<u8>, Want>,
    /// Every folder on the way to one.
    pub(super) folders: HashSet<Vec<u8>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Want {
    pub(super) mode: Mode,
    pub(super) permissions: u32,
    pub(super) id: Id,
    pub(super) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Tree,
    Overlay(usize),
}

impl Wanted {
    pub(super) fn new(store: &Store, git: &Git, tree: &Id, overlay: &[(String, Placement)]) -> Result<Self, Error> {
        let mut files = BTreeMap::new();
        for (path, mode, id) in list(store, git, tree)? {
            // What could not be read is not known, and nothing stands for it.
            if id != *MARKER_ID && !store.is_large(&id) {
                let permissions = if mode == Mode::Executable { 0o755 } else { 0o644 };
                files.insert(path, Want { mode, permissions, id, source: Source::Tree });
            }
        }
        for (number, (path, placement)) in overlay.iter().enumerate() {
            let bytes = path_of(path)?;
            let source = Source::Overlay(number);
            let want = match placement {
                Placement::Absent => None,
                Placement::File { content, mode } => {
                    let (permissions, id) = (mode & 0o7777, Id::of(Kind::Blob, content));
                    Some(Want { mode: Mode::of_permissions(*mode), permissions, id, source })
                }
                Placement::Link { target } => {
                    Some(Want { mode: Mode::Link, permissions: 0, id: Id::of(Kind::Blob, target), source })
                }
            };
            place(&mut files, bytes, want);
        }
        let mut folders = HashSet::new();
        for path in files.keys() {
            let mut rest = &path[..];
            while let Some(slash) = rest.iter().rposition(|byte| *byte == b'/') {
                rest = &rest[..slash];
                if !folders.insert(rest.to_vec()) {
                    break;
                }
            }
        }
        Ok(Self { files, folders })
    }

    pub(super) fn tree(&self) -> Id {
        let files: Files = self.files.iter().map(|(path, want)| (path.clone(), (want.mode, want.id))).collect();
        match tree_of(&files, &mut |_, _| Ok::<(), Infallible>(())) {
            Ok(id) => id,
            Err(never) => match never {},
        }
    }
}

/// Puts one path of the overlay over what is there: what is below it, and what would have to be a folder, gives way.
fn place(files: &mut BTreeMap<Vec<u8>, Want>, path: Vec<u8>, want: Option<Want>) {
    let below = [&path[..], b"/"].concat();
    let hidden: Vec<Vec<u8>> = files
        .range(below.clone()..)
        .map(|(path, _)| path)
        .take_while(|path| path.starts_with(&below))
        .cloned()
        .collect();
    for path in hidden {
        files.remove(&path);
    }
    match want {
        None => drop(files.remove(&path)),
        Some(want) => {
            for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                files.remove(&path[..at]);
            }
            files.insert(path, want);
        }
    }
}
