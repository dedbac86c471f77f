//! Tells in which folders nothing changed since the last look, by what the kernel reports (inotify). Looks at no file.
//!
//! A look that believes reports can miss what somebody hides: a write through another name of the file that lies outside, or through
//! a mapping of memory that is still open. It misses that only until the next look that believes nothing, so no look may believe them
//! on which a verdict rests. Reports that are lost or unclear make a look complete.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::{Mode as Permissions, fstat, openat2};
use rustix::io::Errno;

use super::verify::{PLAIN, RESOLVE, each_folder};
use super::{Directory, Node};

/// More would be too much of what all programs of a user may watch together.
const MAX_FOLDERS: usize = 4096;

/// Every change of a file in a folder. One through a mapping of memory shows when the file is closed.
const CHANGES: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE);

/// What a scan believes besides its own looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Belief {
    Nothing,
    /// Folders are looked at only where something changed as far as [`Inotify`] knows.
    Reports,
}

/// The watched folders of a workspace.
pub(crate) struct Inotify {
    reports: OwnedFd,
    inodes: HashMap<i32, u64>,
    changed: HashSet<i32>,
    /// Whether a folder went elsewhere, so that paths lead to others than before, or reports were lost.
    is_unclear: bool,
}

impl Inotify {
    /// None where the kernel has no room for it.
    pub(crate) fn new() -> Option<Self> {
        let reports = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        Some(Self { reports, inodes: HashMap::new(), changed: HashSet::new(), is_unclear: false })
    }

    /// Before a look at everything: forgets what was reported, and watches folders that are not watched yet. None where that is
    /// impossible.
    pub(super) fn restart(mut self, root: BorrowedFd<'_>, directory: &Directory) -> Option<Self> {
        self.read()?;
        self.changed.clear();
        self.is_unclear = false;
        let mut is_possible = true;
        each_folder(directory, |path, folder| {
            if is_possible && self.inode(folder).is_none() {
                is_possible = self.inodes.len() < MAX_FOLDERS && self.watch(root, path, folder).is_some();
            }
        });
        is_possible.then_some(self)
    }

    fn watch(&mut self, root: BorrowedFd<'_>, path: &[u8], folder: &Directory) -> Option<()> {
        // One that is gone or closed is found by the look.
        let Ok(fd) = openat2(root, path, PLAIN, Permissions::empty(), RESOLVE) else { return Some(()) };
        let inode = fstat(&fd).ok()?.st_ino;
        // By its descriptor, so that nothing else can take its place meanwhile.
        let number = add_watch(&self.reports, format!("/proc/self/fd/{}", fd.as_raw_fd()), CHANGES).ok()?;
        self.inodes.insert(number, inode);
        folder.watch.store(number, Relaxed);
        Some(())
    }

    /// Takes in what was reported. Whether a look may believe it.
    pub(super) fn is_clear(&mut self) -> bool {
        self.read().is_some() && !self.is_unclear
    }

    /// Whether a look at the folder would find nothing, as far as reports tell.
    pub(super) fn is_quiet(&self, folder: &Directory) -> bool {
        let is_known = |node: &Node| match node {
            Node::File(state) => state.seen.is_some_and(|seen| !seen.racy && !seen.stamp.has_other_names()),
            Node::Directory(_) => true,
            Node::Closed => false,
        };
        let watched = self.inode(folder);
        watched.is_some()
            && watched == folder.stamp.map(|stamp| stamp.inode)
            && !self.changed.contains(&folder.watch.load(Relaxed))
            && folder.tree.is_some()
            && folder.rules.as_ref().is_none_or(|rules| !rules.racy && !rules.stamp.has_other_names())
            && folder.entries.iter().all(|entry| is_known(&entry.node))
    }

    /// The inode that is watched for a folder.
    fn inode(&self, folder: &Directory) -> Option<u64> {
        self.inodes.get(&folder.watch.load(Relaxed)).copied()
    }

    /// None where reports cannot be read.
    fn read(&mut self) -> Option<()> {
        let mut buffer = [MaybeUninit::uninit(); 1 << 12];
        let mut reader = Reader::new(&self.reports, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Some(()),
                Err(Errno::INTR) => continue,
                Err(_) => return None,
            };
            let (what, number) = (event.events(), event.wd());
            self.changed.insert(number);
            if what.contains(ReadFlags::IGNORED) {
                self.inodes.remove(&number);
            }
            let went = ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
            let lost = ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
            self.is_unclear |= what.intersects(lost) || (what.contains(ReadFlags::ISDIR) && what.intersects(went));
        }
    }
}
