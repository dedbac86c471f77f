//! Which names of a folder belong to the tree.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, RawDir, fstat, fstatfs, statat};
use rustix::io::Errno;

use super::{Beside, Compared, Directory, Entry, FileState, Node, OwnRules, Scan};
use crate::Error;
use crate::rules::{Folder, Link, Outside, Rules, is_ignored};
use crate::stamp::Stamp;

/// File systems whose folders change their times whenever a name in them does: ext2 to ext4, XFS, Btrfs, tmpfs, F2FS,
/// overlay, ZFS, bcachefs. Others, such as network file systems, are listed anew in every scan.
const RELIABLE: [u64; 8] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x794c_7630, 0x2fc1_2fc1, 0xca45_1a4e];

/// The device of the workspace, when the times of its folders can be relied on.
pub(super) fn reliable_device(root: BorrowedFd<'_>) -> Option<u64> {
    let kind = fstatfs(root).ok()?.f_type as u64;
    RELIABLE.contains(&kind).then(|| fstat(root).ok().map(|stat| stat.st_dev)).flatten()
}

/// The names in a folder with their types.
pub(crate) fn list(fd: BorrowedFd<'_>) -> Result<Vec<(CString, FileType)>, Errno> {
    let mut buffer = [MaybeUninit::uninit(); 1 << 15];
    let mut names = Vec::new();
    rustix::fs::seek(fd, rustix::fs::SeekFrom::Start(0))?;
    let mut entries = RawDir::new(fd, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            // A folder that was removed after it was opened holds nothing.
            Err(Errno::NOENT) => break,
            entry => entry?,
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            kind = match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            };
        }
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}

impl Directory {
    /// Whether a folder is ignored, by the rules of the last scan.
    pub(crate) fn ignores(&self, outside: &Outside, path: &[u8]) -> bool {
        let (mut chain, mut base) = (Vec::new(), 0);
        // None where nothing belongs to the tree, so that no rules were read.
        let mut folder = Some(self);
        loop {
            if let Some(own) = folder.and_then(|folder| folder.rules.as_ref()) {
                chain.push(Link { rules: Arc::clone(&own.rules), base });
            }
            let end = path[base..].iter().position(|byte| *byte == b'/').map(|slash| base + slash);
            if is_ignored(&chain, outside, &path[..end.unwrap_or(path.len())], Folder::Yes) {
                return true;
            }
            let Some(end) = end else { return false };
            let child = folder.and_then(|folder| folder.entries.iter().find(|e| e.name.as_bytes() == &path[base..end]));
            folder = match child.map(|entry| &entry.node) {
                Some(Node::Directory(child)) => Some(child),
                _ => None,
            };
            base = end + 1;
        }
    }
}

impl Scan<'_> {
    /// Decides anew which names belong to the tree; what was known of those that stay is kept.
    pub(super) fn relist(
        &mut self,
        fd: BorrowedFd<'_>,
        directory: &mut Directory,
        names: Vec<(CString, FileType)>,
    ) -> Result<Compared, Error> {
        let before = directory.entries.len();
        let mut old: HashMap<CString, Node> =
            directory.entries.drain(..).map(|entry| (entry.name, entry.node)).collect();
        let mut kept = 0;
        directory.beside.clear();
        for (name, kind) in names {
            self.poll.check()?;
            let ignored = match self.belongs(fd, &name, kind, directory.ignored)? {
                Belongs::ToTree { ignored } => ignored,
                Belongs::Beside => {
                    directory.beside.push(Beside { name, is_folder: kind == FileType::Directory });
                    continue;
                }
                Belongs::ToRalph => continue,
            };
            let node = match (kind, old.remove(&name)) {
                (FileType::Directory, Some(Node::Directory(mut child))) => {
                    kept += 1;
                    child.ignored = ignored;
                    Node::Directory(child)
                }
                (FileType::Directory, _) => {
                    let mut child = Box::<Directory>::default();
                    child.ignored = ignored;
                    Node::Directory(child)
                }
                (_, Some(Node::File(state))) => {
                    kept += 1;
                    Node::File(state)
                }
                (_, _) => Node::File(FileState { seen: None }),
            };
            directory.entries.push(Entry { name, node });
        }
        directory.entries.shrink_to_fit();
        directory.entries.sort_by(Entry::order);
        let same = kept == before && directory.entries.len() == before;
        Ok(if same { Compared::Same } else { Compared::Changed })
    }

    fn belongs(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
        above_ignored: bool,
    ) -> Result<Belongs, Error> {
        let bytes = name.to_bytes();
        if bytes == b".git" || (bytes == b".ralph" && self.path.is_empty()) {
            return Ok(Belongs::Beside);
        }
        let folder = match kind {
            FileType::Directory => Folder::Yes,
            FileType::RegularFile | FileType::Symlink => Folder::No,
            // Pipes, sockets and devices have no content to keep.
            _ => return Ok(Belongs::Beside),
        };
        // Ralph's own state may lie in the workspace; it changes with every snapshot.
        if folder == Folder::Yes && self.is_own_state(fd, name)? {
            return Ok(Belongs::ToRalph);
        }
        let length = self.path.len();
        self.path.extend_from_slice(bytes);
        let ignored = above_ignored || is_ignored(&self.chain, self.outside, &self.path, folder);
        let wanted = !ignored
            || match folder {
                Folder::Yes => self.tracked.has_below(&self.path),
                Folder::No => self.tracked.has(&self.path),
            };
        self.path.truncate(length);
        Ok(if wanted { Belongs::ToTree { ignored } } else { Belongs::Beside })
    }

    fn is_own_state(&self, fd: BorrowedFd<'_>, name: &CStr) -> Result<bool, Error> {
        let Some(own) = self.own_state else { return Ok(false) };
        match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok((stat.st_dev, stat.st_ino) == own),
            Err(Errno::NOENT | Errno::ACCESS) => Ok(false),
            Err(errno) => Err(self.failed_at("read", name.to_bytes(), errno)),
        }
    }

    /// Brings the rules of the folder's own `.gitignore` up to date. Like git, it does not follow a link there.
    pub(super) fn own_rules(
        &mut self,
        fd: BorrowedFd<'_>,
        directory: &mut Directory,
        present: Presence,
    ) -> Result<Compared, Error> {
        let name = c".gitignore";
        let found = match present {
            Presence::Listed => match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Some(Stamp::of(&stat)),
                Ok(_) | Err(Errno::NOENT) => None,
                Err(errno) => return Err(self.failed_at("read", name.to_bytes(), errno)),
            },
            Presence::Absent => None,
        };
        let Some(stamp) = found else {
            return Ok(if directory.rules.take().is_some() { Compared::Changed } else { Compared::Same });
        };
        if directory.rules.as_ref().is_some_and(|own| own.stamp == stamp && !own.racy) {
            return Ok(Compared::Same);
        }
        // A file that cannot be read has no rules, as for git.
        let content = super::content::read_small(fd, name).unwrap_or_default();
        let racy = stamp.is_racy(self.started);
        if let Some(own) = &mut directory.rules
            && own.content == content
        {
            (own.stamp, own.racy) = (stamp, racy);
            return Ok(Compared::Same);
        }
        let rules = Arc::new(Rules::parse(&content));
        directory.rules = Some(OwnRules { stamp, racy, content, rules });
        Ok(Compared::Changed)
    }
}

/// What a name in a folder belongs to.
enum Belongs {
    /// The tree; of what is ignored, only because it is tracked.
    ToTree {
        ignored: bool,
    },
    Beside,
    ToRalph,
}

/// Whether a folder's list of names has a `.gitignore`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Listed,
    Absent,
}
