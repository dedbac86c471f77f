//! Looks at the workspace and says which tree it is. Changes nothing in it.
//!
//! What was seen stays in memory as a tree of folders. A later scan costs one `fstat` for each folder and one `statat` for
//! each file, spread over the processors (see [`verify`]): the names of a folder are read again only when the folder's own times say that they changed, and a file's
//! content only when the file's do. Everything is opened relative to its folder and without following links, so that a
//! link can lead the walk nowhere.

mod cache;
mod content;
mod listing;
mod verify;

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use listing::Presence;
use rustix::fs::{AtFlags, Mode as Permissions, OFlags, fstat, open, openat, statat};
use rustix::io::Errno;

pub(crate) use cache::{Known, encode as encode_cache, load as load_cache, save as save_cache};
pub(crate) use content::MARKER;
pub(crate) use listing::list;

use crate::Error;
use crate::object::{Id, Kind, Mode, order, push_entry};
use crate::rules::{Chain, Folder, Outside, Rules, is_ignored};
use crate::stamp::{Instant, Stamp};
use crate::store::{Batch, Store};
use crate::tracked::Tracked;

/// How often a folder that changes under the scan is looked at before the last look counts.
const ROUNDS: usize = 3;

/// How folders are opened: never through a link.
pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder as it was last seen.
#[derive(Default)]
pub(crate) struct Directory {
    /// Its own stamp, when that vouches for the list of names.
    stamp: Option<Stamp>,
    /// What belongs to the tree, in git's order.
    entries: Vec<Entry>,
    /// Its `.gitignore`.
    rules: Option<OwnRules>,
    /// Its tree, once computed; the empty tree when nothing in it belongs to the snapshot.
    tree: Option<Id>,
    /// It is ignored or in an ignored folder: only the tracked files in it count.
    ignored: bool,
    /// The number of the last scan that found it unchanged, before it was walked.
    verified: AtomicU32,
}

impl Directory {
    /// The paths of everything that belongs to the tree, as the last scan saw it.
    pub(crate) fn paths(&self, prefix: &[u8], found: &mut HashSet<Vec<u8>>) {
        for entry in &self.entries {
            let path = [prefix, entry.name.to_bytes()].concat();
            match &entry.node {
                Node::Directory(folder) => folder.paths(&[&path[..], b"/"].concat(), found),
                Node::File(_) | Node::Closed => {
                    found.insert(path);
                }
            }
        }
    }

    /// Whether a folder is ignored, by the rules of the last scan.
    pub(crate) fn ignores(&self, outside: &Outside, path: &[u8]) -> bool {
        self.ignores_below(outside, path, 0, None)
    }

    fn ignores_below(&self, outside: &Outside, path: &[u8], base: usize, above: Option<&Chain<'_>>) -> bool {
        let own = self.rules.as_ref().map(|own| Chain { rules: &own.rules, base, above });
        let chain = own.as_ref().or(above);
        let end = path[base..].iter().position(|byte| *byte == b'/').map(|slash| base + slash);
        let here = &path[..end.unwrap_or(path.len())];
        if is_ignored(chain, outside, here, Folder::Yes) {
            return true;
        }
        let Some(end) = end else { return false };
        let name = &path[base..end];
        let child = self.entries.iter().find(|entry| entry.name.as_bytes() == name);
        match child.map(|entry| &entry.node) {
            Some(Node::Directory(child)) => child.ignores_below(outside, path, end + 1, chain),
            // Nothing in it belongs to the tree, and it has no rules that were read.
            _ => Self::default().ignores_below(outside, path, end + 1, chain),
        }
    }
}

struct OwnRules {
    stamp: Stamp,
    racy: bool,
    content: Vec<u8>,
    rules: Arc<Rules>,
}

struct Entry {
    name: CString,
    node: Node,
}

enum Node {
    File(FileState),
    Directory(Box<Directory>),
    /// A folder that may not be read.
    Closed,
}

