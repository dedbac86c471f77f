//! What a scan knows, on disk for the next process. A cache that is missing, old or broken costs time and nothing else.
//!
//! One header, what was seen, one checksum. It is thrown away after a reboot: objects are not flushed one by
//! one, so that after a power loss the cache could vouch for content that never reached the disk.
//!
//! A workspace is kept with its folders, so that a process that finds all of them unchanged lists none and computes no tree. What belongs
//! to a tree was decided by rules and lists that may be others now: the cache names them by a hash, and where that is another one the
//! folders are listed again. A checkout is a plain list of files.

use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::FileType;
use sha1::{Digest, Sha1};

use super::content::MARKER_ID;
use super::{Beside, Directory, Entry, FileState, Node, OwnRules, Seen};
use crate::Error;
use crate::object::{Id, Kind, Mode};
use crate::rules::Rules;
use crate::stamp::Stamp;
use crate::store::{Store, boot_id};

/// Change with the format, and where another decision belongs to the same rules.
const FOLDERS: &[u8; 16] = b"ralph-scan-v2\n\0\0";
const FILES: &[u8; 16] = b"ralph-scan-v1\n\0\0";
const CHECKSUM: usize = 20;
/// So much of it is in memory at a time: it is written when the process has everything else in memory, too.
const PIECE: usize = 1 << 16;

/// What stands before an entry of a folder.
const END: u8 = 0;
const FILE: u8 = 1;
const FOLDER: u8 = 2;

/// Writes what is certain of a workspace, with the hash of what decided it.
pub(crate) fn save(path: &Path, directory: &Directory, decided_by: &Id, store: &Store) -> Result<(), Error> {
    store.replace_with(path, |file| write(file, directory, decided_by, store))
}

fn write(file: &mut impl Write, directory: &Directory, decided_by: &Id, store: &Store) -> io::Result<()> {
    let (mut bytes, mut hash) = (begin(FOLDERS), Sha1::new());
    bytes.extend(decided_by.0);
    push_folder(&mut bytes, directory);
    let mut open = vec![directory.entries.iter()];
    while let Some(entries) = open.last_mut() {
        if bytes.len() >= PIECE {
            hash.update(&bytes);
            file.write_all(&bytes)?;
            bytes.clear();
        }
        match entries.next() {
            None => {
                bytes.push(END);
                open.pop();
            }
            Some(Entry { name, node: Node::File(state) }) => {
                bytes.push(FILE);
                push_bytes(&mut bytes, name.as_bytes());
                // Of a large file the next process says so again, and one that may not be read it names.
                let is_certain = |seen: &&Seen| !seen.racy && seen.id != *MARKER_ID && !store.is_large(&seen.id);
                push_option(&mut bytes, state.seen.as_ref().filter(is_certain), |bytes, seen| {
                    push_stamp(bytes, &seen.stamp);
                    bytes.extend(seen.id.0);
                });
            }
            Some(Entry { name, node: Node::Directory(child) }) => {
                bytes.push(FOLDER);
                push_bytes(&mut bytes, name.as_bytes());
                push_folder(&mut bytes, child);
                open.push(child.entries.iter());
            }
            Some(Entry { node: Node::Closed, .. }) => {}
        }
    }
    hash.update(&bytes);
    bytes.extend(hash.finalize());
    file.write_all(&bytes)
}

fn push_folder(bytes: &mut Vec<u8>, directory: &Directory) {
    // Without its stamp a folder is listed, which finds closed folders and reads its rules.
    let is_certain = directory.rules.as_ref().is_none_or(|rules| !rules.racy)
        && !directory.entries.iter().any(|entry| matches!(entry.node, Node::Closed));
    push_option(bytes, directory.stamp.as_ref().filter(|_| is_certain), push_stamp);
    push_option(bytes, directory.tree.as_ref(), |bytes, tree| bytes.extend(tree.0));
    bytes.push(u8::from(directory.ignored));
    bytes.extend(directory.plain_for.load(Relaxed).to_le_bytes());
    push_option(bytes, directory.rules.as_ref().filter(|rules| !rules.racy), |bytes, rules| {
        push_stamp(bytes, &rules.stamp);
        push_bytes(bytes, &rules.content);
    });
    bytes.extend((directory.beside.len() as u32).to_le_bytes());
    for beside in &directory.beside {
        bytes.push(u8::from(beside.is_folder));
        push_bytes(bytes, beside.name.as_bytes());
    }
}

/// Reads what [`save`] wrote, with the hash of what decided it; nothing where there is none that can be used.
pub(crate) fn load(path: &Path, store: &Store) -> Option<(Directory, Id)> {
    let bytes = fs::read(path).ok()?;
    let (directory, decided_by) = parse(&bytes)?;
    // Somebody may have tidied up in the store.
    let tree = directory.tree.filter(|tree| *tree != Id::EMPTY_TREE);
    tree.is_none_or(|tree| store.has(Kind::Tree, &tree).unwrap_or(false)).then_some((directory, decided_by))
}

