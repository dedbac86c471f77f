//! The settings of an agent, as they were before it ran. An agent has to write the folder that they are in, because its login
//! and its sessions are there too; what it changes of its settings would hold for its next run, and outside of any sandbox for
//! the user's own. So they are put back. Never follows a link out of a root, and never loses what was there before.

mod durable;
mod known;
mod stored;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

pub(crate) use durable::{Shared, Tree, recover};
use known::Parts;
pub(crate) use tree::remove;
use tree::{Missing, Spot};

/// Bytes of one file, of one root and of all roots whose content is remembered; names of one root; how deep it is looked into.
const MAX_OF_A_FILE: u64 = 4 * 1024 * 1024;
const MAX_OF_A_ROOT: u64 = 16 * 1024 * 1024;
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const MAX_NAMES: usize = 20_000;
const MAX_DEPTH: usize = 24;

/// A file that did not change for this long has a stamp that its next change cannot leave.
const SETTLED_SECONDS: i64 = 2;

/// Files that are kept of what the settings had become, and their bytes in all.
const MAX_SAVED: usize = 500;
const MAX_SAVED_BYTES: usize = 32 * 1024 * 1024;

/// What lies at some paths, files and folders.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SettingsSnapshot {
    roots: Vec<Root>,
}

/// One of the paths, and what lies there and below.
#[derive(Debug, PartialEq, Eq)]
struct Root {
    path: PathBuf,
    /// Whether every name is known, so that one that is not known is new.
    whole: bool,
    kept: BTreeMap<PathBuf, Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    File {
        content: Vec<u8>,
        mode: u32,
        /// With this stamp it is the same file. None where a change right after the look might leave the same one.
        stamp: Option<Stamp>,
    },
    Link(PathBuf),
    Folder,
    /// Known, but too much to remember: enough to see whether it is another.
    Large(Stamp),
    /// Neither file, link nor folder: left alone.
    Other,
}

impl Kept {
    /// Whether a file is the one that was remembered, by its stamp alone.
    fn has_stamp_of(&self, stat: &Stat) -> bool {
        matches!(self, Self::File { stamp: Some(stamp), .. } if *stamp == Stamp::of(stat))
            && tree::kind(stat) == FileType::RegularFile
    }
}

/// Only the kernel sets the time of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    size: i64,
    number: u64,
    changed: (i64, u64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        Self { size: stat.st_size, number: stat.st_ino, changed: (stat.st_ctime, stat.st_ctime_nsec) }
    }

    /// The stamp of a file that did not change lately: the kernel's clock for files is coarse, and two changes in a row can have one time.
    fn settled(stat: &Stat) -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        let age = i64::try_from(now).ok()?.saturating_sub(stat.st_ctime);
        (age >= SETTLED_SECONDS).then(|| Self::of(stat))
    }
}

/// What was found when settings were put back.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Was not as before, and is again.
    pub(crate) changed: Vec<String>,
    /// Is not as before, and cannot be put back: there is no copy, or writing it failed.
    pub(crate) lost: Vec<String>,
    /// Whether putting something back did not work, so that it is to be tried again.
    pub(crate) unfinished: bool,
    /// Was put back, but what it had become could not be kept.
    pub(crate) unsaved: usize,
}

impl Report {
    pub(crate) fn add(&mut self, other: Self) {
        self.changed.extend(other.changed);
        self.lost.extend(other.lost);
        self.unfinished |= other.unfinished;
        self.unsaved += other.unsaved;
    }
}

impl SettingsSnapshot {
    /// Remembers what lies at these paths. Single files first, so that no folder takes their room.
    pub(crate) fn take(roots: &[PathBuf]) -> Self {
        Self::take_again(roots, &Self::default())
    }

