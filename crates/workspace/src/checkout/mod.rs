//! A folder of Ralph's own that is made equal to a tree, again and again, for checks that run apart from the workspace.
//!
//! What is equal keeps its times, so that builds stay incremental. What checks make is kept where the tree ignores it or
//! where its folder has the name of dependencies or build output; everything else that is not in the tree goes. A file
//! counts as equal only while its stamp is the one that was left behind, since the checks run code that an agent wrote.
//!
//! The folder is an ordinary one: a second [`Workspace`] with a state of its own can be opened on
//! [`Checkout::root`] and guards it like any other.

mod survey;
mod wanted;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_model::{Change, ChangeKind, TreeHash};
use rustix::fs::AtFlags;
use survey::{Extra, Left, Survey};
use wanted::{Source, Want, Wanted};

use crate::guard::write_durably;
use crate::object::{Id, Kind, Mode};
use crate::place::{Permissions, Place};
use crate::placement::path_of;
use crate::quote::quote;
use crate::rules::{Outside, Rules};
use crate::scan::{encode_list, load_list};
use crate::stamp::Instant;
use crate::store::make_private_folder;
use crate::{Error, Placement, StopFlag, Workspace};

/// A folder that is made equal to trees.
pub struct Checkout {
    root: PathBuf,
    /// Device and inode: a check can put another folder, or a link to one, in its place.
    identity: (u64, u64),
    /// Where what was left behind is kept for the next process: what its stamp vouches for, and the rest.
    caches: [PathBuf; 2],
    left: HashMap<Vec<u8>, Left>,
    wanted: Wanted,
    rules: HashMap<Id, Arc<Rules>>,
    outside: Outside,
    stop: StopFlag,
}

/// What was done to make a checkout equal to a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// Files and links that were written, as in [`Change`], sorted.
    pub written: Vec<String>,
    /// Files and links that were removed, sorted.
    pub removed: Vec<String>,
    /// The tree that is there now: the one that was asked for, with the overlay.
    pub tree: TreeHash,
}

impl Checkout {
    /// Opens the checkout in a folder, making it where it is missing. What is known about it is kept in `state`, outside the
    /// folder and out of the reach of checks. A folder that has something in it and is not known is refused.
    pub fn open(dir: &Path, state: &Path) -> Result<Self, Error> {
        make_private_folder(state)?;
        make_private_folder(dir)?;
        let found = fs::symlink_metadata(dir).map_err(Error::io("open", dir))?;
        let identity = (found.dev(), found.ino());
        let known = state.join("place");
        let text = format!("{} {}\n", identity.0, identity.1);
        let is_known = fs::read_to_string(&known).is_ok_and(|known| known == text);
        let is_empty = || fs::read_dir(dir).map(|mut entries| entries.next().is_none());
        if !found.is_dir() || (!is_known && !is_empty().map_err(Error::io("open", dir))?) {
            return Err(Error::NotACheckout { path: dir.to_owned() });
        }
        let root = dir.canonicalize().map_err(Error::io("open", dir))?;
        let caches = [state.join("left"), state.join("left-just-now")];
        let mut left = HashMap::new();
        if is_known {
            for (cache, racy) in caches.iter().zip([false, true]) {
                left.extend(load_list(cache).into_iter().map(|(path, stamp, id)| (path, Left { stamp, id, racy })));
            }
        } else {
            write_durably(&known, text.as_bytes())?;
        }
        let (wanted, rules, outside) = (Wanted::default(), HashMap::new(), Outside::default());
        Ok(Self { root, identity, caches, left, wanted, rules, outside, stop: StopFlag::default() })
    }

