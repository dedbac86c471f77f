//! What of the pinned files is not as it was, and what has to be there instead. Changes nothing.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_model::{ChangeKind, PinKind};
use rustix::fs::{FileType, lstat};

use super::baseline::{Baseline, Behind, Content, Record, What};
use super::compare::{difference, is_below};
use super::pins::{Offence, Pins};
use super::walk::{BULK, Found};
use crate::content::{allocated, hash, large};
use crate::git::Git;
use crate::object::{Id, Kind};
use crate::quote::quote;
use crate::stamp::Stamp;
use crate::stop::Poll;
use crate::{Error, Placement, Workspace};

/// How many names behind a link of the agent's are looked at. A link to more counts as one that brings something.
const MAX_BEHIND_A_NEW_LINK: usize = 20_000;

/// Every offence, sorted by path.
pub(super) fn judge(
    workspace: &Workspace,
    pins: &Pins,
    baseline: &Baseline,
    now: &Found,
) -> Result<Vec<Offence>, Error> {
    let poll = workspace.stop.step();
    let judge = Judge {
        root: &workspace.root,
        git: &workspace.git,
        pins,
        baseline,
        now,
        poll: &poll,
        max_file: workspace.max_file,
    };
    let mut offences = BTreeMap::new();
    let mut found = now.records.iter().peekable();
    let mut new = Vec::new();
    for (path, record) in &baseline.records {
        while let Some(added) = found.next_if(|(at, _)| *at < path) {
            new.push(added);
        }
        let found = found.next_if(|(at, _)| *at == path).map(|(_, found)| found);
        // Thousands of files of an installed runner are as they were in almost every look.
        if found != Some(record) {
            poll.check()?;
            judge.old(path, record, found, &mut offences)?;
        }
    }
    for (path, record) in new.into_iter().chain(found) {
        judge.added(path, record, &mut offences);
    }
    for link in &now.strange {
        judge.link(link, &mut offences);
    }
    Ok(offences.into_values().collect())
}

/// What a record stands for; `None` when it was not kept.
pub(super) fn placement(baseline: &Baseline, git: &Git, record: &Record) -> Result<Option<Placement>, Error> {
    Ok(match &record.what {
        What::File(content) => file(baseline, git, content)?,
        What::Link { target, .. } => Some(Placement::Link { target: target.0.clone() }),
        What::Folder { .. } | What::Special => None,
    })
}

fn file(baseline: &Baseline, git: &Git, content: &Content) -> Result<Option<Placement>, Error> {
    let Some(id) = content.id.filter(|id| !baseline.store.is_large(id)) else { return Ok(None) };
    let read = baseline.store.read(git, Kind::Blob, &id)?;
    Ok(Some(Placement::File { content: read, mode: content.mode }))
}

type Offences = BTreeMap<Vec<u8>, Offence>;

struct Judge<'a> {
    root: &'a Path,
    git: &'a Git,
    pins: &'a Pins,
    baseline: &'a Baseline,
    now: &'a Found,
    poll: &'a Poll,
    max_file: u64,
}