    /// The same where an earlier look is known: a file with the stamp that it had then is not read again.
    pub(crate) fn take_again(roots: &[PathBuf], known: &Self) -> Self {
        let mut order: Vec<&PathBuf> = roots.iter().collect();
        order.sort_by_key(|root| root.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()));
        let mut room = MAX_BYTES;
        let mut taken = Vec::new();
        for path in order {
            let mut root = Root { path: path.clone(), whole: true, kept: BTreeMap::new() };
            let known = known.roots.iter().find(|root| root.path == *path);
            let mut left = room.min(MAX_OF_A_ROOT);
            let before = left;
            if let Ok(spot) = Spot::at(path, Missing::Refused) {
                root.look(&spot, Path::new(""), 0, &mut left, known);
            }
            room -= before - left;
            taken.push(root);
        }
        Self { roots: taken }
    }

    /// Where something can change unseen: there is too much of it. Of a large file it is seen that it changed.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let is_unseen = |root: &&Root| {
            let is_no_state = |content: &[u8]| known::is_state(&root.path) && known::parts(content).is_none();
            !root.whole
                || matches!(root.kept.get(Path::new("")), Some(Kept::File { content, .. }) if is_no_state(content))
        };
        self.roots.iter().filter(is_unseen).map(|root| root.path.display().to_string()).collect()
    }

    /// Makes everything as it was, and says what was not. What it had become is kept in a folder: the user may have changed it,
    /// and not the agent.
    pub(crate) fn put_back(&self, aside: &Path) -> Report {
        let mut work = Work { aside: Aside::new(aside), report: Report::default() };
        for root in &self.roots {
            work.restore(root);
            if root.whole {
                work.remove_new(root);
            }
        }
        work.report.unsaved = work.aside.unsaved;
        work.report
    }
}

impl Root {
    fn full(&self, relative: &Path) -> PathBuf {
        if relative.as_os_str().is_empty() { self.path.clone() } else { self.path.join(relative) }
    }

    fn is_same(&self, relative: &Path, was: &Kept, is: &Kept) -> bool {
        match (was, is) {
            (Kept::File { content: before, mode: former, .. }, Kept::File { content, mode, .. }) => {
                mode == former && (content == before || known::means_the_same(&self.full(relative), before, content))
            }
            _ => was == is,
        }
    }

    /// Whether a new file says nothing.
    fn is_harmless(&self, spot: &Spot, relative: &Path) -> bool {
        let content = read(spot, 1024).ok().flatten();
        content.is_some_and(|content| known::means_the_same(&self.full(relative), b"", &content))
    }

    fn look(&mut self, spot: &Spot, relative: &Path, depth: usize, room: &mut u64, known: Option<&Self>) {
        let Some(stat) = spot.stat() else { return };
        if self.kept.len() >= MAX_NAMES || depth > MAX_DEPTH {
            self.whole = false;
            return;
        }
        let most = if known::is_state(&self.path) { MAX_OF_A_ROOT } else { MAX_OF_A_FILE };
        let most = most.min(*room);
        let same = known.and_then(|known| known.kept.get(relative)).filter(|kept| kept.has_stamp_of(&stat));
        let fits = |kept: &&Kept| matches!(kept, Kept::File { content, .. } if content.len() as u64 <= most);
        let kept = same.filter(fits).cloned().unwrap_or_else(|| remember(spot, &stat, most));
        if let Kept::File { content, .. } = &kept {
            *room = room.saturating_sub(content.len() as u64);
        }
        let is_folder = kept == Kept::Folder;
        self.kept.insert(relative.to_owned(), kept);
        if is_folder {
            let all = spot.for_each(|entry| {
                self.look(&entry, &relative.join(entry.name()), depth + 1, room, known);
                // Nothing more would be remembered.
                if self.kept.len() >= MAX_NAMES { Err(io::ErrorKind::OutOfMemory.into()) } else { Ok(()) }
            });
            self.whole &= all.is_ok();
        }
    }
}

/// What is at a name, with its content if that is not longer than so many bytes.
fn remember(spot: &Spot, stat: &Stat, most: u64) -> Kept {
    let large = Kept::Large(Stamp::of(stat));
    match tree::kind(stat) {
        FileType::Directory => Kept::Folder,
        FileType::Symlink => spot.read_link().map_or(Kept::Other, Kept::Link),
        FileType::RegularFile => {
            let content = read(spot, most).ok().flatten();
            let (mode, stamp) = (stat.st_mode & 0o7777, Stamp::settled(stat));
            content.map_or(large, |content| Kept::File { content, mode, stamp })
        }
        _ => Kept::Other,
    }
}

