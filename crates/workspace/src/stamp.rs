//! What the file system says about a file, and when that is enough to know that it is unchanged.
//!
//! A file whose stamp is equal to the recorded one has the recorded content, unless it was *racy*: changed so shortly
//! before it was read that another change could carry the same times. Racy files are read again. The judgement depends on
//! the change time, which a program cannot set, and not on the modification time, which it can.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};

/// File systems stamp files with a clock that can lag behind by a tick of the kernel, at most 10 ms. Twice that is safe.
const TICK: i64 = 20_000_000;

/// A bit of a mode that the kernel does not use.
const OTHER_NAMES: u32 = 1 << 31;

/// Everything that changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// With a bit of its own for a file that has more than one name.
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) modified: i64,
    pub(crate) changed: i64,
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let names = if stat.st_nlink > 1 && !is_folder { OTHER_NAMES } else { 0 };
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            mode: stat.st_mode | names,
            size: stat.st_size as u64,
            modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }

    /// Whether it can be written under another name, which may lie anywhere.
    pub(crate) const fn has_other_names(&self) -> bool {
        self.mode & OTHER_NAMES != 0
    }

    /// Whether a change after `looked` could have left this very stamp.
    pub(crate) const fn is_racy(&self, looked: Instant) -> bool {
        self.changed >= looked.0 - TICK
    }
}

/// Nanoseconds since 1970. Wraps after the year 2262, where comparing for equality still works.
const fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}

/// A point in time on the clock that file systems use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant(i64);

impl Instant {
    pub(crate) fn now() -> Self {
        // A clock before 1970 makes everything racy, which costs time and no correctness.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(nanoseconds(since.as_secs() as i64, i64::from(since.subsec_nanos())))
    }

    /// Nanoseconds since 1970, for a name that is used once.
    pub(crate) const fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Whole seconds, for a commit.
    pub(crate) const fn seconds(self) -> i64 {
        self.0 / 1_000_000_000
    }
}

#[cfg(test)]
#[path = "stamp_tests.rs"]
mod tests;