fn parse(bytes: &[u8]) -> Option<(Directory, Id)> {
    let mut rest = Rest(checked(bytes, FOLDERS)?);
    let decided_by = rest.id()?;
    let mut open: Vec<(CString, Directory)> = vec![(CString::default(), rest.folder()?)];
    loop {
        match rest.byte()? {
            END => {
                let (name, directory) = open.pop()?;
                let Some((_, above)) = open.last_mut() else {
                    return rest.0.is_empty().then_some((directory, decided_by));
                };
                above.entries.push(Entry { name, node: Node::Directory(Box::new(directory)) });
            }
            FILE => {
                let name = rest.name()?;
                let seen = rest.option(|rest| {
                    let (stamp, id) = (rest.stamp()?, rest.id()?);
                    let mode = match FileType::from_raw_mode(stamp.mode) {
                        FileType::Symlink => Mode::Link,
                        _ => Mode::of_permissions(stamp.mode),
                    };
                    Some(Seen { stamp, racy: false, mode, id })
                })?;
                open.last_mut()?.1.entries.push(Entry { name, node: Node::File(FileState { seen }) });
            }
            FOLDER => open.push((rest.name()?, rest.folder()?)),
            _ => return None,
        }
    }
}

/// Writes a list of files.
pub(crate) fn encode<'a>(files: impl Iterator<Item = (&'a [u8], &'a Stamp, &'a Id)>) -> Vec<u8> {
    let mut bytes = begin(FILES);
    for (path, stamp, id) in files {
        push_stamp(&mut bytes, stamp);
        bytes.extend(id.0);
        push_bytes(&mut bytes, path);
    }
    finish(bytes)
}

/// Reads a list of files; an empty one where there is none that can be used.
pub(crate) fn load_list(path: &Path) -> Vec<(Vec<u8>, Stamp, Id)> {
    fs::read(path).ok().and_then(|bytes| parse_list(&bytes)).unwrap_or_default()
}

fn parse_list(bytes: &[u8]) -> Option<Vec<(Vec<u8>, Stamp, Id)>> {
    let mut rest = Rest(checked(bytes, FILES)?);
    let mut files = Vec::new();
    while !rest.0.is_empty() {
        let (stamp, id) = (rest.stamp()?, rest.id()?);
        files.push((rest.bytes()?.to_vec(), stamp, id));
    }
    Some(files)
}

fn begin(header: &[u8; 16]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    bytes.extend(boot_id());
    bytes
}

fn finish(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = Sha1::digest(&bytes);
    bytes.extend(checksum);
    bytes
}

/// What stands between header and checksum, where both are right and this is the boot that it was written in.
fn checked<'a>(bytes: &'a [u8], header: &[u8; 16]) -> Option<&'a [u8]> {
    let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
    if Sha1::digest(content)[..] != *checksum {
        return None;
    }
    content.strip_prefix(header)?.strip_prefix(&boot_id()[..])
}

fn push_stamp(bytes: &mut Vec<u8>, stamp: &Stamp) {
    bytes.extend(stamp.device.to_le_bytes());
    bytes.extend(stamp.inode.to_le_bytes());
    bytes.extend(stamp.mode.to_le_bytes());
    bytes.extend(stamp.size.to_le_bytes());
    bytes.extend(stamp.modified.to_le_bytes());
    bytes.extend(stamp.changed.to_le_bytes());
}

fn push_bytes(bytes: &mut Vec<u8>, more: &[u8]) {
    bytes.extend((more.len() as u32).to_le_bytes());
    bytes.extend_from_slice(more);
}

fn push_option<T>(bytes: &mut Vec<u8>, value: Option<&T>, push: impl FnOnce(&mut Vec<u8>, &T)) {
    bytes.push(u8::from(value.is_some()));
    if let Some(value) = value {
        push(bytes, value);
    }
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn id(&mut self) -> Option<Id> {
        self.take().map(Id)
    }

    fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp {
            device: self.u64()?,
            inode: self.u64()?,
            mode: self.u32()?,
            size: self.u64()?,
            modified: self.u64()? as i64,
            changed: self.u64()? as i64,
        })
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn name(&mut self) -> Option<CString> {
        CString::new(self.bytes()?).ok()
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.byte()? == 0 { Some(None) } else { read(self).map(Some) }
    }

    fn folder(&mut self) -> Option<Directory> {
        let mut directory = Directory::default();
        directory.stamp = self.option(Self::stamp)?;
        directory.tree = self.option(Self::id)?;
        directory.ignored = self.byte()? != 0;
        directory.set_plain_for(self.u64()?);
        directory.rules = self.option(|rest| {
            let (stamp, content) = (rest.stamp()?, rest.bytes()?.to_vec());
            let rules = Arc::new(Rules::parse(&content));
            Some(OwnRules { stamp, racy: false, content, rules })
        })?;
        for _ in 0..self.u32()? {
            let is_folder = self.byte()? != 0;
            directory.beside.push(Beside { name: self.name()?, is_folder });
        }
        Some(directory)
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