/// A file or link as it was last seen.
struct FileState {
    /// `None` until it was looked at.
    seen: Option<Seen>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) stamp: Stamp,
    pub(crate) racy: bool,
    pub(crate) mode: Mode,
    pub(crate) id: Id,
}

impl Entry {
    fn mode(&self) -> Mode {
        match &self.node {
            Node::Directory(_) => Mode::Tree,
            Node::File(state) => state.seen.map_or(Mode::File, |seen| seen.mode),
            Node::Closed => Mode::File,
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        order((self.name.as_bytes(), self.mode()), (other.name.as_bytes(), other.mode()))
    }
}

/// Whether something is as it was at the last scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Same,
    Changed,
    /// It is not there any more, or not what it was when its folder was listed.
    Elsewhere,
    /// It is there and may not be read.
    Closed,
}

impl Compared {
    /// Changed, unless it is worse already.
    const fn or_changed(self) -> Self {
        match self {
            Self::Same => Self::Changed,
            Self::Changed | Self::Elsewhere | Self::Closed => self,
        }
    }
}

/// Which entries of a folder are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// All of them.
    All,
    /// Folders: the files are known to be unchanged.
    Folders,
}

/// A folder that is opened when something in it has to be looked at.
struct Handle<'a> {
    above: Option<&'a Handle<'a>>,
    name: &'a CStr,
    fd: OnceCell<OwnedFd>,
}

impl Handle<'_> {
    fn open(&self) -> Result<BorrowedFd<'_>, Errno> {
        if let Some(fd) = self.fd.get() {
            return Ok(fd.as_fd());
        }
        let above = self.above.ok_or(Errno::BADF)?.open()?;
        let opened = openat(above, self.name, FOLDER, Permissions::empty())?;
        Ok(self.fd.get_or_init(|| opened).as_fd())
    }
}

/// What holds for a whole folder because of the folders above it.
#[derive(Clone, Copy)]
struct Inherited<'a> {
    chain: Option<&'a Chain<'a>>,
    /// The rules above are not those of the last scan.
    rules_changed: bool,
}

/// One look at the workspace.
pub(crate) struct Scan<'a> {
    pub(crate) root: &'a Path,
    pub(crate) store: &'a Store,
    pub(crate) batch: &'a mut Batch,
    pub(crate) tracked: &'a Tracked,
    pub(crate) outside: &'a Outside,
    /// What an earlier process knew; consulted for files that this one has not seen.
    pub(crate) known: &'a Known,
    /// Whether every folder has to be listed again, because what belongs to the tree is decided otherwise now.
    pub(crate) relist: bool,
    /// Device and inode of Ralph's state folder, when that could lie in the workspace.
    pub(crate) own_state: Option<(u64, u64)>,
    started: Instant,
    /// The device whose folders change their times when their names do.
    pub(crate) reliable: Option<u64>,
    path: Vec<u8>,
    /// Files whose content was read.
    pub(crate) read: usize,
    /// How many threads may look at folders.
    pub(crate) threads: usize,
    /// Told from one scan to the next, so that old marks mean nothing.
    pub(crate) number: u32,
}

impl<'a> Scan<'a> {
    /// Prepares a scan; set [`Scan::relist`] before [`Scan::run`] where it is needed.
    pub(crate) fn new(
        root: &'a Path,
        store: &'a Store,
        batch: &'a mut Batch,
        tracked: &'a Tracked,
        outside: &'a Outside,
        known: &'a Known,
    ) -> Self {
        Self {
            root,
            store,
            batch,
            tracked,
            outside,
            known,
            relist: false,
            own_state: None,
            started: Instant::now(),
            reliable: None,
            path: Vec::new(),
            read: 0,
            threads: 1,
            number: 0,
        }
    }