    /// The folder, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the folder equal to a tree of a workspace with some paths otherwise. Files with other content are modified just
    /// now; the others are as they were left.
    pub fn sync(
        &mut self,
        workspace: &Workspace,
        tree: &TreeHash,
        overlay: &[(String, Placement)],
    ) -> Result<Synced, Error> {
        let place = self.place()?;
        let (store, git) = (&workspace.store, &workspace.git);
        let wanted = Wanted::new(store, git, &Id::parse(&tree.0)?, overlay)?;
        for (path, want) in wanted.files.iter().filter(|(path, _)| path.ends_with(b".gitignore")) {
            if want.mode.is_regular() && !self.rules.contains_key(&want.id) {
                let content = self.content(workspace, path, want, overlay)?;
                self.rules.insert(want.id, Arc::new(Rules::parse(&content)));
            }
        }
        self.outside = workspace.outside.clone();
        self.stop = workspace.stop.clone();
        let poll = self.stop.step();
        let survey = Survey::make(&place, &wanted, &self.left, &self.rules, &self.outside, self.stop.step())?;
        let extra = survey.extra.iter().map(|extra| match extra {
            Extra::File(path) => (&path[..], AtFlags::empty()),
            Extra::Folder(path) => (&path[..], AtFlags::REMOVEDIR),
        });
        place.remove_each(extra, &poll)?;
        let mut removed: Vec<String> = survey.files().map(quote).collect();
        // What was put there goes even from a folder that is kept, where a look at the tree alone passes by.
        let absent = overlay.iter().filter(|(_, placement)| *placement == Placement::Absent);
        let absent = absent.map(|(path, _)| path_of(path)).collect::<Result<Vec<_>, _>>()?;
        for path in self.left.keys().chain(&absent).filter(|path| !wanted.files.contains_key(*path)) {
            if place.has_file(path)? {
                place.remove(path)?;
                removed.push(quote(path));
            }
        }
        let mut left: HashMap<Vec<u8>, Left> = survey.good.into_iter().collect();
        let mut written = Vec::new();
        for path in survey.bad.iter().map(|(path, _)| path).chain(&survey.touched) {
            let Some(want) = wanted.files.get(path) else { continue };
            poll.check()?;
            let content = self.content(workspace, path, want, overlay)?;
            match want.mode {
                Mode::Link => place.write_link(path, &content)?,
                _ => place.write_file(path, &content, Permissions::Exact(want.permissions))?,
            }
            left.insert(path.clone(), Self::stamp(&place, path, want.id)?);
            written.push(quote(path));
        }
        written.sort();
        removed.sort();
        let tree = TreeHash(wanted.tree().hex());
        (self.left, self.wanted) = (left, wanted);
        self.save()?;
        Ok(Synced { written, removed, tree })
    }

    /// What differs from the tree that [`Checkout::sync`] named, sorted by path; files that nothing says to ignore count as
    /// added. Empty means that the folder still holds that tree. Before the first sync of this process everything counts as
    /// added.
    pub fn changed(&self) -> Result<Vec<Change>, Error> {
        let survey =
            Survey::make(&self.place()?, &self.wanted, &self.left, &self.rules, &self.outside, self.stop.step())?;
        let bad = survey.bad.iter().map(|(path, kind)| Change { path: quote(path), kind: *kind });
        let extra = survey.files().map(|path| Change { path: quote(path), kind: ChangeKind::Added });
        let mut changes: Vec<Change> = bad.chain(extra).collect();
        changes.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(changes)
    }

    /// The folder as a place to change files in, if it still is the folder that was opened.
    fn place(&self) -> Result<Place, Error> {
        let place = Place::open(&self.root)?;
        if place.identity()? == self.identity { Ok(place) } else { Err(Error::Replaced { path: self.root.clone() }) }
    }

    fn content(
        &self,
        workspace: &Workspace,
        path: &[u8],
        want: &Want,
        overlay: &[(String, Placement)],
    ) -> Result<Vec<u8>, Error> {
        let missing = || Error::Placement { path: quote(path), why: "its content no longer exists" };
        match want.source {
            Source::Tree => workspace.store.read(&workspace.git, Kind::Blob, &want.id),
            Source::Overlay(number) => match overlay.get(number).map(|(_, placement)| placement) {
                Some(Placement::File { content, .. }) => Ok(content.clone()),
                Some(Placement::Link { target }) => Ok(target.clone()),
                Some(Placement::Absent) | None => Err(missing()),
            },
        }
    }

    /// What was just written, to be recognised by.
    fn stamp(place: &Place, path: &[u8], id: Id) -> Result<Left, Error> {
        let stamp = place.stamp(path)?;
        Ok(Left { stamp, id, racy: stamp.is_racy(Instant::now()) })
    }

    /// Without it the next process compares contents.
    fn save(&self) -> Result<(), Error> {
        for (cache, racy) in self.caches.iter().zip([false, true]) {
            let left = self.left.iter().filter(|(_, left)| left.racy == racy);
            let bytes = encode_list(left.map(|(path, left)| (&path[..], &left.stamp, &left.id)));
            let temporary = cache.with_extension("part");
            let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, cache));
            written.map_err(|error: io::Error| Error::io("write", cache)(error))?;
        }
        Ok(())
    }
}
