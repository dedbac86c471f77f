//! Looks at the workspace and says which tree it is. Changes nothing in it.
//!
//! What was seen stays in memory as a tree of folders. A later scan costs one `fstat` for each folder and one `statat` for
//! each file, spread over the processors (see [`verify`]): the names of a folder are read again only when the folder's own times say that they changed, and a file's
//! content only when the file's do. Everything is opened relative to its folder and without following links, so that a
//! link can lead the walk nowhere.

mod cache;
mod content;
mod inotify;
mod listing;
mod verify;

use std::cmp::Ordering;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use listing::Presence;
use rustix::fs::{AtFlags, Mode as Permissions, OFlags, fstat, open, statat};
use rustix::io::Errno;

pub(crate) use cache::{encode as encode_list, load as load_cache, load_list, save as save_cache};
pub(crate) use content::MARKER_ID;
pub(crate) use inotify::{Belief, Inotify};
pub(crate) use listing::list;

use crate::Error;
use crate::content::MAX_FILE;
use crate::descent::Descent;
pub(crate) use crate::descent::FOLDER;
use crate::object::{Id, Kind, Mode, order, push_entry};
use crate::rules::{Link, Outside, Rules};
use crate::stamp::{Instant, Stamp};
use crate::stop::Poll;
use crate::store::{Batch, Store};
use crate::tracked::Tracked;

/// How often a folder that changes under the scan is looked at before the last look counts.
const ROUNDS: usize = 3;

/// A folder as it was last seen.
#[derive(Default)]
pub(crate) struct Directory {
    /// Its own stamp, when that vouches for the list of names.
    stamp: Option<Stamp>,
    /// What belongs to the tree, in git's order.
    entries: Vec<Entry>,
    beside: Vec<Beside>,
    /// Its `.gitignore`.
    rules: Option<OwnRules>,
    /// Its tree, once computed; the empty tree when nothing in it belongs to the snapshot.
    tree: Option<Id>,
    /// It is ignored or in an ignored folder: only the tracked files in it count.
    ignored: bool,
    /// The number of the last scan that found it unchanged, before it was walked.
    verified: AtomicU32,
    /// The set of globs, as a hash, to which none of its names matters; none when zero.
    plain_for: AtomicU64,
    /// Its number in [`Inotify`].
    watch: AtomicI32,
}

impl Directory {
    /// The names in it that do not belong to the tree, as the last scan saw it.
    pub(crate) fn beside(&self) -> &[Beside] {
        &self.beside
    }

    /// The folders in it that belong to the tree, as the last scan saw it.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (&CStr, &Self)> {
        self.entries.iter().filter_map(|entry| match &entry.node {
            Node::Directory(child) => Some((entry.name.as_c_str(), &**child)),
            Node::File(_) | Node::Closed => None,
        })
    }

    /// Calls `visit` for everything below, a folder before what is in it.
    fn each<'a>(&'a self, mut visit: impl FnMut(&[u8], &'a Entry)) {
        let mut path = Vec::new();
        let mut open = vec![(self.entries.iter(), 0)];
        while let Some((entries, length)) = open.last_mut() {
            path.truncate(*length);
            let Some(entry) = entries.next() else {
                open.pop();
                continue;
            };
            path.extend_from_slice(entry.name.as_bytes());
            visit(&path, entry);
            if let Node::Directory(child) = &entry.node {
                path.push(b'/');
                open.push((child.entries.iter(), path.len()));
            }
        }
    }

    /// The paths of all files and links of its tree, sorted.
    pub(crate) fn paths(&self) -> Vec<Vec<u8>> {
        let is_in_tree = |entry: &Entry| match &entry.node {
            Node::File(FileState { seen }) => seen.is_some(),
            Node::Closed => true,
            Node::Directory(_) => false,
        };
        // Counted first: a list that grows takes twice the memory of a loop's largest.
        let mut count = 0;
        self.each(|_, entry| count += usize::from(is_in_tree(entry)));
        let mut paths = Vec::with_capacity(count);
        self.each(|path, entry| {
            if is_in_tree(entry) {
                paths.push(path.to_vec());
            }
        });
        paths.sort_unstable();
        paths
    }

    /// A folder of the tree, as the last scan saw it.
    pub(crate) fn find(&self, path: &[u8]) -> Option<&Self> {
        let mut folder = self;
        for name in path.split(|byte| *byte == b'/') {
            let found = folder
                .entries
                .binary_search_by(|entry| order((entry.name.as_bytes(), entry.mode()), (name, Mode::Tree)));
            match &folder.entries[found.ok()?].node {
                Node::Directory(child) => folder = child,
                Node::File(_) | Node::Closed => return None,
            }
        }
        Some(folder)
    }

    /// The stamp that it had, if that vouches for its names.
    pub(crate) const fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// Whether none of its names matters to a set of globs.
    pub(crate) fn is_plain_for(&self, globs: u64) -> bool {
        self.plain_for.load(Relaxed) == globs
    }

    pub(crate) fn set_plain_for(&self, globs: u64) {
        self.plain_for.store(globs, Relaxed);
    }

    fn take_folders(&mut self) -> impl Iterator<Item = Box<Self>> {
        let entries = std::mem::take(&mut self.entries).into_iter();
        entries.filter_map(|entry| match entry.node {
            Node::Directory(child) => Some(child),
            Node::File(_) | Node::Closed => None,
        })
    }
}

