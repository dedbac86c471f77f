//! Which names of a folder matter to the globs, from memory while the folder's times vouch for them.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, statat};

use super::{LAYERS, Sort, Spot, Walk};
use crate::Error;
use crate::guard::Cover;
use crate::rules::Folder;
use crate::scan::{Directory, list};
use crate::stamp::Stamp;

/// What git keeps, in every folder that is a repository.
pub(super) const GIT: &[u8] = b".git";

pub(super) type Listing = HashMap<Vec<u8>, Listed>;

/// The names of a folder that matter.
pub(super) struct Listed {
    stamp: Stamp,
    names: Arc<Vec<Name>>,
}

/// A folder, or a file or link that matters. What the globs say depends on the path alone, so it is kept.
pub(super) struct Name {
    pub(super) name: CString,
    pub(super) kind: FileType,
    pub(super) marks: [Mark; LAYERS],
}

/// What the globs of one layer say about a name.
#[derive(Default)]
pub(super) struct Mark {
    /// The glob that covers a file, a link, or a folder or everything in it.
    pub(super) covering: Option<Arc<Cover>>,
    /// For a folder or link, the glob that covers what is in it.
    pub(super) inside: Option<Arc<Cover>>,
    /// For a folder or link, a glob that it leads to.
    pub(super) lead: Option<Arc<Cover>>,
}

impl Mark {
    /// The glob that makes a name matter.
    pub(super) fn any(&self) -> Option<&Arc<Cover>> {
        self.covering.as_ref().or(self.lead.as_ref())
    }

    /// Whether a glob names it or something in it.
    pub(super) fn is_watched(&self) -> bool {
        self.any().is_some()
    }
}

impl Walk<'_> {
    pub(super) fn names(
        &mut self,
        fd: BorrowedFd<'_>,
        stamp: Stamp,
        path: &[u8],
        spot: &Spot,
    ) -> Result<Arc<Vec<Name>>, Error> {
        if let Some(listed) = self.listing.get(path)
            && listed.stamp == stamp
        {
            return Ok(Arc::clone(&listed.names));
        }
        let listed = list(fd).map_err(|errno| self.failed(path, errno))?;
        let mut names: Vec<Name> =
            listed.into_iter().filter_map(|(name, kind)| self.name(path, name, kind, spot)).collect();
        names.sort_by(|left, right| left.name.cmp(&right.name));
        let names = Arc::new(names);
        self.listing.remove(path);
        if names.is_empty()
            && let Some(folder) = self.seen(path).filter(|folder| folder.stamp() == Some(stamp))
        {
            folder.set_plain_for(self.globs);
            self.found_plain = true;
        } else if !stamp.is_racy(self.started) && self.reliable == Some(stamp.device) {
            self.listing.insert(path.to_vec(), Listed { stamp, names: Arc::clone(&names) });
        }
        Ok(names)
    }

    /// What the globs say about a name; `None` when it does not matter.
    fn name(&self, folder: &[u8], name: CString, kind: FileType, spot: &Spot) -> Option<Name> {
        let bytes = name.as_bytes();
        let path = if folder.is_empty() { bytes.to_vec() } else { [folder, b"/", bytes].concat() };
        let mut marks: [Mark; LAYERS] = Default::default();
        let matters = match kind {
            FileType::RegularFile => {
                for (index, layer) in self.layers.iter().enumerate() {
                    marks[index].covering = layer.guard.cover(&path, Folder::No, spot.at[index].inside.as_ref());
                }
                false
            }
            FileType::Directory | FileType::Symlink => {
                let is_git = bytes == GIT;
                if folder.is_empty() && (is_git || bytes == b".ralph") {
                    return None;
                }
                for (index, layer) in self.layers.iter().enumerate() {
                    // Git's own files are free, unless they lie where nothing may be written.
                    if is_git && layer.sort == Sort::Pinned {
                        continue;
                    }
                    let above = spot.at[index].inside.as_ref();
                    marks[index] = Mark {
                        covering: layer.guard.folder_cover(&path, above),
                        inside: layer.guard.cover(&path, Folder::Yes, above),
                        lead: layer.guard.lead(&path),
                    };
                }
                // A link can put a file that steers a runner anywhere: all of them are known.
                !is_git && (kind == FileType::Directory || self.layers.iter().any(|layer| layer.sort == Sort::Pinned))
            }
            _ => {
                for (index, layer) in self.layers.iter().enumerate() {
                    if layer.sort == Sort::Prohibited {
                        marks[index].covering = layer.guard.cover(&path, Folder::No, spot.at[index].inside.as_ref());
                    }
                }
                false
            }
        };
        (matters || marks.iter().any(Mark::is_watched)).then_some(Name { name, kind, marks })
    }

    /// Whether nothing in a folder mattered at the last look and its times say that its names are the same: most folders
    /// are like that, and one call tells it where a look inside takes three.
    pub(super) fn is_unchanged_and_empty(&self, fd: BorrowedFd<'_>, name: &Name, path: &[u8]) -> bool {
        let seen = self.seen(path).filter(|folder| folder.is_plain_for(self.globs)).and_then(Directory::stamp);
        let listed = || self.listing.get(path).filter(|listed| listed.names.is_empty()).map(|listed| listed.stamp);
        match seen.or_else(listed) {
            Some(_) if seen.is_some() && self.has_looked => true,
            Some(stamp) => {
                statat(fd, &name.name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| Stamp::of(&stat) == stamp)
            }
            None => false,
        }
    }

    /// A folder of the tree, as the last scan saw it.
    fn seen(&self, path: &[u8]) -> Option<&Directory> {
        self.directory.find(path)
    }
}
