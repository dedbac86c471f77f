//! What a scan knows, on disk for the next process. A cache that is missing, old or broken costs time and nothing else.
//!
//! One header, one record for each file, one checksum. It is thrown away after a reboot: objects are not flushed one by
//! one, so that after a power loss the cache could vouch for content that never reached the disk.

use std::fs;
use std::ops::Range;
use std::path::Path;

use sha1::{Digest, Sha1};

use super::{Directory, FileState, Node, Seen};
use crate::Error;
use crate::object::Id;
use crate::stamp::Stamp;
use crate::store::{Store, boot_id};

/// Changes with the format.
const HEADER: &[u8; 16] = b"ralph-scan-v1\n\0\0";
/// The length of a record without its path.
const RECORD: usize = 8 + 8 + 4 + 8 + 8 + 8 + 20 + 4;
const CHECKSUM: usize = 20;

/// Content ids of files that an earlier process has seen, in the form in which they are on disk: a map of them would take three
/// times as much memory at the start of every loop.
#[derive(Default)]
pub(crate) struct Known {
    bytes: Vec<u8>,
    /// Where the records are, in the order of their paths.
    records: Vec<Range<usize>>,
}

impl Known {
    /// The content of a file, if it was seen with this very stamp.
    pub(crate) fn find(&self, path: &[u8], stamp: &Stamp) -> Option<Id> {
        let at = self.records.binary_search_by(|record| self.path(record).cmp(path)).ok()?;
        read(&self.bytes[self.records[at].clone()]).filter(|(seen, _)| seen == stamp).map(|(_, id)| id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&[u8], Stamp, Id)> {
        self.records.iter().filter_map(|record| {
            let (stamp, id) = read(&self.bytes[record.clone()])?;
            Some((self.path(record), stamp, id))
        })
    }

    fn path(&self, record: &Range<usize>) -> &[u8] {
        &self.bytes[record.start + RECORD..record.end]
    }
}

/// Reads a cache; an empty one when there is none that can be used.
pub(crate) fn load(path: &Path) -> Known {
    fs::read(path).ok().and_then(parse).unwrap_or_default()
}

fn parse(bytes: Vec<u8>) -> Option<Known> {
    let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
    if Sha1::digest(content)[..] != *checksum {
        return None;
    }
    let mut rest = content.strip_prefix(HEADER)?.strip_prefix(&boot_id()[..])?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest.get(RECORD - 4..RECORD)?.try_into().ok()?) as usize;
        let start = content.len() - rest.len();
        rest = rest.get(RECORD + length..)?;
        records.push(start..start + RECORD + length);
    }
    let mut known = Known { bytes, records };
    let mut records = std::mem::take(&mut known.records);
    records.sort_unstable_by(|left, right| known.path(left).cmp(known.path(right)));
    known.records = records;
    Some(known)
}

fn read(record: &[u8]) -> Option<(Stamp, Id)> {
    let u64_at = |at: usize| record.get(at..at + 8)?.try_into().map(u64::from_le_bytes).ok();
    let stamp = Stamp {
        device: u64_at(0)?,
        inode: u64_at(8)?,
        mode: u32::from_le_bytes(record.get(16..20)?.try_into().ok()?),
        size: u64_at(20)?,
        modified: u64_at(28)? as i64,
        changed: u64_at(36)? as i64,
    };
    Some((stamp, Id(record.get(44..64)?.try_into().ok()?)))
}

/// Writes a cache of everything that is certain.
pub(crate) fn save(path: &Path, directory: &Directory, store: &Store) -> Result<(), Error> {
    // Known beforehand: a buffer that grows takes up to three times as much.
    let mut length = 0;
    directory.each(|path, entry| {
        if matches!(entry.node, Node::File(_)) {
            length += RECORD + path.len();
        }
    });
    let mut bytes = begin();
    bytes.reserve_exact(length + CHECKSUM);
    directory.each(|path, entry| {
        if let Node::File(FileState { seen: Some(Seen { stamp, racy: false, id, .. }) }) = &entry.node {
            push(&mut bytes, path, stamp, id);
        }
    });
    store.replace(path, &finish(bytes))
}

pub(crate) fn encode<'a>(files: impl Iterator<Item = (&'a [u8], &'a Stamp, &'a Id)>) -> Vec<u8> {
    let mut bytes = begin();
    for (path, stamp, id) in files {
        push(&mut bytes, path, stamp, id);
    }
    finish(bytes)
}

fn begin() -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    bytes.extend(boot_id());
    bytes
}

fn finish(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = Sha1::digest(&bytes);
    bytes.extend(checksum);
    bytes
}

fn push(bytes: &mut Vec<u8>, path: &[u8], stamp: &Stamp, id: &Id) {
    bytes.extend(stamp.device.to_le_bytes());
    bytes.extend(stamp.inode.to_le_bytes());
    bytes.extend(stamp.mode.to_le_bytes());
    bytes.extend(stamp.size.to_le_bytes());
    bytes.extend(stamp.modified.to_le_bytes());
    bytes.extend(stamp.changed.to_le_bytes());
    bytes.extend(id.0);
    bytes.extend((path.len() as u32).to_le_bytes());
    bytes.extend_from_slice(path);
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
