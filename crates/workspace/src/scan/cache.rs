//! What a scan knows, on disk for the next process. A cache that is missing, old or broken costs time and nothing else.
//!
//! One header, one record for each file, one checksum. It is thrown away after a reboot: objects are not flushed one by
//! one, so that after a power loss the cache could vouch for content that never reached the disk.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use sha1::{Digest, Sha1};

use super::{Directory, FileState, Node, Seen};
use crate::Error;
use crate::object::Id;
use crate::stamp::Stamp;
use crate::store::{Store, boot_id};

/// Changes with the format.
const HEADER: &[u8; 16] = b"ralph-scan-v1\n\0\0";
const RECORD: usize = 8 + 8 + 4 + 8 + 8 + 8 + 20 + 4;

/// Content ids of files that an earlier process has seen.
#[derive(Default)]
pub(crate) struct Known(HashMap<Vec<u8>, (Stamp, Id)>);

impl Known {
    /// The content of a file, if it was seen with this very stamp.
    pub(crate) fn find(&self, path: &[u8], stamp: &Stamp) -> Option<Id> {
        self.0.get(path).filter(|(seen, _)| seen == stamp).map(|(_, id)| *id)
    }

    /// Everything that was seen.
    pub(crate) fn into_all(self) -> HashMap<Vec<u8>, (Stamp, Id)> {
        self.0
    }
}

/// Reads a cache; an empty one when there is none that can be used.
pub(crate) fn load(path: &Path) -> Known {
    fs::read(path).ok().and_then(|bytes| parse(&bytes)).unwrap_or_default()
}

fn parse(bytes: &[u8]) -> Option<Known> {
    let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(20)?)?;
    if Sha1::digest(content)[..] != *checksum {
        return None;
    }
    let mut rest = content.strip_prefix(HEADER)?.strip_prefix(&boot_id()[..])?;
    let mut known = HashMap::new();
    while !rest.is_empty() {
        let record = rest.get(..RECORD)?;
        let u64_at = |at: usize| record[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let u32_at = |at: usize| record[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        let stamp = Stamp {
            device: u64_at(0)?,
            inode: u64_at(8)?,
            mode: u32_at(16)?,
            size: u64_at(20)?,
            modified: u64_at(28)? as i64,
            changed: u64_at(36)? as i64,
        };
        let id = Id(record[44..64].try_into().ok()?);
        let length = u32_at(64)? as usize;
        let path = rest.get(RECORD..RECORD + length)?;
        known.insert(path.to_vec(), (stamp, id));
        rest = &rest[RECORD + length..];
    }
    Some(Known(known))
}

/// Writes a cache of everything that is certain.
pub(crate) fn save(path: &Path, directory: &Directory, store: &Store) -> Result<(), Error> {
    let mut bytes = begin();
    directory.each(|path, entry| {
        if let Node::File(FileState { seen: Some(Seen { stamp, racy: false, id, .. }) }) = &entry.node {
            push(&mut bytes, path, stamp, id);
        }
    });
    store.replace(path, &finish(bytes))
}

/// A cache of these files.
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
