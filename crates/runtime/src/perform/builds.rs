//! What builds of confirming runs begin with, so that they cost no build from nothing. Only Ralph writes it.
//!
//! ```text
//!   before the first iteration:  kept ── moved ──► used ── the checks, on the start ──► kept
//!   each confirming run:         kept ── copied ─► next/… ── moved ──► used ── the checks, on the work ──► gone ──► removed
//! ```
//!
//! What one run left is removed, and what the next one begins with is copied, while checks run: they can write only what is used.
//! Small builds are copied while the agent runs, for as many runs as usually follow.
//!
//! Code of an agent runs in every confirming run and can write what is used there, so that nothing of it is kept. What is used
//! always lies at the same path, because builds remember paths. Cargo compares times and not contents: what changed since
//! gets a later time than what is kept.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ralph_model::TreeHash;
use ralph_workspace::{Placement, StopFlag};
use rustix::fs::{FlockOperation, IFlags, flock, ioctl_getflags, ioctl_setflags};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::WorkspaceState;
use super::place::{on_builds, remove_tree};
use crate::error::Error;
use crate::home::Home;

/// Variables that lead to caches, each with its folder. Their tools compare contents, or the times of files.
pub(super) const VARIABLES: [(&str, &str); 6] = [
    ("CARGO_BUILD_BUILD_DIR", "cargo"),
    ("GOCACHE", "go"),
    ("CCACHE_DIR", "ccache"),
    ("GOLANGCI_LINT_CACHE", "golangci-lint"),
    ("MYPY_CACHE_DIR", "mypy"),
    ("RUFF_CACHE_DIR", "ruff"),
];

/// Bytes that are kept for one workspace. Copying more takes too long.
const MAX_ONE: u64 = 4 << 30;
/// Bytes that are kept for all of them.
const MAX_ALL: u64 = 12 << 30;
/// Builds up to this size are copied before anybody knows whether the copies will be used.
const MAX_AHEAD: u64 = 128 << 20;
/// How many copies of them there are then: few confirmations take more runs.
const AHEAD: usize = 2;
/// How long builds are kept that no loop uses.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const KEPT: &str = "kept";
const USED: &str = "used";
/// Copies for the runs that come next, each in a folder of its own.
const NEXT: &str = "next";
/// What the last run used.
const GONE: &str = "gone";
const RECORD: &str = "kept.json";

/// What is kept, and what it was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// The workspace that was built last.
    root: PathBuf,
    /// Its files before the checks and after them.
    trees: [TreeHash; 2],
    at: SystemTime,
    bytes: u64,
    /// It took more room than there is, so that nothing is kept.
    is_too_large: bool,
}

/// Builds of one workspace, held as long as checks use them.
#[derive(Debug)]
pub(super) struct Builds {
    folder: PathBuf,
    place: Place,
    lock: Arc<OwnedFd>,
    record: Option<Record>,
    /// Copies are made one after the other, so that the first one is there soon.
    copying: Mutex<()>,
}

/// Where checks run. Builds of one kind of place are never used in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the folder that the user works in.
    Workspace,
    /// In a worktree or a checkout, which are made anew for each loop.
    Apart,
}

impl Place {
    const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Apart => "apart",
        }
    }
}

impl Builds {
    /// Takes the builds that are kept in this folder; none where another loop uses them. What a dead one used is removed.
    pub(super) fn take(folder: &Path, place: Place) -> Result<Option<Self>, Error> {
        let folder = folder.join(place.name());
        Home::make_private(&folder)?;
        let Some(lock) = lock(&folder)? else { return Ok(None) };
        let record = read_record(&folder);
        let builds = Self { folder, place, lock: Arc::new(lock.into()), record, copying: Mutex::default() };
        builds.clear()?;
        Ok(Some(builds))
    }

    /// The folder that checks write.
    pub(super) fn used(&self) -> PathBuf {
        self.folder.join(USED)
    }