impl Judge<'_> {
    /// Something that was there at the start.
    fn old(&self, path: &[u8], before: &Record, found: Option<&Record>, offences: &mut Offences) -> Result<(), Error> {
        let Some(pin) = self.pins.number(&before.glob) else { return Ok(()) };
        if matches!(self.pins.kinds[pin], PinKind::Absent | PinKind::Modules | PinKind::Built) {
            return Ok(());
        }
        if stands_for(before, found) {
            return Ok(());
        }
        let Some(mut kind) = difference(Some(before), found) else { return Ok(()) };
        if found.is_none() {
            if before.through.is_some() && self.is_where_it_was(before) {
                return Ok(());
            }
            kind = self.how_hidden(path).unwrap_or(kind);
            if self.is_only_on_the_way(path, before) {
                return Ok(());
            }
        }
        let place = self.place(path, before);
        let restored = match (self.pins.kinds[pin], &place) {
            (PinKind::Frozen | PinKind::Steering, Some(_)) => self.restored(before)?,
            _ => None,
        };
        let place = place.unwrap_or_else(|| path.to_vec());
        offences.insert(place.clone(), Offence { path: quote(&place), kind, pin, restored });
        Ok(())
    }

    /// Something that was not there at the start.
    fn added(&self, path: &[u8], found: &Record, offences: &mut Offences) {
        let Some(pin) = self.pins.number(&found.glob) else { return };
        let kind = self.pins.kinds[pin];
        if !matches!(kind, PinKind::Frozen | PinKind::Parts | PinKind::Installed) {
            let place = self.place(path, found);
            // A package is watched, and nothing is done about it.
            let restored = place.as_ref().filter(|_| kind != PinKind::Packages).map(|_| Placement::Absent);
            let place = place.unwrap_or_else(|| path.to_vec());
            let offence = Offence { path: quote(&place), kind: ChangeKind::Added, pin, restored };
            offences.entry(place).or_insert(offence);
        }
    }

    /// A link that the agent made: through it a file that steers a runner can come from a place that is not watched.
    fn link(&self, path: &[u8], offences: &mut Offences) {
        if let Entry::Vacant(entry) = offences.entry(path.to_vec())
            && let Some(pin) = self.brought_by(path)
        {
            let restored = Some(Placement::Absent);
            entry.insert(Offence { path: quote(path), kind: ChangeKind::Added, pin, restored });
        }
    }

    /// Why a file of the start was not found where it was, if something hides it.
    fn how_hidden(&self, path: &[u8]) -> Option<ChangeKind> {
        if self.now.strange.contains(path) {
            return Some(ChangeKind::Modified);
        }
        let closed = self.now.closed.iter().find(|folder| is_below(path, folder))?;
        let is_link = self.now.strange.contains(closed) || self.now.records.contains_key(closed);
        Some(if is_link { ChangeKind::Modified } else { ChangeKind::Mode })
    }

    /// Whether it is a link that was followed only for what is behind it, and nothing of that was pinned.
    fn is_only_on_the_way(&self, path: &[u8], before: &Record) -> bool {
        let is_link = matches!(before.what, What::Link { .. });
        let below = [path, b"/"].concat();
        let nothing = self.baseline.records.range(below.clone()..).next().is_none_or(|(at, _)| !at.starts_with(&below));
        is_link && nothing && self.pins.find_bytes(path).is_none()
    }

    /// Where in the workspace a record's file really is; `None` when that is outside.
    fn place(&self, path: &[u8], record: &Record) -> Option<Vec<u8>> {
        let Some(through) = &record.through else { return Some(path.to_vec()) };
        let base = Path::new(OsStr::from_bytes(&through.base.0)).strip_prefix(self.root).ok()?;
        let base = base.as_os_str().as_bytes();
        let whole = if base.is_empty() { through.below.0.clone() } else { [base, b"/", &through.below.0].concat() };
        // Files of git and of Ralph are not put back.
        let own = whole.starts_with(b".ralph/") || whole.split(|byte| *byte == b'/').any(|name| name == b".git");
        (!own).then_some(whole)
    }

    /// Whether a file behind a link of the start is as it was, although the link is not.
    fn is_where_it_was(&self, before: &Record) -> bool {
        let (Some(through), What::File(content)) = (&before.through, &before.what) else { return false };
        let real = Path::new(OsStr::from_bytes(&through.base.0)).join(OsStr::from_bytes(&through.below.0));
        is_unchanged(&real, content, self.poll, self.max_file)
    }

    fn restored(&self, before: &Record) -> Result<Option<Placement>, Error> {
        match &before.what {
            // A link would lead to the changed file; a file in its place has the right content and changes no other.
            What::Link { behind: Some(Behind { real, content }), .. }
                if !is_unchanged(Path::new(OsStr::from_bytes(&real.0)), content, self.poll, self.max_file) =>
            {
                file(self.baseline, self.git, content)
            }
            _ => placement(self.baseline, self.git, before),
        }
    }

    /// The pin of something behind a link that must not appear. Nothing behind it is changed or kept.
    fn brought_by(&self, link: &[u8]) -> Option<usize> {
        let steers =
            |pin: &usize| matches!(self.pins.kinds[*pin], PinKind::Steering | PinKind::Absent | PinKind::Built);
        let first = (0..self.pins.kinds.len()).find(steers)?;
        let real = self.root.join(OsStr::from_bytes(link)).canonicalize().ok()?;
        let mut open = VecDeque::from([(real, link.to_vec())]);
        let mut seen = HashSet::new();
        let mut names = 0;
        while let Some((folder, path)) = open.pop_front() {
            // A link to a file has a name of its own, which a glob covers or not.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            if !seen.insert(folder.clone()) {
                continue;
            }
            for entry in entries.flatten() {
                // What is found after a request to stop is not used.
                if self.poll.is_over() {
                    return Some(first);
                }
                let name = entry.file_name();
                let below = [&path, &b"/"[..], name.as_bytes()].concat();
                names += 1;
                if names > MAX_BEHIND_A_NEW_LINK {
                    return Some(first);
                }
                // In the workspace such folders are passed by under their own name too.
                let passed = folder.starts_with(self.root) && BULK.contains(&name.as_bytes());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && passed => {}
                    Ok(kind) if kind.is_dir() => open.push_back((entry.path(), below)),
                    Ok(kind) if kind.is_symlink() && entry.path().is_dir() => {
                        open.extend(entry.path().canonicalize().ok().map(|real| (real, below)));
                    }
                    Ok(_) if !self.is_of_the_start(&entry.path()) => {
                        if let Some(pin) = self.pins.find_bytes(&below).filter(steers) {
                            return Some(pin);
                        }
                    }
                    Ok(_) | Err(_) => {}
                }
            }
        }
        None
    }

    /// Whether a real place is that of a pinned file of the start, which is watched there.
    fn is_of_the_start(&self, real: &Path) -> bool {
        let below = real.strip_prefix(self.root).map(|below| below.as_os_str().as_bytes());
        below.is_ok_and(|below| self.baseline.records.contains_key(below))
    }
}

/// Whether a file has taken the place of a link to one like it, as it does when pinned files are swapped in.
fn stands_for(before: &Record, found: Option<&Record>) -> bool {
    match (&before.what, found.map(|record| &record.what)) {
        (What::Link { behind: Some(behind), .. }, Some(What::File(content))) => {
            content.id.is_some() && behind.content == *content
        }
        _ => false,
    }
}

/// Whether a file at a real place has the content and the permissions of a record.
fn is_unchanged(real: &Path, content: &Content, poll: &Poll, max_file: u64) -> bool {
    let same = || -> std::io::Result<bool> {
        if real.canonicalize()? != real {
            return Ok(false);
        }
        let found = lstat(real)?;
        let stamp = Stamp::of(&found);
        let is_file = FileType::from_raw_mode(stamp.mode) == FileType::RegularFile;
        if !is_file || stamp.mode & 0o7777 != content.mode {
            return Ok(false);
        }
        let id = match large(&stamp, allocated(&found), max_file) {
            Some(text) => Id::of(Kind::Blob, &text),
            None => hash(&mut File::open(real)?, stamp.size, poll)?,
        };
        Ok(content.id == Some(id))
    };
    // What cannot be looked at is not known to be as it was.
    same().unwrap_or(false)
}
