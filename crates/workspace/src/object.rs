//! Git's objects as values: ids, modes, trees. Reads and writes nothing.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use sha1::{Digest, Sha1};

use crate::Error;

/// The SHA-1 id of a git object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(pub(crate) [u8; 20]);

impl Id {
    /// The tree without entries.
    pub(crate) const EMPTY_TREE: Self = Self([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb, 0xee,
        0x49, 0x04,
    ]);

    /// The id that git gives to this content.
    pub(crate) fn of(kind: Kind, content: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(kind.header(content.len() as u64));
        hash.update(content);
        Self(hash.finalize().into())
    }

    /// Reads 40 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || Error::NotAnId(text.to_owned());
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return Err(wrong());
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |c: u8| (c as char).to_digit(16).ok_or_else(wrong);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }

    /// The 40 digits.
    pub(crate) fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[digit as usize] as char).collect()
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

/// Kinds of objects that Ralph writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    Tree,
    Blob,
}

impl Kind {
    /// As git writes it in a header and takes it as an argument.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Commit => 1,
            Self::Tree => 2,
            Self::Blob => 3,
        }
    }

    /// What precedes the content when it is hashed or stored loose.
    pub(crate) fn header(self, size: u64) -> Vec<u8> {
        format!("{} {size}\0", self.name()).into_bytes()
    }
}

/// What a name in a tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    File,
    Executable,
    Link,
    Tree,
}

impl Mode {
    /// The octal digits in a tree object.
    pub(crate) const fn digits(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Tree => "40000",
        }
    }

    /// Reads the octal digits; git's older spellings of a plain file count as one.
    pub(crate) fn parse(digits: &[u8]) -> Option<Self> {
        match digits {
            b"100644" | b"100664" => Some(Self::File),
            b"100755" => Some(Self::Executable),
            b"120000" => Some(Self::Link),
            b"40000" => Some(Self::Tree),
            _ => None,
        }
    }

    /// The mode of a regular file with these permissions: git looks at the owner's execute bit only.
    pub(crate) const fn of_permissions(mode: u32) -> Self {
        if mode & 0o100 == 0 { Self::File } else { Self::Executable }
    }

    /// Whether it has content of its own that is no link target.
    pub(crate) const fn is_regular(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) mode: Mode,
    pub(crate) id: Id,
}

/// The order of names in a tree: a folder sorts as if its name ended with a slash.
pub(crate) fn order(left: (&[u8], Mode), right: (&[u8], Mode)) -> Ordering {
    let shared = left.0.len().min(right.0.len());
    left.0[..shared].cmp(&right.0[..shared]).then_with(|| {
        let next = |(name, mode): (&[u8], Mode)| match name.get(shared) {
            Some(byte) => *byte,
            None if mode == Mode::Tree => b'/',
            None => 0,
        };
        next(left).cmp(&next(right))
    })
}

/// Appends one name to the content of a tree object.
pub(crate) fn push_entry(content: &mut Vec<u8>, name: &[u8], mode: Mode, id: &Id) {
    content.extend_from_slice(mode.digits().as_bytes());
    content.push(b' ');
    content.extend_from_slice(name);
    content.push(0);
    content.extend_from_slice(&id.0);
}

/// Files and links by path.
pub(crate) type Files = BTreeMap<Vec<u8>, (Mode, Id)>;

/// The tree of a list of files; `add` takes every tree object. A list with a file and something below it is no tree.
pub(crate) fn tree_of<E>(files: &Files, add: &mut impl FnMut(Id, Vec<u8>) -> Result<(), E>) -> Result<Id, E> {
    // Folders whose files come one after the other: where their names begin in a path, and what is in them so far.
    let mut open: Vec<(usize, Vec<Entry>)> = vec![(0, Vec::new())];
    let mut current: &[u8] = b"";
    for (path, (mode, id)) in files {
        let shared = current.iter().zip(path).take_while(|(left, right)| left == right).count();
        while open.last().is_some_and(|(base, _)| *base > shared) {
            close(&mut open, current, add)?;
        }
        let base = open.last().map_or(0, |(base, _)| *base);
        let below = path[base..].iter().enumerate().filter(|(_, byte)| **byte == b'/');
        open.extend(below.map(|(slash, _)| (base + slash + 1, Vec::new())));
        if let Some((base, entries)) = open.last_mut() {
            entries.push(Entry { name: path[*base..].to_vec(), mode: *mode, id: *id });
        }
        current = path;
    }
    loop {
        if let Some(id) = close(&mut open, current, add)? {
            return Ok(id);
        }
    }
}

/// Ends the innermost folder; gives its tree where it is the outermost one too.
fn close<E>(
    open: &mut Vec<(usize, Vec<Entry>)>,
    path: &[u8],
    add: &mut impl FnMut(Id, Vec<u8>) -> Result<(), E>,
) -> Result<Option<Id>, E> {
    let (end, mut entries) = open.pop().unwrap_or_default();
    entries.sort_by(|left, right| order((&left.name, left.mode), (&right.name, right.mode)));
    let mut content = Vec::new();
    for Entry { name, mode, id } in &entries {
        push_entry(&mut content, name, *mode, id);
    }
    let id = Id::of(Kind::Tree, &content);
    add(id, content)?;
    let Some((base, above)) = open.last_mut() else { return Ok(Some(id)) };
    above.push(Entry { name: path[*base..end - 1].to_vec(), mode: Mode::Tree, id });
    Ok(None)
}

/// Reads the content of a tree object; `None` when it is none that Ralph wrote.
pub(crate) fn parse_tree(mut content: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ')?;
        let mode = Mode::parse(&content[..space])?;
        let rest = &content[space + 1..];
        let end = rest.iter().position(|byte| *byte == 0)?;
        let id = rest.get(end + 1..end + 21)?;
        entries.push(Entry { name: rest[..end].to_vec(), mode, id: Id(id.try_into().ok()?) });
        content = &rest[end + 21..];
    }
    Some(entries)
}

/// The entry with this name, of the sorted ones of a folder.
pub(crate) fn named<'a>(entries: &'a [Entry], name: &[u8]) -> Option<&'a Entry> {
    // What a name stands for decides where it is.
    [Mode::File, Mode::Tree].into_iter().find_map(|mode| {
        let at = entries.binary_search_by(|entry| order((&entry.name, entry.mode), (name, mode))).ok()?;
        entries.get(at).filter(|entry| entry.name == name)
    })
}

/// A commit object of Ralph's own.
pub(crate) fn commit(tree: &Id, parent: Option<&Id>, seconds: i64, message: &str) -> Vec<u8> {
    let parent = parent.map(|id| format!("parent {}\n", id.hex())).unwrap_or_default();
    let who = format!("Ralph <ralph@localhost> {seconds} +0000");
    format!("tree {}\n{parent}author {who}\ncommitter {who}\n\n{message}\n", tree.hex()).into_bytes()
}

pub(crate) fn commit_tree(content: &[u8]) -> Option<Id> {
    let line = content.strip_prefix(b"tree ")?.get(..40)?;
    Id::parse(std::str::from_utf8(line).ok()?).ok()
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
