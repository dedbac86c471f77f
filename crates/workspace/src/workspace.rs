//! A workspace with its snapshots: scan, commit, compare, restore. Runs git only where no time is counted.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant as Moment, SystemTime};

use ralph_model::{Change, LoopId, TreeHash};
use sha1::{Digest, Sha1};

use crate::content::{MAX_FILE, MIN_LIMIT};
use crate::difference::{compare, list};
use crate::git::{Git, Shadow};
use crate::gitdir::GitDir;
use crate::guard::Watch;
use crate::object::{Id, Kind, Mode, commit, named};
use crate::place::{Permissions, Place};
use crate::quote::{quote, unquote};
use crate::rules::Outside;
use crate::scan::{Belief, Directory, Inotify, MARKER_ID, Scan, load_cache, save_cache};
use crate::stamp::{Instant, Stamp};
use crate::store::{Batch, Durability, Store, Written, make_private_folder};
use crate::tracked::Tracked;
use crate::{Error, Placement, StopFlag};

/// More threads than this gain little: the kernel's own locks are shared.
const MAX_THREADS: usize = 8;

#[derive(Debug, Clone)]
pub struct Options {
    pub root: PathBuf,
    /// A folder of Ralph's own for this workspace, outside the reach of agents. Made where it is missing.
    pub state: PathBuf,
    /// The git program, as an absolute path.
    pub git: PathBuf,
    /// The user's own ignore file (git's `core.excludesFile`), if there is one.
    pub global_excludes: Option<PathBuf>,
    pub stop: StopFlag,
}

/// A state of the workspace that can be compared with others and restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub tree: TreeHash,
    /// The commit that keeps it, in Ralph's own git directory.
    pub commit: String,
}

/// A reference of a loop to one of its snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    pub label: String,
    pub snapshot: Snapshot,
}

/// A folder that agents work in, and what Ralph knows about it.
pub struct Workspace {
    pub(crate) root: PathBuf,
    /// Device and inode of the root: an agent can put another folder, or a link to one, in its place.
    identity: (u64, u64),
    pub(crate) git: Git,
    pub(crate) store: Store,
    pub(crate) watch: Watch,
    pub(crate) directory: Directory,
    pub(crate) outside: Outside,
    pub(crate) reliable: Option<u64>,
    pub(crate) stop: StopFlag,
    /// Files that take more of the disk are not read.
    pub(crate) max_file: u64,
    /// Files that were too large to be read.
    pub(crate) large: BTreeSet<Vec<u8>>,
    /// Files and folders that may not be read.
    closed: BTreeSet<Vec<u8>>,
    own_state: Option<(u64, u64)>,
    tracked: Tracked,
    batch: Batch,
    cache: PathBuf,
    /// What decided what belongs to the tree that an earlier process saw.
    decided_by: Option<Id>,
    scanned: Option<Id>,
    /// When the last look ended, if nothing was changed here since.
    looked: Option<Moment>,
    last: Option<(LoopId, Id, Id)>,
    relist: bool,
    pub(crate) unsaved: bool,
    scans: u32,
    threads: usize,
    reports: Reports,
}

/// What the kernel reports of changes.
enum Reports {
    /// No look has asked for them: most of those who open a workspace look once or twice.
    Unwanted,
    Wanted,
    Kept(Inotify),
    Impossible,
}

