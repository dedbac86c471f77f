//! One set of globs in a walk: what it compares with and what it found.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::names::Mark;
use super::{At, Reach, Spot};
use crate::Error;
use crate::guard::baseline::{Baseline, Bulk, Bytes, Record, Through, What};
use crate::guard::{Cover, Guard};
use crate::quote::quote;

/// A link can lead to anything, such as the whole file system, and all of it would be copied.
const MAX_BEHIND_LINKS: usize = 50_000;
const MAX_BYTES_BEHIND_LINKS: u64 = 256 << 20;

/// What the files of a set of globs are looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::guard) enum Sort {
    /// An agent must leave them alone: permissions of folders count, and a link that leads to too much is refused.
    Prohibited,
    /// A verdict depends on them: every link is known, and what is too much is not watched.
    Pinned,
}

#[derive(Default)]
pub(crate) struct Found {
    pub(in crate::guard) records: BTreeMap<Vec<u8>, Record>,
    /// Folders and links below which this walk could not look.
    pub(in crate::guard) closed: Vec<Vec<u8>>,
    /// Folders of what tools make, and whether they were passed by.
    pub(in crate::guard) bulk: BTreeMap<Vec<u8>, Bulk>,
    /// Links that no glob covers, with their targets; without a baseline only.
    pub(in crate::guard) links: BTreeMap<Vec<u8>, Bytes>,
    /// Links that were not there at the start, or led elsewhere.
    pub(in crate::guard) strange: BTreeSet<Vec<u8>>,
    /// Links to more than can be watched; without a baseline only.
    pub(in crate::guard) unwatched: BTreeSet<Vec<u8>>,
    /// Git directories below what is watched; without a baseline only.
    pub(in crate::guard) repositories: BTreeSet<Vec<u8>>,
}

pub(in crate::guard) struct Layer<'a> {
    pub(super) guard: &'a Guard,
    /// Links are followed where the baseline has them, without one everywhere.
    pub(super) baseline: Option<&'a Baseline>,
    pub(super) sort: Sort,
    pub(super) found: Found,
    /// In the order of the walk.
    records: Vec<(Vec<u8>, Record)>,
    behind: usize,
    bytes_behind: u64,
    /// More was behind a link than can be watched: nothing more is looked at until the walk is back at that link.
    full: bool,
}

impl<'a> Layer<'a> {
    /// For looking at the files of a set of globs.
    pub(in crate::guard) fn new(guard: &'a Guard, sort: Sort, baseline: Option<&'a Baseline>) -> Self {
        let (found, records) = (Found::default(), Vec::new());
        Self { guard, baseline, sort, found, records, behind: 0, bytes_behind: 0, full: false }
    }

    pub(super) fn finish(self) -> Found {
        Found { records: self.records.into_iter().collect(), ..self.found }
    }

    /// Tells this set of globs from others.
    pub(super) fn key(&self) -> &'a str {
        &self.guard.key
    }

    pub(super) const fn reach(&self, reach: Reach) -> Reach {
        if self.full { Reach::Nothing } else { reach }
    }

    /// The glob that covers a name, where the layer looks at it.
    pub(super) fn covering<'m>(&self, mark: &'m Mark, at: &At) -> Option<&'m Arc<Cover>> {
        mark.covering.as_ref().filter(|_| self.reach(at.reach) != Reach::Nothing)
    }

    /// Whether a folder of what tools make is passed by. The start decides, so that an agent can neither hide a file, nor bring many
    /// to light, with an ignore rule; for a folder that is new, what is ignored now does.
    pub(super) fn passes_by(&mut self, path: &[u8], is_ignored: impl FnOnce() -> bool) -> bool {
        if let Some(then) = self.baseline.and_then(|baseline| baseline.bulk.get(path)) {
            return *then == Bulk::Passed;
        }
        let bulk = if is_ignored() { Bulk::Passed } else { Bulk::Walked };
        if self.baseline.is_none() {
            self.found.bulk.insert(path.to_vec(), bulk);
        }
        bulk == Bulk::Passed
    }

    /// Whether something below a prohibited path is a git directory of the start, which changes with every use of git. One
    /// that is new is like any other folder: whatever is named so could hide there.
    pub(super) fn is_known_repository(&mut self, path: &[u8]) -> bool {
        match self.baseline {
            None => {
                self.found.repositories.insert(path.to_vec());
                true
            }
            Some(baseline) => baseline.repositories.as_ref().is_none_or(|known| known.contains(path)),
        }
    }

    /// Whether files that are neither regular nor links were looked at from the start.
    pub(super) fn knows_specials(&self) -> bool {
        self.baseline.is_none_or(|baseline| baseline.repositories.is_some())
    }

    pub(super) fn record(&mut self, path: &[u8], cover: &Arc<Cover>, what: What, spot: &Spot) {
        let through = spot.through.as_ref().map(|(base, length)| Through {
            base: Bytes(base.as_os_str().as_bytes().to_vec()),
            below: Bytes(path[length + 1..].to_vec()),
        });
        self.records.push((path.to_vec(), Record { glob: Arc::clone(&cover.glob), what, through }));
    }

    /// Counts something behind a link before it is read.
    pub(super) fn count(
        &mut self,
        path: &[u8],
        cover: Option<&Arc<Cover>>,
        spot: &Spot,
        size: u64,
    ) -> Result<(), Error> {
        self.behind += 1;
        self.bytes_behind = self.bytes_behind.saturating_add(size);
        // Only at the start: later, an agent that writes more must be caught and not be an error.
        let heavy = self.baseline.is_none() && self.bytes_behind > MAX_BYTES_BEHIND_LINKS;
        if self.behind <= MAX_BEHIND_LINKS && !heavy {
            return Ok(());
        }
        match self.sort {
            Sort::Prohibited => {
                let link = spot.through.as_ref().map_or(path, |(_, length)| &path[..*length]);
                let glob = cover.map_or_else(|| quote(link), |cover| cover.glob.to_string());
                Err(Error::GuardTooLarge {
                    link: quote(link),
                    glob,
                    files: MAX_BEHIND_LINKS,
                    mebibytes: MAX_BYTES_BEHIND_LINKS >> 20,
                })
            }
            Sort::Pinned => {
                self.full |= self.baseline.is_none();
                Ok(())
            }
        }
    }

    /// How much was counted, to come back to.
    pub(super) const fn counted(&self) -> (usize, u64) {
        (self.behind, self.bytes_behind)
    }

    /// Comes back to the first link on the way to too much: what is behind it is not watched.
    pub(super) fn give_up(&mut self, link: &[u8], counted: (usize, u64)) {
        if !self.full {
            return;
        }
        let below = [link, b"/"].concat();
        self.records.retain(|(path, _)| !path.starts_with(&below));
        self.found.closed.retain(|path| !path.starts_with(&below));
        self.found.unwatched.insert(link.to_vec());
        for (_, record) in self.records.iter_mut().filter(|(path, _)| path == link) {
            if let What::Link { behind, folder, .. } = &mut record.what {
                (*behind, *folder) = (None, None);
            }
        }
        (self.behind, self.bytes_behind) = counted;
        self.full = false;
    }
}