/// The content of a file, if it is not longer than so many bytes.
fn read(spot: &Spot, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    spot.open_file()?.take(most + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= most).then_some(content))
}

/// Settings on their way back.
struct Work {
    aside: Aside,
    report: Report,
}

impl Work {
    fn restore(&mut self, root: &Root) {
        if known::is_state(&root.path) {
            return self.restore_state(root);
        }
        let mut top = None;
        // The last one, whose folder is open.
        let mut last: Option<(&Path, Spot)> = None;
        for (relative, was) in &root.kept {
            // Folders come before what is in them.
            let spot = match (&top, &last, relative.file_name()) {
                (_, Some((known, last)), Some(name)) if known.parent() == relative.parent() => Ok(last.beside(name)),
                (Some(top), ..) => Spot::below(top, relative),
                (None, ..) => Spot::at(&root.path, Missing::Refused)
                    .or_else(|_| Spot::at(&root.path, Missing::Made))
                    .and_then(|at| top.insert(at).below(relative)),
            };
            let put_back = spot.and_then(|spot| {
                let spot = &last.insert((relative, spot)).1;
                let stat = spot.stat();
                if *was == Kept::Other || stat.as_ref().is_some_and(|stat| was.has_stamp_of(stat)) {
                    return Ok(false);
                }
                let is = stat.map(|stat| remember(spot, &stat, compared(was)));
                if is.as_ref().is_some_and(|is| root.is_same(relative, was, is)) {
                    return Ok(false);
                }
                let Kept::Large(_) = was else {
                    if !known::is_made_anew(&root.path, relative) {
                        self.aside.save_all(spot, 0);
                    }
                    return replace(spot, was).map(|()| true);
                };
                Err(io::Error::other("too much to remember"))
            });
            self.tell(root, relative, was, put_back);
        }
    }

    fn tell(&mut self, root: &Root, relative: &Path, was: &Kept, put_back: io::Result<bool>) {
        let path = || root.full(relative).display().to_string();
        match put_back {
            Ok(true) if !known::is_made_anew(&root.path, relative) => self.report.changed.push(path()),
            Ok(_) => {}
            Err(error) => {
                self.report.unfinished |= !matches!(was, Kept::Large(_));
                self.report.lost.push(format!("{} ({error})", path()));
            }
        }
    }

    /// Only the parts that steer: the rest is the program's own. What was no state before is left alone; what is none any more
    /// may still be one to the program, and is put back whole.
    fn restore_state(&mut self, root: &Root) {
        let here = Path::new("");
        let none = Kept::File { content: b"{}".to_vec(), mode: 0o600, stamp: None };
        let was = root.kept.get(here).unwrap_or(&none);
        let Kept::File { content: former, mode, .. } = was else { return };
        let (Some(parts), Ok(spot)) = (known::parts(former), Spot::at(&root.path, Missing::Refused)) else { return };
        let (state, new) = match State::of(&spot) {
            State::Missing => return,
            State::Steering(is, _) if is == parts => return,
            State::Steering(is, content) => {
                let steering = serde_json::to_vec_pretty(&is.iter().collect::<Vec<_>>()).unwrap_or_default();
                (steering, known::with_parts(&content, &parts))
            }
            State::Strange(content) => (content, None),
        };
        self.aside.keep(&root.path, &state);
        let put_back = spot.put_file(new.as_deref().unwrap_or(former), *mode);
        self.tell(root, here, was, put_back.map(|()| true));
    }

    /// Removes what has come. Looks again until nothing is new: while a folder is read, another agent may write it.
    fn remove_new(&mut self, root: &Root) {
        if known::is_state(&root.path) {
            return;
        }
        for _ in 0..5 {
            let Ok(top) = Spot::at(&root.path, Missing::Refused) else { return };
            let mut found = Vec::new();
            if let Err(error) = self.remove_unknown(root, &top, Path::new(""), &mut found) {
                self.report.unfinished = true;
                self.report.lost.push(format!("{} ({error})", root.path.display()));
            }
            if found.is_empty() {
                return;
            }
            self.report.changed.append(&mut found);
        }
    }