    /// What has to stay open as long as processes of the checks live.
    pub(super) fn hold(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.lock)
    }

    /// Whether builds of this workspace take too much room to be kept.
    pub(super) fn is_too_large(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.is_too_large && is_recent(record))
    }

    /// Whether builds begin with nothing.
    pub(super) fn is_empty(&self) -> bool {
        !self.folder.join(KEPT).is_dir()
    }

    /// Bytes that one copy takes.
    fn bytes(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.bytes)
    }

    /// Whether so many more copies leave as much room on the disk as what runs meanwhile may need.
    fn has_room(&self, copies: usize) -> bool {
        let bytes = self.bytes().saturating_mul(copies as u64);
        rustix::fs::statvfs(&self.folder).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) / 4 > bytes)
    }

    /// Moves what is kept to where it is used, to be kept again.
    pub(super) fn move_in(&self) -> Result<(), Error> {
        // If this ends with a crash, what is there then is not known.
        let (kept, used) = (self.folder.join(KEPT), self.used());
        if !self.is_empty() {
            fs::rename(&kept, &used).map_err(Error::file(&kept))?;
        }
        Home::make_private(&used)
    }

    /// Removes what a run used, and copies what is kept for a later one, to be thrown away as well.
    pub(super) fn prepare(&self, stop: &StopFlag) -> Result<PathBuf, Error> {
        let _alone = self.copying.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, all) = (self.folder.join(KEPT), self.folder.join(NEXT));
        remove_tree(&self.folder.join(GONE))?;
        Home::make_private(&all)?;
        if let Err(error) = spread(&all) {
            tracing::debug!(%error, "copies of builds cannot be spread over the disk");
        }
        let next = all.join(Uuid::new_v4().to_string());
        Home::make_private(&next)?;
        if self.is_empty() {
            return Ok(next);
        }
        if let Err(error) = copy(&kept, &next, stop) {
            if stop.is_requested() {
                // The next one that takes them removes what is there.
                return Err(ralph_workspace::Error::Stopped.into());
            }
            tracing::warn!(%error, "what is kept of earlier builds could not be copied");
            remove_tree(&next)?;
            Home::make_private(&next)?;
        }
        Ok(next)
    }

    /// Puts what was prepared where it is used, in place of what the last run left.
    pub(super) fn enter(&self, next: &Path) -> Result<(), Error> {
        let (used, gone) = (self.used(), self.folder.join(GONE));
        remove_tree(&gone)?;
        if let Err(error) = fs::rename(&used, &gone)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(Error::file(&used)(error));
        }
        fs::rename(next, &used).map_err(Error::file(next))
    }

    /// Removes what confirming runs left.
    pub(super) fn clear(&self) -> Result<(), Error> {
        [USED, GONE, NEXT].iter().try_for_each(|left| remove_tree(&self.folder.join(left)))
    }

    /// Keeps what the checks of the start built.
    pub(super) fn keep(&self, root: &Path, trees: [TreeHash; 2]) -> Result<(), Error> {
        let (kept, used) = (self.folder.join(KEPT), self.used());
        let bytes = disk_size(&used);
        let is_too_large = bytes > MAX_ONE;
        if is_too_large {
            remove_tree(&used)?;
        } else {
            fs::rename(&used, &kept).map_err(Error::file(&used))?;
        }
        let at = SystemTime::now();
        let bytes = if is_too_large { 0 } else { bytes };
        let record = Record { root: root.to_owned(), trees, at, bytes, is_too_large };
        let text = serde_json::to_vec(&record).unwrap_or_default();
        Home::write_private(&self.folder.join(RECORD), &text)?;
        if let Some(all) = self.folder.parent().and_then(Path::parent) {
            let oldest = at.checked_sub(MAX_AGE).unwrap_or(SystemTime::UNIX_EPOCH);
            for folder in expired(all, oldest, MAX_ALL - MAX_ONE) {
                remove_tree(&folder)?;
            }
        }
        Ok(())
    }

    /// Makes builds see every file that is not what it was when they were kept.
    pub(super) fn renew(
        &self,
        ground: &WorkspaceState,
        now: &TreeHash,
        entries: &[(String, Placement)],
    ) -> Result<(), Error> {
        let Some(record) = &self.record else { return Ok(()) };
        let [before, after] = &record.trees;
        let workspace = &ground.workspace;
        let mut paths: BTreeSet<String> = entries.iter().map(|(path, _)| path.clone()).collect();
        let known = (record.root == workspace.root()).then(|| {
            Ok::<_, ralph_workspace::Error>([workspace.changes(before, now)?, workspace.changes(before, after)?])
        });
        match known {
            Some(Ok(changes)) => paths.extend(changes.into_iter().flatten().map(|change| change.path)),
            // Files that were just written are newer than what is kept; whatever is not may have changed.
            Some(Err(_)) | None if self.place == Place::Apart => paths.extend(workspace.list(now)?),
            // What they were is no longer known, and times of the user's own files are not changed without need.
            Some(Err(_)) | None => {
                remove_tree(&self.used())?;
                return Home::make_private(&self.used());
            }
        }
        let paths: Vec<String> = paths.into_iter().collect();
        Ok(workspace.renew(&paths, record.at)?)
    }
}

/// What the confirming runs of one verdict begin with, one after the other; nothing where another loop uses it.
pub(super) struct Supply {
    builds: Option<Arc<Builds>>,
    stop: StopFlag,
    /// Copies for the runs that come next.
    copies: VecDeque<JoinHandle<Result<PathBuf, Error>>>,
}

impl Supply {
    pub(super) const fn new(builds: Option<Arc<Builds>>, stop: StopFlag) -> Self {
        Self { builds, stop, copies: VecDeque::new() }
    }

    /// Begins to copy for the runs of a verdict that may come, if the builds are small.
    pub(super) fn stock_up(&mut self) {
        if self.builds.as_ref().is_some_and(|builds| builds.bytes() <= MAX_AHEAD && builds.has_room(AHEAD)) {
            (0..AHEAD).for_each(|_| self.copy());
        }
    }

    /// Begins to copy for the run that comes next, while something else happens, if both fit on the disk.
    pub(super) fn copy_ahead(&mut self) {
        // What a run left is removed only where no copy waits to take its place.
        if self.copies.is_empty() && self.builds.as_ref().is_some_and(|builds| builds.has_room(1)) {
            self.copy();
        }
    }