/// Not left to the compiler, which would go as deep into the stack as folders are nested.
impl Drop for Directory {
    fn drop(&mut self) {
        let mut open: Vec<Box<Self>> = self.take_folders().collect();
        while let Some(mut folder) = open.pop() {
            open.extend(folder.take_folders());
        }
    }
}

/// A name in a folder that does not belong to the tree.
pub(crate) struct Beside {
    pub(crate) name: CString,
    pub(crate) is_folder: bool,
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
    All,
    /// Folders: the files are known to be unchanged.
    Folders,
}

/// A folder on the way to the one that is looked at.
struct Frame {
    directory: Box<Directory>,
    /// How many rules come from the folders above, and how much of the path leads here.
    rules: usize,
    length: usize,
    /// Whether the rules above are not those of the last scan; whether those for the folders in it are not.
    rules_changed: bool,
    below_changed: bool,
    changed: bool,
    round: usize,
    /// Whether the round has begun, and how far it has come.
    begun: bool,
    visit: Visit,
    index: usize,
    visited: Compared,
}

impl Frame {
    fn new(directory: Box<Directory>, rules: usize, length: usize, rules_changed: bool) -> Self {
        let (changed, below_changed) = (directory.tree.is_none(), rules_changed);
        let (round, begun, visit, index, visited) = (0, false, Visit::All, 0, Compared::Same);
        Self { directory, rules, length, rules_changed, below_changed, changed, round, begun, visit, index, visited }
    }

    /// The entry was looked at; the next one follows. One that is gone is dropped from the list.
    fn note(&mut self, compared: Compared) {
        match compared {
            Compared::Same => {}
            Compared::Changed => self.visited = self.visited.or_changed(),
            Compared::Closed => {
                self.directory.entries[self.index].node = Node::Closed;
                // Opening it up again changes the times of the closed folder, not those of the one that lists it.
                self.directory.stamp = None;
                self.visited = self.visited.or_changed();
            }
            Compared::Elsewhere => {
                self.directory.entries.remove(self.index);
                self.visited = Compared::Elsewhere;
                return;
            }
        }
        self.index += 1;
    }
}

/// What comes next in a folder.
enum Advance {
    /// The folder that is the next entry.
    Enter(Box<Directory>),
    Done(Compared),
}

pub(crate) struct Scan<'a> {
    pub(crate) root: &'a Path,
    pub(crate) store: &'a Store,
    pub(crate) batch: &'a mut Batch,
    pub(crate) tracked: &'a mut Tracked,
    pub(crate) outside: &'a Outside,
    /// Whether every folder has to be listed again, because what belongs to the tree is decided otherwise now.
    pub(crate) relist: bool,
    /// Device and inode of Ralph's state folder, when that could lie in the workspace.
    pub(crate) own_state: Option<(u64, u64)>,
    started: Instant,
    /// The device whose folders change their times when their names do.
    pub(crate) reliable: Option<u64>,
    path: Vec<u8>,
    /// The rules on the way to the folder that is looked at.
    chain: Vec<Link>,
    poll: Poll,
    /// Files that take more of the disk are not read.
    pub(crate) max_file: u64,
    /// Files that were too large to be read.
    pub(crate) large: Vec<Vec<u8>>,
    /// Files and folders that may not be read.
    pub(crate) closed: Vec<Vec<u8>>,
    pub(crate) read: usize,
    /// Whether something had to be looked at that was not known to be unchanged.
    pub(crate) walked: bool,
    pub(crate) threads: usize,
    pub(crate) belief: Belief,
    pub(crate) reports: Option<Inotify>,
    /// Told from one scan to the next, so that old marks mean nothing.
    pub(crate) number: u32,
}

