//! Finds the folders in which nothing changed, with several threads. Reads no content and decides nothing.
//!
//! Almost all of a scan is the kernel answering `statat`, which it does on every processor at once. So before the one
//! thread that may change what is known walks the tree, several threads look at every folder that was seen before and
//! mark those whose own stamp and whose files' stamps are all the recorded ones. The walk then visits only the others.
//! Folders are opened by their whole path, but the kernel is told to go through no link.

use std::ffi::CString;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{AtFlags, Mode as Permissions, OFlags, ResolveFlags, fstat, openat2, statat};

use super::inotify::Inotify;
use super::{Directory, FOLDER, Node};
use crate::object::Id;
use crate::stamp::Stamp;
use crate::stop::Poll;

/// Below this many files for each, a thread costs more than it saves.
const FILES_PER_THREAD: usize = 400;
/// Longer paths are no use to the kernel.
const MAX_PATH: usize = 4096;
/// How many folders a thread takes at a time.
const SHARE: usize = 8;

/// Nothing is read from a folder, only looked up in it, and no link on the way is followed.
pub(super) const PLAIN: OFlags = FOLDER.union(OFlags::PATH);
pub(super) const RESOLVE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

struct Task<'a> {
    path: CString,
    directory: &'a Directory,
}

/// Marks every unchanged folder with the number of this scan, those without a look that are quiet according to
/// `reports`. Gives the tree where all of them are: then there is nothing to walk.
pub(super) fn verify(
    root: BorrowedFd<'_>,
    directory: &Directory,
    device: u64,
    scan: u32,
    threads: usize,
    poll: &Poll,
    reports: Option<&Inotify>,
) -> Option<Id> {
    let (mut tasks, mut folders, mut quiet) = (Vec::new(), 0, 0);
    each_folder(directory, |path, folder| {
        folders += 1;
        if reports.is_some_and(|reports| reports.is_quiet(folder)) {
            folder.verified.store(scan, Ordering::Relaxed);
            quiet += 1;
        } else {
            tasks.extend(task(path, folder));
        }
    });
    let files: usize = tasks.iter().map(|task| task.directory.entries.len()).sum();
    let threads = threads.min(files / FILES_PER_THREAD).max(1);
    let (next, unchanged) = (AtomicUsize::new(0), AtomicUsize::new(quiet));
    let work = || {
        loop {
            let first = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(share) = tasks.get(first..tasks.len().min(first + SHARE)).filter(|share| !share.is_empty()) else {
                return;
            };
            for task in share {
                // What is not marked is left to the walk, which stops.
                if poll.is_over() {
                    return;
                }
                if is_unchanged(root, task, device) {
                    task.directory.verified.store(scan, Ordering::Relaxed);
                    unchanged.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without a second thread this one does all of it.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    directory.tree.filter(|_| unchanged.into_inner() == folders)
}

/// Calls `visit` for a folder and every folder below it, with its path.
pub(super) fn each_folder<'a>(directory: &'a Directory, mut visit: impl FnMut(&[u8], &'a Directory)) {
    visit(b".", directory);
    directory.each(|path, entry| {
        if let Node::Directory(child) = &entry.node {
            visit(path, child);
        }
    });
}

/// None for a folder that cannot be judged by stamps, or whose path the kernel does not take.
fn task<'a>(path: &[u8], directory: &'a Directory) -> Option<Task<'a>> {
    let can_be_judged = directory.stamp.is_some() && path.len() < MAX_PATH;
    can_be_judged.then(|| CString::new(path).ok().map(|path| Task { path, directory })).flatten()
}

/// Every doubt, also an error, leaves the folder to the walk.
fn is_unchanged(root: BorrowedFd<'_>, task: &Task<'_>, device: u64) -> bool {
    let directory = task.directory;
    let Ok(fd) = openat2(root, &task.path, PLAIN, Permissions::empty(), RESOLVE) else { return false };
    let Ok(stat) = fstat(&fd) else { return false };
    let stamp = Stamp::of(&stat);
    if directory.stamp != Some(stamp) || stamp.device != device || directory.tree.is_none() {
        return false;
    }
    let still = |name: &std::ffi::CStr, seen: &Stamp| {
        statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| Stamp::of(&stat) == *seen)
    };
    if let Some(rules) = &directory.rules
        && (rules.racy || !still(c".gitignore", &rules.stamp))
    {
        return false;
    }
    directory.entries.iter().all(|entry| match &entry.node {
        Node::File(state) => state.seen.is_some_and(|seen| !seen.racy && still(&entry.name, &seen.stamp)),
        Node::Directory(_) => true,
        Node::Closed => false,
    })
}