    fn copy(&mut self) {
        if let Some(builds) = &self.builds {
            let (builds, stop) = (Arc::clone(builds), self.stop.clone());
            self.copies.push_back(tokio::task::spawn_blocking(move || builds.prepare(&stop)));
        }
    }

    /// The builds for a run that is about to begin.
    pub(super) async fn take(&mut self) -> Result<Option<Arc<Builds>>, Error> {
        let Some(builds) = self.builds.clone() else { return Ok(None) };
        if self.copies.is_empty() {
            self.copy();
        }
        let Some(copy) = self.copies.pop_front() else { return Ok(None) };
        let next = copy.await.map_err(|_| Error::Vanished("the builds of confirming runs"))??;
        on_builds(move || builds.enter(&next).map(|()| Some(builds))).await
    }

    /// Removes everything that the runs left.
    pub(super) async fn close(mut self) -> Result<(), Error> {
        while let Some(copy) = self.copies.pop_front() {
            // Nobody needs it any more, so that it does not matter whether it was made.
            let _ = copy.await;
        }
        let Some(builds) = self.builds else { return Ok(()) };
        on_builds(move || builds.clear()).await
    }
}

impl Drop for Builds {
    /// A supervisor that is about to end would keep the next run of this loop from taking them.
    fn drop(&mut self) {
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// Folders of builds that no loop used since `before`, and the oldest as long as all take more than `most` bytes. None of
/// them is in use.
fn expired(all: &Path, before: SystemTime, most: u64) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = entries(all).flat_map(|workspace| entries(&workspace).collect::<Vec<_>>());
    let mut known: Vec<(SystemTime, u64, PathBuf)> = folders
        .filter(|folder| matches!(lock(folder), Ok(Some(_))))
        .map(|folder| match read_record(&folder) {
            Some(record) => (record.at, record.bytes, folder),
            None => (SystemTime::UNIX_EPOCH, 0, folder),
        })
        .collect();
    known.sort();
    let mut total: u64 = known.iter().map(|(_, bytes, _)| bytes).sum();
    let mut expired = Vec::new();
    for (at, bytes, folder) in known {
        if at < before || total > most {
            total = total.saturating_sub(bytes);
            expired.push(folder);
        }
    }
    expired
}

/// Folders with builds that no loop used since then.
pub fn builds_before(home: &Home, before: SystemTime) -> Vec<PathBuf> {
    expired(&home.all_builds(), before, u64::MAX)
}

fn read_record(folder: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(folder.join(RECORD)).ok()?).ok()
}

fn is_recent(record: &Record) -> bool {
    record.at.elapsed().is_ok_and(|age| age < MAX_AGE)
}

/// Locks builds for one loop; none where another has done so.
fn lock(folder: &Path) -> Result<Option<File>, Error> {
    let path = folder.join("lock");
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(Error::file(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(Error::file(&path)(error)),
    }
}

/// Asks ext4 to put each folder in this one into another part of the disk, like `chattr +T`. Without a journal it passes over inodes
/// that were freed within the last minutes, one by one for each new file: copies in one part would be slower from loop to loop.
/// Other file systems have no such flag, and need none.
fn spread(folder: &Path) -> io::Result<()> {
    let folder = File::open(folder)?;
    Ok(ioctl_setflags(&folder, ioctl_getflags(&folder)? | IFlags::TOPDIR)?)
}

/// Bytes that are copied between two looks for a request to stop.
const PIECE: u64 = 64 << 20;

/// Copies what is in a folder, with times and permissions. Follows no link.
pub(super) fn copy(from: &Path, to: &Path, stop: &StopFlag) -> io::Result<()> {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            stopped(stop)?;
            let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() {
                fs::create_dir(&target)?;
                folders.push((source, target));
            } else if kind.is_symlink() {
                symlink(fs::read_link(&source)?, &target)?;
            } else if kind.is_file() {
                copy_file(&source, &target, stop)?;
            }
        }
    }
    Ok(())
}

fn copy_file(source: &Path, target: &Path, stop: &StopFlag) -> io::Result<()> {
    let (from, mut to) = (File::open(source)?, File::create_new(target)?);
    while io::copy(&mut (&from).take(PIECE), &mut to)? == PIECE {
        stopped(stop)?;
    }
    let about = from.metadata()?;
    to.set_times(FileTimes::new().set_modified(about.modified()?).set_accessed(about.accessed()?))?;
    to.set_permissions(about.permissions())
}

fn stopped(stop: &StopFlag) -> io::Result<()> {
    if stop.is_requested() { Err(io::Error::other("stopped")) } else { Ok(()) }
}

/// What a file, or everything in a folder, takes on the disk. Follows no link.
pub fn disk_size(path: &Path) -> u64 {
    let (mut bytes, mut waiting) = (0, vec![path.to_owned()]);
    while let Some(path) = waiting.pop() {
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        bytes += about.blocks() * 512;
        if about.is_dir() {
            waiting.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    bytes
}

#[cfg(test)]
#[path = "builds_tests.rs"]
mod tests;
