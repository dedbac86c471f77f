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

struct Task<'a> {
    path: CString,
    directory: &'a Directory,
}

/// Marks every unchanged folder with the number of this scan. Gives the tree where all of them are: then there is nothing to walk.
pub(super) fn verify(
    root: BorrowedFd<'_>,
    directory: &Directory,
    device: u64,
    scan: u32,
    threads: usize,
    poll: &Poll,
) -> Option<Id> {
    let (tasks, folders, files) = collect(directory);
    let threads = threads.min(files / FILES_PER_THREAD).max(1);
    let (next, unchanged) = (AtomicUsize::new(0), AtomicUsize::new(0));
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

/// Lists the folders that can be judged by stamps and whose path the kernel takes; gives the number of folders and files in all.
fn collect(directory: &Directory) -> (Vec<Task<'_>>, usize, usize) {
    let mut tasks: Vec<Task<'_>> = task(b".", directory).into_iter().collect();
    let (mut folders, mut files) = (1, 0);
    directory.each(|path, entry| match &entry.node {
        Node::File(_) => files += 1,
        Node::Directory(child) => {
            folders += 1;
            tasks.extend(task(path, child));
        }
        Node::Closed => {}
    });
    (tasks, folders, files)
}

fn task<'a>(path: &[u8], directory: &'a Directory) -> Option<Task<'a>> {
    let can_be_judged = directory.stamp.is_some() && path.len() < MAX_PATH;
    can_be_judged.then(|| CString::new(path).ok().map(|path| Task { path, directory })).flatten()
}

/// Every doubt, also an error, leaves the folder to the walk.
fn is_unchanged(root: BorrowedFd<'_>, task: &Task<'_>, device: u64) -> bool {
    let directory = task.directory;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    // Nothing is read from it, only looked up in it.
    let flags = FOLDER | OFlags::PATH;
    let Ok(fd) = openat2(root, &task.path, flags, Permissions::empty(), resolve) else { return false };
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