    /// An empty folder has no effect: only its contents are reported.
    fn remove_unknown(&mut self, root: &Root, spot: &Spot, relative: &Path, found: &mut Vec<String>) -> io::Result<()> {
        let Some(stat) = spot.stat() else { return Ok(()) };
        let is_known = root.kept.contains_key(relative);
        if tree::kind(&stat) == FileType::Directory && relative.components().count() <= MAX_DEPTH {
            spot.for_each(|entry| self.remove_unknown(root, &entry, &relative.join(entry.name()), found))?;
        } else if !is_known && root.is_harmless(spot, relative) {
            return Ok(());
        } else if !is_known && !known::is_made_anew(&root.path, relative) {
            self.aside.save_all(spot, 0);
            found.push(root.full(relative).display().to_string());
        }
        if is_known { Ok(()) } else { spot.remove() }
    }
}

/// What the file with a program's state has become.
enum State {
    Missing,
    Steering(Parts, Vec<u8>),
    /// A link, or nothing that can be read.
    Strange(Vec<u8>),
}

impl State {
    /// Programs write it in place, so half of one is looked at again.
    fn of(spot: &Spot) -> Self {
        let mut content = Vec::new();
        for pause in [10, 40, 150] {
            let Some(stat) = spot.stat() else { return Self::Missing };
            if tree::kind(&stat) != FileType::RegularFile {
                return Self::Strange(Vec::new());
            }
            content = read(spot, 2 * MAX_OF_A_ROOT).ok().flatten().unwrap_or_default();
            if let Some(parts) = known::parts(&content) {
                return Self::Steering(parts, content);
            }
            thread::sleep(Duration::from_millis(pause));
        }
        Self::Strange(content)
    }
}

/// How much of a file is read to see whether it is still what it was.
const fn compared(was: &Kept) -> u64 {
    match was {
        // With room for what a program adds by itself.
        Kept::File { content, .. } => content.len() as u64 + 1024,
        _ => 0,
    }
}

fn replace(spot: &Spot, was: &Kept) -> io::Result<()> {
    match was {
        Kept::File { content, mode, .. } => spot.put_file(content, *mode),
        Kept::Link(target) => spot.put_link(target),
        Kept::Folder => spot.remove().and_then(|()| spot.make_folder()),
        Kept::Large(_) | Kept::Other => Ok(()),
    }
}

/// Where what settings had become is kept: private, bounded, under the name of each file and a number.
struct Aside {
    folder: PathBuf,
    number: usize,
    saved: usize,
    room: usize,
    unsaved: usize,
}

impl Aside {
    fn new(folder: &Path) -> Self {
        // What an earlier look left there stays.
        let number = fs::read_dir(folder).map_or(0, Iterator::count);
        Self { folder: folder.to_owned(), number, saved: 0, room: MAX_SAVED_BYTES, unsaved: 0 }
    }

    fn save_all(&mut self, spot: &Spot, depth: usize) {
        if !spot.is_folder() {
            self.save(spot);
        } else if depth > MAX_DEPTH || self.saved >= MAX_SAVED {
            self.unsaved += 1;
        } else {
            let _ = spot.for_each(|entry| {
                self.save_all(&entry, depth + 1);
                Ok(())
            });
        }
    }

    fn save(&mut self, spot: &Spot) {
        let Some(FileType::RegularFile) = spot.stat().map(|stat| tree::kind(&stat)) else { return };
        match read(spot, MAX_OF_A_FILE.min(self.room as u64)) {
            Ok(Some(content)) => self.keep(Path::new(spot.name()), &content),
            Ok(None) | Err(_) => self.unsaved += 1,
        }
    }

    fn keep(&mut self, path: &Path, content: &[u8]) {
        if self.saved >= MAX_SAVED || self.write(path, content).is_err() {
            self.unsaved += 1;
            return;
        }
        self.number += 1;
        self.saved += 1;
        self.room = self.room.saturating_sub(content.len());
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let place = self.folder.join(format!("{}-{name}", self.number));
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(place)?.write_all(content)
    }
}

#[cfg(test)]
mod tests;
