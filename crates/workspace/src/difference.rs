//! What differs between two trees. Reads objects only, never the workspace.

use std::collections::BTreeMap;

use ralph_model::{Change, ChangeKind};

use crate::Error;
use crate::git::Git;
use crate::object::{Entry, Id, Mode};
use crate::quote::quote;
use crate::store::Store;

/// What one tree has at a path.
type Side = Option<(Mode, Id)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: Vec<u8>,
    pub(crate) old: Side,
    pub(crate) new: Side,
}

impl Difference {
    pub(crate) fn kind(&self) -> ChangeKind {
        match (self.old, self.new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            (Some((old, before)), Some((new, after))) if before == after && old.is_regular() && new.is_regular() => {
                ChangeKind::Mode
            }
            (Some(_), Some(_)) => ChangeKind::Modified,
        }
    }

    pub(crate) fn change(&self) -> Change {
        Change { path: quote(&self.path), kind: self.kind() }
    }
}

/// Every file and link that differs, sorted by path.
pub(crate) fn compare(store: &Store, git: &Git, old: &Id, new: &Id) -> Result<Vec<Difference>, Error> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), Some(*old), Some(*new))];
    while let Some((folder, old, new)) = open.pop() {
        if old == new {
            continue;
        }
        let entries = |tree: Option<Id>| tree.map(|tree| store.tree(git, &tree)).transpose();
        let sides = [entries(old)?, entries(new)?];
        let mut names: BTreeMap<&[u8], [Side; 2]> = BTreeMap::new();
        for (side, entries) in sides.iter().enumerate() {
            for Entry { name, mode, id } in entries.iter().flat_map(|entries| entries.iter()) {
                names.entry(name).or_default()[side] = Some((*mode, *id));
            }
        }
        for (name, [old, new]) in names {
            if old == new {
                continue;
            }
            let path = [&folder[..], name].concat();
            // A folder on one side and a file on the other is all of the folder and the file.
            let tree = |side: Side| side.filter(|(mode, _)| *mode == Mode::Tree).map(|(_, id)| id);
            let file = |side: Side| side.filter(|(mode, _)| *mode != Mode::Tree);
            if tree(old).is_some() || tree(new).is_some() {
                open.push(([&path[..], b"/"].concat(), tree(old), tree(new)));
            }
            if file(old).is_some() || file(new).is_some() {
                found.push(Difference { path, old: file(old), new: file(new) });
            }
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(found)
}

/// Every file and link of a tree, sorted by path.
pub(crate) fn list(store: &Store, git: &Git, tree: &Id) -> Result<Vec<(Vec<u8>, Mode, Id)>, Error> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), *tree)];
    while let Some((folder, tree)) = open.pop() {
        for Entry { name, mode, id } in store.tree(git, &tree)?.iter() {
            let path = [&folder[..], name].concat();
            if *mode == Mode::Tree {
                open.push(([&path[..], b"/"].concat(), *id));
            } else {
                found.push((path, *mode, *id));
            }
        }
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(found)
}