impl Workspace {
    /// Opens a workspace. Nothing in it is looked at yet, except where its repository is.
    pub fn open(options: Options) -> Result<Self, Error> {
        let root = options.root.canonicalize().map_err(Error::io("open", &options.root))?;
        let found = root.metadata().map_err(Error::io("open", &root))?;
        let identity = (found.dev(), found.ino());
        make_private_folder(&options.state)?;
        let state = options.state.canonicalize().map_err(Error::io("open", &options.state))?;
        let store = Store::open(&state.join("git"), Durability::Process)?;
        let git = Git::new(&options.git);
        let repository = GitDir::find(&root);
        let outside = Outside::read(&root, repository.as_ref(), options.global_excludes.as_deref());
        let own_state = if state.starts_with(&root) {
            let found = state.metadata().map_err(Error::io("read", &state))?;
            Some((found.dev(), found.ino()))
        } else {
            None
        };
        let mut tracked = Tracked::default();
        if let Some(repository) = &repository {
            tracked.add_list(index_paths(&git, repository, &state, &store), repository.prefix_of(&root));
        }
        let cache = store.dir().join("ralph-scan");
        let (directory, decided_by) = load_cache(&cache, &store).unzip();
        Ok(Self {
            root,
            identity,
            git,
            store,
            watch: Watch::default(),
            directory: directory.unwrap_or_default(),
            outside,
            reliable: None,
            stop: options.stop,
            max_file: MAX_FILE,
            large: BTreeSet::new(),
            closed: BTreeSet::new(),
            own_state,
            tracked,
            batch: Batch::new(),
            cache,
            decided_by,
            scanned: None,
            looked: None,
            last: None,
            relist: false,
            unsaved: false,
            scans: 0,
            threads: thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS)),
            reports: Reports::Unwanted,
        })
    }

    /// The folder, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Ralph's own git directory. Plain git can read it.
    pub fn git_dir(&self) -> &Path {
        self.store.dir()
    }

    /// Takes a snapshot and keeps it as `refs/ralph/<loop>/<label>`. A label that is used again names the newer one.
    pub fn snapshot(&mut self, loop_id: LoopId, label: &str) -> Result<Snapshot, Error> {
        check_label(label)?;
        let tree = self.scan()?;
        self.keep(loop_id, label, tree)
    }

    /// The same where a look that ended no longer ago than this is as good as a new one, unless files were swapped or put
    /// back since.
    pub fn snapshot_recent(&mut self, loop_id: LoopId, label: &str, most: Duration) -> Result<Snapshot, Error> {
        match (self.looked, self.scanned) {
            (Some(looked), Some(tree)) if looked.elapsed() <= most && !self.relist => {
                check_label(label)?;
                self.keep(loop_id, label, tree)
            }
            _ => self.snapshot(loop_id, label),
        }
    }

    fn keep(&mut self, loop_id: LoopId, label: &str, tree: Id) -> Result<Snapshot, Error> {
        let commit = match self.last {
            // The same state twice is one commit with two names.
            Some((last_loop, last_tree, commit)) if last_loop == loop_id && last_tree == tree => commit,
            last => {
                let parent = last.filter(|(last_loop, ..)| *last_loop == loop_id).map(|(_, _, commit)| commit);
                let content = commit(&tree, parent.as_ref(), Instant::now().seconds(), label);
                let id = Id::of(Kind::Commit, &content);
                self.batch.add(&self.store, Kind::Commit, id, content)?;
                self.batch.finish(&self.store)?;
                self.last = Some((loop_id, tree, id));
                id
            }
        };
        self.store.set_ref(&format!("{}/{label}", folder_of(loop_id)), &commit)?;
        tracing::debug!(label, tree = tree.hex(), "snapshot taken");
        Ok(Snapshot { tree: TreeHash(tree.hex()), commit: commit.hex() })
    }

    /// Says that every file of this tree belongs to the workspace from now on, even when an ignore rule comes to cover it.
    /// Meant for the loop's start, so that an agent cannot hide a file by ignoring it; again after a resume.
    pub fn set_start(&mut self, tree: &TreeHash) -> Result<(), Error> {
        let tree = Id::parse(&tree.0)?;
        if self.scanned == Some(tree) {
            self.tracked.add_list(self.directory.paths().join(&0), Vec::new());
        } else {
            // The next process of the loop asks for the same tree, and reading it takes as long as a scan.
            let listed = self.store.remembered("ralph-start", &tree.hex(), || Ok(self.paths(&tree)?.join(&0)))?;
            self.tracked.add_list(listed, Vec::new());
        }
        // What the last scan saw is that very tree: nothing in it is decided otherwise now. Before the first, hashes tell.
        self.relist |= self.scanned.is_some_and(|scanned| scanned != tree);
        Ok(())
    }

    /// What differs between two trees, sorted by path.
    pub fn changes(&self, from: &TreeHash, to: &TreeHash) -> Result<Vec<Change>, Error> {
        let found = compare(&self.store, &self.git, &Id::parse(&from.0)?, &Id::parse(&to.0)?)?;
        Ok(found.iter().map(crate::difference::Difference::change).collect())
    }

    /// The difference as a patch that `git apply` takes, binary files included.
    pub fn diff(&self, from: &TreeHash, to: &TreeHash) -> Result<Vec<u8>, Error> {
        patch(&self.git, &self.store, &Id::parse(&from.0)?, &Id::parse(&to.0)?)
    }

    /// The same where the workspace itself may be gone: its snapshots lie in `state`.
    pub fn diff_kept(state: &Path, git: &Path, from: &TreeHash, to: &TreeHash) -> Result<Vec<u8>, Error> {
        let store = Store::open(&state.join("git"), Durability::Process)?;
        patch(&Git::new(git), &store, &Id::parse(&from.0)?, &Id::parse(&to.0)?)
    }

    /// The content of a file in a tree, or the target of a link; `None` when there is no such file.
    /// The path is written as in [`Change`].
    pub fn file_at(&self, tree: &TreeHash, path: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.entry_at(tree, path)? {
            None | Some((Mode::Tree, _)) => Ok(None),
            Some((_, id)) => self.store.read(&self.git, Kind::Blob, &id).map(Some),
        }
    }

    fn entry_at(&self, tree: &TreeHash, path: &str) -> Result<Option<(Mode, Id)>, Error> {
        let path = unquote(path);
        let mut at = (Mode::Tree, Id::parse(&tree.0)?);
        for name in path.split(|byte| *byte == b'/') {
            if at.0 != Mode::Tree {
                return Ok(None);
            }
            let entries = self.store.tree(&self.git, &at.1)?;
            let Some(entry) = named(&entries, name) else { return Ok(None) };
            at = (entry.mode, entry.id);
        }
        Ok(Some(at))
    }

    /// What is at a path in a tree; `None` when there is nothing, a folder, or a file that was too large to be kept.
    pub fn placement_at(&self, tree: &TreeHash, path: &str) -> Result<Option<Placement>, Error> {
        let found = self.entry_at(tree, path)?;
        let Some((mode, id)) = found.filter(|(mode, id)| *mode != Mode::Tree && !self.store.is_large(id)) else {
            return Ok(None);
        };
        let content = self.store.read(&self.git, Kind::Blob, &id)?;
        Ok(Some(match mode {
            Mode::Link => Placement::Link { target: content },
            Mode::Executable => Placement::File { content, mode: 0o755 },
            Mode::File | Mode::Tree => Placement::File { content, mode: 0o644 },
        }))
    }

    /// The paths of all files and links of a tree, sorted, written as in [`Change`].
    pub fn list(&self, tree: &TreeHash) -> Result<Vec<String>, Error> {
        let mut paths: Vec<String> = self.paths(&Id::parse(&tree.0)?)?.into_iter().map(|path| quote(&path)).collect();
        // Quotes sort otherwise.
        paths.sort_unstable();
        Ok(paths)
    }

    /// The tree that was seen last is in memory: reading its objects again costs more than the look did.
    fn paths(&self, tree: &Id) -> Result<Vec<Vec<u8>>, Error> {
        if self.scanned == Some(*tree) {
            return Ok(self.directory.paths());
        }
        let mut paths: Vec<_> = list(&self.store, &self.git, tree)?.into_iter().map(|(path, ..)| path).collect();
        paths.sort();
        Ok(paths)
    }

    /// The request to stop that its steps look for.
    pub fn stop_flag(&self) -> StopFlag {
        self.stop.clone()
    }

    /// Leaves files that take more than so many bytes of the disk out of snapshots: 1 MiB to 1 GiB.
    pub fn set_max_file(&mut self, bytes: u64) {
        self.max_file = bytes.clamp(MIN_LIMIT, MAX_FILE);
    }

    /// Files that are too large to be read, as in [`Change`], sorted: that they change is seen, but they are neither kept nor
    /// put back.
    pub fn large_files(&self) -> Vec<String> {
        self.large.iter().map(|path| quote(path)).collect()
    }

    /// Files and folders that may not be read, as in [`Change`], sorted: they are neither kept nor put back.
    pub fn closed_files(&self) -> Vec<String> {
        self.closed.iter().map(|path| quote(path)).collect()
    }

    /// The tree of the workspace as it is now. Nothing refers to it: take a snapshot of what has to last.
    pub fn scan_tree(&mut self) -> Result<TreeHash, Error> {
        Ok(TreeHash(self.scan()?.hex()))
    }

    /// The same, believing the kernel where it reports no change since the last look. No verdict may rest on it: a write can be hidden
    /// from these reports, and is then seen by the next look.
    pub fn scan_reported(&mut self) -> Result<TreeHash, Error> {
        if matches!(self.reports, Reports::Unwanted) {
            self.reports = Reports::Wanted;
        }
        Ok(TreeHash(self.scan_with(Belief::Reports)?.hex()))
    }

    /// The snapshots of a loop, sorted by label.
    pub fn refs(&self, loop_id: LoopId) -> Result<Vec<Labelled>, Error> {
        let found = self.store.refs(&self.git, &folder_of(loop_id))?;
        let labelled = |(label, commit, tree): (String, Id, Id)| Labelled {
            label,
            snapshot: Snapshot { tree: TreeHash(tree.hex()), commit: commit.hex() },
        };
        Ok(found.into_iter().map(labelled).collect())
    }

    /// The tree of one snapshot of a loop, if there is one with this label.
    pub fn labelled(&self, loop_id: LoopId, label: &str) -> Result<Option<TreeHash>, Error> {
        let found = self.store.find_ref(&self.git, &format!("{}/{label}", folder_of(loop_id)))?;
        Ok(found.map(|(_, tree)| TreeHash(tree.hex())))
    }

    /// Makes the workspace equal to a tree and says what was done. Ignored files are not touched: one that stands in the
    /// way is moved to `.ralph/kept`. A file that a restored `.gitignore` no longer covers stays where it is. Repeating it
    /// after a crash completes it.
    pub fn restore(&mut self, tree: &TreeHash) -> Result<Vec<Change>, Error> {
        let target = Id::parse(&tree.0)?;
        // Files of the tree that are ignored by now must be seen, or they would be overwritten unsaved.
        self.set_start(tree)?;
        let place = self.place()?;
        let mut current = self.scan()?;
        let mut found = compare(&self.store, &self.git, &current, &target)?;
        let closed = |side: Option<(Mode, Id)>| side.is_some_and(|(_, id)| id == *MARKER_ID);
        if found.iter().any(|difference| closed(difference.old) && !closed(difference.new)) {
            for difference in found.iter().filter(|difference| closed(difference.old)) {
                place.open_up(&difference.path)?;
            }
            self.relist = true;
            current = self.scan()?;
            found = compare(&self.store, &self.git, &current, &target)?;
        }
        self.forget_look();
        let large = |side: Option<(Mode, Id)>| side.is_some_and(|(_, id)| self.store.is_large(&id));
        found.retain(|difference| !closed(difference.new) && !large(difference.new));
        let poll = self.stop.step();
        for difference in found.iter().filter(|difference| difference.new.is_none()) {
            poll.check()?;
            place.remove(&difference.path)?;
        }
        for difference in &found {
            let Some((mode, id)) = difference.new else { continue };
            poll.check()?;
            let permissions = if mode == Mode::Executable { Permissions::Executable } else { Permissions::Plain };
            match (mode, difference.old) {
                (Mode::File | Mode::Executable, Some((old, same))) if same == id && old.is_regular() => {
                    place.set_permissions(&difference.path, permissions)?;
                }
                (Mode::Link, _) => {
                    place.write_link(&difference.path, &self.store.read(&self.git, Kind::Blob, &id)?)?;
                }
                (Mode::File | Mode::Executable, _) => {
                    let content = self.store.read(&self.git, Kind::Blob, &id)?;
                    place.write_file(&difference.path, &content, permissions)?;
                }
                (Mode::Tree, _) => {}
            }
        }
        tracing::debug!(tree = tree.0, files = found.len(), "workspace restored");
        Ok(found.iter().map(crate::difference::Difference::change).collect())
    }

    /// Gives files the time of now, except where theirs is later than `since`: a build that compares times sees that they changed.
    pub fn renew(&self, paths: &[String], since: SystemTime) -> Result<(), Error> {
        self.place()?.renew(paths, since)
    }

    pub(crate) fn place(&self) -> Result<Place, Error> {
        let place = Place::open(&self.root)?;
        if place.identity()? == self.identity { Ok(place) } else { Err(self.replaced()) }
    }

    /// Makes sure that the workspace is where it was. Asks for no right to read it.
    pub(crate) fn check_root(&self) -> Result<(), Error> {
        let found = self.root.metadata().map_err(Error::io("open", &self.root))?;
        if (found.dev(), found.ino()) == self.identity { Ok(()) } else { Err(self.replaced()) }
    }

    fn replaced(&self) -> Error {
        Error::Replaced { path: self.root.clone() }
    }

    /// Looks at the workspace; its tree is in the store afterwards.
    pub(crate) fn scan(&mut self) -> Result<Id, Error> {
        self.scan_with(Belief::Nothing)
    }

    fn scan_with(&mut self, belief: Belief) -> Result<Id, Error> {
        let scanned = self.scan_and_store(belief);
        if let Err(error) = &scanned {
            tracing::debug!(%error, "the workspace could not be scanned");
            // What is in memory may name contents that never reached the store, such as when the disk was full.
            (self.directory, self.decided_by) = (Directory::default(), None);
            // The cache on the disk knows more.
            self.unsaved = false;
            self.batch = Batch::new();
            self.scanned = None;
        }
        self.forget_look();
        self.looked = scanned.is_ok().then(Moment::now);
        scanned
    }

    /// Files are about to be changed, so that the last look does not tell what is there.
    pub(crate) fn forget_look(&mut self) {
        self.looked = None;
        self.watch.pinned = None;
    }

    fn scan_and_store(&mut self, belief: Belief) -> Result<Id, Error> {
        self.check_root()?;
        let started = Moment::now();
        let membership = self.membership_hash();
        self.relist |= self.scanned.is_none() && self.decided_by != Some(membership);
        let (root, store, batch) = (&self.root, &self.store, &mut self.batch);
        let poll = self.stop.step();
        let mut scan = Scan::new(root, store, batch, &mut self.tracked, &self.outside, poll);
        self.scans = self.scans.wrapping_add(1).max(1);
        scan.number = self.scans;
        scan.threads = self.threads;
        scan.relist = self.relist;
        scan.own_state = self.own_state;
        scan.max_file = self.max_file;
        scan.belief = belief;
        scan.reports = match std::mem::replace(&mut self.reports, Reports::Impossible) {
            Reports::Wanted => Inotify::new(),
            Reports::Kept(reports) => Some(reports),
            Reports::Impossible => None,
            Reports::Unwanted => {
                self.reports = Reports::Unwanted;
                None
            }
        };
        let tree = scan.run(&mut self.directory);
        if let Some(reports) = scan.reports.take() {
            self.reports = Reports::Kept(reports);
        }
        let tree = tree?;
        self.unsaved |= scan.walked;
        tracing::debug!(tree = tree.hex(), read = scan.read, elapsed = ?started.elapsed(), "workspace scanned");
        self.reliable = scan.reliable;
        self.large.extend(scan.large);
        self.closed.extend(scan.closed);
        let written = self.batch.finish(&self.store)?;
        self.store.settle()?;
        self.relist = false;
        self.scanned = Some(tree);
        self.decided_by = Some(membership);
        if written == Written::Packed {
            // Worth keeping even if this process is killed.
            self.save();
        }
        Ok(tree)
    }

    /// Makes sure that the workspace was looked at.
    pub(crate) fn scan_once(&mut self) -> Result<(), Error> {
        if self.scanned.is_none() {
            self.scan()?;
        }
        Ok(())
    }

    /// Makes sure that nothing was changed here since the workspace was looked at.
    pub(crate) fn scan_unless_looked(&mut self) -> Result<(), Error> {
        if self.looked.is_none() {
            self.scan()?;
        }
        Ok(())
    }

    /// The hash of everything but files below the root that decides what belongs to the tree.
    fn membership_hash(&self) -> Id {
        let mut hash = Sha1::new();
        // Another version may decide otherwise.
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update(self.outside.hash().0);
        hash.update(self.tracked.hash().0);
        for number in self.own_state.iter().flat_map(|(device, inode)| [device, inode]) {
            hash.update(number.to_le_bytes());
        }
        Id(hash.finalize().into())
    }

    fn save(&mut self) {
        let Some(decided_by) = &self.decided_by else { return };
        // Without the cache the next process reads every file once; that is no reason to stop this one.
        if let Err(error) = save_cache(&self.cache, &self.directory, decided_by, &self.store) {
            tracing::warn!(%error, path = ?self.cache, "the cache of the workspace could not be saved");
        }
        self.unsaved = false;
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.unsaved {
            self.save();
        }
    }
}