    /// Brings `directory` up to date and gives its tree. The objects are in the batch, not yet in the store.
    pub(crate) fn run(&mut self, directory: &mut Directory) -> Result<Id, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(self.root, flags, Permissions::empty()).map_err(Error::io("open", self.root))?;
        self.reliable = listing::reliable_device(root.as_fd());
        if let Some(device) = self.reliable
            && !self.relist
        {
            verify::verify(root.as_fd(), directory, device, self.number, self.threads);
        }
        let handle = Handle { above: None, name: c".", fd: OnceCell::from(root) };
        let inherited = Inherited { chain: None, rules_changed: self.relist };
        match self.directory(&handle, directory, inherited)? {
            Compared::Same | Compared::Changed => Ok(directory.tree.unwrap_or(Id::EMPTY_TREE)),
            Compared::Elsewhere | Compared::Closed => Err(self.failed("read", Errno::ACCESS)),
        }
    }

    fn directory(
        &mut self,
        handle: &Handle<'_>,
        directory: &mut Directory,
        above: Inherited<'_>,
    ) -> Result<Compared, Error> {
        let mut changed = directory.tree.is_none();
        let verified = directory.verified.load(Relaxed) == self.number && self.number > 0 && !above.rules_changed;
        for round in 0..ROUNDS {
            let visited = if verified && round == 0 {
                let rules = directory.rules.as_ref().map(|own| own.rules.clone());
                let own = rules.as_deref().map(|rules| Chain { rules, base: self.path.len(), above: above.chain });
                let chain = own.as_ref().or(above.chain);
                self.entries(handle, directory, Inherited { chain, rules_changed: false }, Visit::Folders)?
            } else {
                let fd = match handle.open() {
                    Ok(fd) => fd,
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Compared::Elsewhere),
                    Err(Errno::ACCESS | Errno::PERM) => return Ok(Compared::Closed),
                    Err(errno) => return Err(self.failed("open", errno)),
                };
                self.update(handle, fd, directory, above, &mut changed)?
            };
            changed |= visited != Compared::Same;
            if visited != Compared::Elsewhere {
                break;
            }
            // Something moved while it was looked at. The last look counts; the next scan lists the folder again.
            directory.stamp = None;
        }
        if !changed {
            return Ok(Compared::Same);
        }
        let before = directory.tree;
        let tree = self.tree(directory)?;
        directory.tree = Some(tree);
        Ok(if before == Some(tree) { Compared::Same } else { Compared::Changed })
    }

    /// Brings a folder's names and rules up to date where its times say so, then visits its entries.
    fn update(
        &mut self,
        handle: &Handle<'_>,
        fd: BorrowedFd<'_>,
        directory: &mut Directory,
        above: Inherited<'_>,
        changed: &mut bool,
    ) -> Result<Compared, Error> {
        let stamp = Stamp::of(&fstat(fd).map_err(|errno| self.failed("look at", errno))?);
        let valid = directory.stamp == Some(stamp) && !above.rules_changed && self.reliable == Some(stamp.device);
        let mut names = if valid { None } else { Some(list(fd).map_err(|errno| self.failed("read", errno))?) };
        let mut rules_changed = above.rules_changed;
        let listed = match &names {
            Some(names) => names.iter().any(|(name, _)| name.as_bytes() == b".gitignore"),
            None => directory.rules.is_some(),
        };
        let presence = if listed { Presence::Listed } else { Presence::Absent };
        if self.own_rules(fd, directory, presence)? == Compared::Changed {
            rules_changed = true;
            if names.is_none() {
                names = Some(list(fd).map_err(|errno| self.failed("read", errno))?);
            }
        }
        let rules = directory.rules.as_ref().map(|own| own.rules.clone());
        let own = rules.as_deref().map(|rules| Chain { rules, base: self.path.len(), above: above.chain });
        let chain = own.as_ref().or(above.chain);
        if let Some(names) = names {
            *changed |= self.relist(fd, directory, names, chain)? == Compared::Changed;
        }
        directory.stamp = (!stamp.is_racy(self.started)).then_some(stamp);
        self.entries(handle, directory, Inherited { chain, rules_changed }, Visit::All)
    }

    /// Visits the entries of a listed folder. An entry that is gone is dropped from the list.
    fn entries(
        &mut self,
        handle: &Handle<'_>,
        directory: &mut Directory,
        inherited: Inherited<'_>,
        visit: Visit,
    ) -> Result<Compared, Error> {
        let mut result = Compared::Same;
        let mut index = 0;
        while index < directory.entries.len() {
            let entry = &mut directory.entries[index];
            let compared = match &mut entry.node {
                Node::File(_) if visit == Visit::Folders => Compared::Same,
                Node::File(state) => {
                    let fd = handle.open().map_err(|errno| self.failed("open", errno))?;
                    self.file(fd, &entry.name, state)?
                }
                Node::Closed => Compared::Same,
                Node::Directory(child) => {
                    let length = self.path.len();
                    self.path.extend_from_slice(entry.name.as_bytes());
                    self.path.push(b'/');
                    let below = Handle { above: Some(handle), name: &entry.name, fd: OnceCell::new() };
                    let compared = self.directory(&below, child, inherited);
                    self.path.truncate(length);
                    compared?
                }
            };
            match compared {
                Compared::Same => {}
                Compared::Changed => result = result.or_changed(),
                Compared::Closed => {
                    entry.node = Node::Closed;
                    // Opening it up again changes the times of the closed folder, not those of the one that lists it.
                    directory.stamp = None;
                    result = result.or_changed();
                }
                Compared::Elsewhere => {
                    directory.entries.remove(index);
                    result = Compared::Elsewhere;
                    continue;
                }
            }
            index += 1;
        }
        Ok(result)
    }

    fn file(&mut self, fd: BorrowedFd<'_>, name: &CString, state: &mut FileState) -> Result<Compared, Error> {
        let stat = match statat(fd, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Compared::Elsewhere),
            Err(errno) => return Err(self.failed_at("look at", name.as_bytes(), errno)),
        };
        let stamp = Stamp::of(&stat);
        if let Some(seen) = &state.seen
            && seen.stamp == stamp
            && !seen.racy
        {
            return Ok(Compared::Same);
        }
        let length = self.path.len();
        self.path.extend_from_slice(name.as_bytes());
        let seen = self.look(fd, name, stamp);
        self.path.truncate(length);
        let Some(seen) = seen? else { return Ok(Compared::Elsewhere) };
        let same = state.seen.is_some_and(|before| before.id == seen.id && before.mode == seen.mode);
        state.seen = Some(seen);
        Ok(if same { Compared::Same } else { Compared::Changed })
    }

    /// The tree object of a folder whose entries are up to date.
    fn tree(&mut self, directory: &mut Directory) -> Result<Id, Error> {
        // A folder that turned out to be closed stands in the tree as a file, which sorts differently.
        if directory.entries.iter().any(|entry| matches!(entry.node, Node::Closed)) {
            directory.entries.sort_by(Entry::order);
        }
        let mut content = Vec::with_capacity(directory.entries.len() * 48);
        for entry in &directory.entries {
            match &entry.node {
                Node::File(FileState { seen: Some(seen) }) => {
                    push_entry(&mut content, entry.name.as_bytes(), seen.mode, &seen.id);
                }
                Node::Directory(child) => {
                    if let Some(tree) = child.tree.filter(|tree| *tree != Id::EMPTY_TREE) {
                        push_entry(&mut content, entry.name.as_bytes(), Mode::Tree, &tree);
                    }
                }
                Node::Closed => push_entry(&mut content, entry.name.as_bytes(), Mode::File, &self.marker()?),
                // Vanished between the listing and the look.
                Node::File(FileState { seen: None }) => {}
            }
        }
        let id = Id::of(Kind::Tree, &content);
        self.batch.add(self.store, Kind::Tree, id, content)?;
        Ok(id)
    }

    fn failed(&self, action: &'static str, errno: Errno) -> Error {
        self.failed_at(action, b"", errno)
    }

    fn failed_at(&self, action: &'static str, name: &[u8], errno: Errno) -> Error {
        use std::os::unix::ffi::OsStrExt;
        let below = [&self.path, name].concat();
        Error::io(action, self.root.join(std::ffi::OsStr::from_bytes(&below)))(errno)
    }
}