impl<'a> Scan<'a> {
    /// Prepares a scan; set [`Scan::relist`] before [`Scan::run`] where it is needed.
    pub(crate) fn new(
        root: &'a Path,
        store: &'a Store,
        batch: &'a mut Batch,
        tracked: &'a mut Tracked,
        outside: &'a Outside,
        poll: Poll,
    ) -> Self {
        Self {
            root,
            store,
            batch,
            tracked,
            outside,
            relist: false,
            own_state: None,
            started: Instant::now(),
            reliable: None,
            path: Vec::new(),
            chain: Vec::new(),
            poll,
            max_file: MAX_FILE,
            large: Vec::new(),
            closed: Vec::new(),
            read: 0,
            walked: false,
            threads: 1,
            belief: Belief::Nothing,
            reports: None,
            number: 0,
        }
    }

    /// Brings `directory` up to date and gives its tree. The objects are in the batch, not yet in the store.
    pub(crate) fn run(&mut self, directory: &mut Directory) -> Result<Id, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(self.root, flags, Permissions::empty()).map_err(Error::io("open", self.root))?;
        self.reliable = listing::reliable_device(root.as_fd());
        let believes = self.belief == Belief::Reports && self.reports.as_mut().is_some_and(Inotify::is_clear);
        if !believes {
            self.reports = self.reports.take().and_then(|reports| reports.restart(root.as_fd(), directory));
        }
        let reports = self.reports.as_ref().filter(|_| believes);
        if let Some(device) = self.reliable
            && !self.relist
            && let Some(tree) =
                verify::verify(root.as_fd(), directory, device, self.number, self.threads, &self.poll, reports)
        {
            return Ok(tree);
        }
        self.walked = true;
        let mut descent = Descent::new(root);
        let mut stack = vec![Frame::new(Box::new(std::mem::take(directory)), 0, 0, self.relist)];
        // After an error nothing counts as known.
        let walked = self.walk(&mut descent, &mut stack)?;
        if let Some(frame) = stack.pop() {
            *directory = *frame.directory;
        }
        match walked {
            Compared::Same | Compared::Changed => Ok(directory.tree.unwrap_or(Id::EMPTY_TREE)),
            Compared::Elsewhere | Compared::Closed => Err(self.failed("read", Errno::ACCESS)),
        }
    }

    /// Goes through the first folder and everything below it.
    fn walk(&mut self, descent: &mut Descent, stack: &mut Vec<Frame>) -> Result<Compared, Error> {
        loop {
            let above = stack.len() - 1;
            let frame = &mut stack[above];
            match self.advance(descent, frame)? {
                Advance::Enter(child) => {
                    let name = frame.directory.entries[frame.index].name.clone();
                    self.path.extend_from_slice(name.as_bytes());
                    self.path.push(b'/');
                    descent.enter(name);
                    let next = Frame::new(child, self.chain.len(), self.path.len(), frame.below_changed);
                    stack.push(next);
                }
                Advance::Done(compared) if above == 0 => return Ok(compared),
                Advance::Done(compared) => {
                    self.chain.truncate(frame.rules);
                    descent.leave();
                    if let (Some(done), Some(frame)) = (stack.pop(), stack.last_mut()) {
                        self.path.truncate(frame.length);
                        frame.directory.entries[frame.index].node = Node::Directory(done.directory);
                        frame.note(compared);
                    }
                }
            }
        }
    }

    /// Goes on in a folder until another one has to be entered or nothing is left.
    fn advance(&mut self, descent: &mut Descent, frame: &mut Frame) -> Result<Advance, Error> {
        loop {
            if !frame.begun {
                if let Some(compared) = self.begin(descent, frame)? {
                    return Ok(Advance::Done(compared));
                }
                frame.begun = true;
            }
            while let Some(entry) = frame.directory.entries.get_mut(frame.index) {
                self.poll.check()?;
                let compared = match &mut entry.node {
                    Node::File(_) if frame.visit == Visit::Folders => Compared::Same,
                    Node::File(state) => {
                        // Far below it is closed, and opened again by its name.
                        let fd = match descent.open() {
                            Ok(fd) => fd,
                            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                                return Ok(Advance::Done(Compared::Elsewhere));
                            }
                            Err(errno) => return Err(self.failed("open", errno)),
                        };
                        self.file(fd, &entry.name, state)?
                    }
                    Node::Closed => Compared::Same,
                    Node::Directory(child) => return Ok(Advance::Enter(std::mem::take(child))),
                };
                frame.note(compared);
            }
            frame.changed |= frame.visited != Compared::Same;
            if frame.visited != Compared::Elsewhere {
                break;
            }
            // Something moved while it was looked at. The last look counts; the next scan lists the folder again.
            frame.directory.stamp = None;
            frame.round += 1;
            if frame.round == ROUNDS {
                break;
            }
            (frame.begun, frame.index, frame.visited) = (false, 0, Compared::Same);
        }
        if !frame.changed {
            return Ok(Advance::Done(Compared::Same));
        }
        let before = frame.directory.tree;
        let tree = self.tree(&mut frame.directory)?;
        frame.directory.tree = Some(tree);
        Ok(Advance::Done(if before == Some(tree) { Compared::Same } else { Compared::Changed }))
    }

    /// Begins a round over the entries of a folder; gives what the folder is where there is nothing to look at.
    fn begin(&mut self, descent: &mut Descent, frame: &mut Frame) -> Result<Option<Compared>, Error> {
        self.chain.truncate(frame.rules);
        let is_marked = self.number > 0 && frame.directory.verified.load(Relaxed) == self.number;
        if is_marked && !frame.rules_changed && frame.round == 0 {
            self.push_rules(&frame.directory);
            (frame.visit, frame.below_changed) = (Visit::Folders, false);
            return Ok(None);
        }
        let fd = match descent.open() {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Some(Compared::Elsewhere)),
            Err(Errno::ACCESS | Errno::PERM) => {
                self.closed.push(self.path.strip_suffix(b"/").unwrap_or(&self.path).to_vec());
                return Ok(Some(Compared::Closed));
            }
            Err(errno) => return Err(self.failed("open", errno)),
        };
        frame.visit = Visit::All;
        self.update(fd, frame)?;
        Ok(None)
    }

    fn push_rules(&mut self, directory: &Directory) {
        if let Some(own) = &directory.rules {
            self.chain.push(Link { rules: Arc::clone(&own.rules), base: self.path.len() });
        }
    }

    /// Brings a folder's names and rules up to date where its times say so.
    fn update(&mut self, fd: BorrowedFd<'_>, frame: &mut Frame) -> Result<(), Error> {
        let directory = &mut *frame.directory;
        let stamp = Stamp::of(&fstat(fd).map_err(|errno| self.failed("read", errno))?);
        let valid = directory.stamp == Some(stamp) && !frame.rules_changed && self.reliable == Some(stamp.device);
        let mut names = if valid { None } else { Some(list(fd).map_err(|errno| self.failed("read", errno))?) };
        frame.below_changed = frame.rules_changed;
        let listed = match &names {
            Some(names) => names.iter().any(|(name, _)| name.as_bytes() == b".gitignore"),
            None => directory.rules.is_some(),
        };
        let presence = if listed { Presence::Listed } else { Presence::Absent };
        if self.own_rules(fd, directory, presence)? == Compared::Changed {
            frame.below_changed = true;
            if names.is_none() {
                names = Some(list(fd).map_err(|errno| self.failed("read", errno))?);
            }
        }
        self.push_rules(directory);
        if let Some(names) = names {
            // Where names can change without the folder's times, the mark would outlive them.
            directory.set_plain_for(0);
            frame.changed |= self.relist(fd, directory, names)? == Compared::Changed;
        }
        directory.stamp = (!stamp.is_racy(self.started)).then_some(stamp);
        Ok(())
    }

    fn file(&mut self, fd: BorrowedFd<'_>, name: &CString, state: &mut FileState) -> Result<Compared, Error> {
        let stat = match statat(fd, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Compared::Elsewhere),
            Err(errno) => return Err(self.failed_at("read", name.as_bytes(), errno)),
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