/// A patch between two trees of a store.
pub(crate) fn patch(git: &Git, store: &Store, from: &Id, to: &Id) -> Result<Vec<u8>, Error> {
    let options =
        ["diff-tree", "-r", "-p", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames"];
    git.own(store.dir())
        // An agent can nest folders deeper than git's own limit.
        .args(["-c", "core.maxTreeDepth=20000"])
        .args(options)
        .args(["--no-color", "--src-prefix=a/", "--dst-prefix=b/", &from.hex(), &to.hex()])
        .output("compare two snapshots")
}

fn folder_of(loop_id: LoopId) -> String {
    format!("refs/ralph/{loop_id}")
}

/// What git allows in a reference, and a little less.
fn check_label(label: &str) -> Result<(), Error> {
    let good = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with(".lock")
            && !part.ends_with('.')
            && !part.contains("..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    if label.split('/').all(good) { Ok(()) } else { Err(Error::Label(label.to_owned())) }
}

/// The files that the user's index tracks, relative to the top of the repository. Read from a copy through a throwaway git directory,
/// so that nothing of the repository's configuration is even read. Where that fails nothing is tracked but ignored.
fn index_paths(git: &Git, repository: &GitDir, scratch: &Path, store: &Store) -> Vec<u8> {
    let list = || {
        let shadow = Shadow::make(scratch, repository)?;
        if !shadow.has_index() {
            return Ok(Vec::new());
        }
        git.own(shadow.dir())
            .env("GIT_WORK_TREE", &repository.top)
            .current_dir(&repository.top)
            .args(["ls-files", "-z", "--cached"])
            .output("list the files of the index")
    };
    let now = Instant::now();
    let stamp = rustix::fs::stat(repository.git_dir.join("index")).ok().map(|found| Stamp::of(&found));
    let listed = match stamp.filter(|stamp| !stamp.is_racy(now)) {
        Some(stamp) => store.remembered("ralph-index", &format!("{stamp:?}"), list),
        None => list(),
    };
    let listed = listed.inspect_err(|error| tracing::warn!(%error, "the index of the repository could not be read"));
    listed.unwrap_or_default()
}
