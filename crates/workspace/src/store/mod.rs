//! A git directory of Ralph's own: objects, packs and references, readable by plain git. Knows nothing of workspaces.
//!
//! Objects are written in this process, because starting git costs more than a whole scan. A few new objects become
//! loose ones; many become one pack. What is written here is never a delta, so reading it back is simple too; an object
//! that somebody repacked is asked from git.

mod batch;
mod loose;
mod pack;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use batch::{Batch, Written};
use pack::Pack;

use crate::Error;
use crate::git::Git;
use crate::object::{Entry, Id, Kind, commit_tree, parse_tree};

/// Nothing here runs a program: no hooks, no monitor, no filters, no automatic repacking.
const CONFIG: &str = "[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\thooksPath = /dev/null
\tfsmonitor = false
\tautocrlf = false
\tsafecrlf = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tquotePath = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
";

/// Names the boot in which everything was last known to be whole.
const BOOT: &str = "ralph-boot";

/// Lists what stands for files that were too large to be read.
const LARGE: &str = "ralph-large";

/// Entries of folders that are kept in memory, 100 bytes each.
const MAX_KEPT_ENTRIES: usize = 4096;

/// Whether objects are on the disk when they count as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// They survive the end of the process; after a power loss they are written anew.
    Process,
    Power,
}

pub(crate) struct Store {
    dir: PathBuf,
    objects: PathBuf,
    durability: Durability,
    packs: Mutex<Vec<Arc<Pack>>>,
    /// Folders that were read last.
    trees: Mutex<HashMap<Id, Arc<Vec<Entry>>>>,
    /// The last one with too many entries to be among them.
    wide: Mutex<Option<(Id, Arc<Vec<Entry>>)>>,
    /// The machine was started anew since objects were written: those that were not flushed may be cut off.
    doubtful: AtomicBool,
    /// What stands for files that were too large to be read.
    large: Mutex<HashSet<Id>>,
}

impl Store {
    /// Opens the directory, making it where it is missing.
    pub(crate) fn open(dir: &Path, durability: Durability) -> Result<Self, Error> {
        let objects = dir.join("objects");
        for folder in [dir.to_owned(), objects.join("pack"), objects.join("info"), dir.join("refs")] {
            make_private_folder(&folder)?;
        }
        write_once(&dir.join("HEAD"), b"ref: refs/heads/none\n")?;
        write_once(&dir.join("config"), CONFIG.as_bytes())?;
        let doubtful = durability == Durability::Process && fs::read(dir.join(BOOT)).ok() != Some(boot_id());
        let listed = fs::read_to_string(dir.join(LARGE)).unwrap_or_default();
        let large = Mutex::new(listed.lines().filter_map(|line| Id::parse(line).ok()).collect());
        let (dir, packs) = (dir.to_owned(), Mutex::default());
        let (trees, wide) = (Mutex::default(), Mutex::default());
        let store = Self { dir, objects, durability, packs, trees, wide, doubtful: doubtful.into(), large };
        store.find_packs()?;
        Ok(store)
    }

    /// Says that everything in use has been written or found whole since the machine was started.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        if self.doubtful.swap(false, Ordering::Relaxed) {
            self.replace(&self.dir.join(BOOT), &boot_id())?;
        }
        Ok(())
    }

    /// Remembers that an object stands for a file that was too large to be read.
    pub(crate) fn note_large(&self, id: Id) -> Result<(), Error> {
        if !self.large.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
            return Ok(());
        }
        let path = self.dir.join(LARGE);
        let opened = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let written = opened.and_then(|mut file| {
            writeln!(file, "{}", id.hex())?;
            if self.durability == Durability::Power { file.sync_all() } else { Ok(()) }
        });
        written.map_err(Error::io("write", path))
    }

    /// Whether an object stands for a file that was too large to be read: there is no content to put back.
    pub(crate) fn is_large(&self, id: &Id) -> bool {
        self.large.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the object is here, and whole where there is doubt. Packs are flushed, so that there is none.
    pub(crate) fn has(&self, kind: Kind, id: &Id) -> Result<bool, Error> {
        if self.packs().iter().any(|pack| pack.find(id).is_some()) {
            return Ok(true);
        }
        if self.doubtful.load(Ordering::Relaxed) {
            return Ok(loose::read(&self.objects, kind, id)?.is_some());
        }
        Ok(loose::is_there(&self.objects, id))
    }

    pub(crate) fn read(&self, git: &Git, kind: Kind, id: &Id) -> Result<Vec<u8>, Error> {
        if *id == Id::EMPTY_TREE {
            return Ok(Vec::new());
        }
        if let Some(content) = self.read_here(kind, id)? {
            return Ok(content);
        }
        // Another process may have written a pack since the packs were listed.
        self.find_packs()?;
        if let Some(content) = self.read_here(kind, id)? {
            return Ok(content);
        }
        let asked = git.own(&self.dir).args(["cat-file", kind.name(), &id.hex()]).output("read an object");
        let content = asked.map_err(|_| self.broken(id))?;
        if Id::of(kind, &content) == *id { Ok(content) } else { Err(self.broken(id)) }
    }

    fn read_here(&self, kind: Kind, id: &Id) -> Result<Option<Vec<u8>>, Error> {
        let packs = self.packs().clone();
        for pack in packs {
            if let Some(content) = pack.read(kind, id)? {
                return Ok(Some(content));
            }
        }
        loose::read(&self.objects, kind, id)
    }

    /// The entries of a folder. Trees of neighbouring snapshots share most folders and are compared several times in an iteration,
    /// so the latest ones are kept; and one that is too large for that, because thousands of its files may be read one after the other.
    pub(crate) fn tree(&self, git: &Git, id: &Id) -> Result<Arc<Vec<Entry>>, Error> {
        if let Some(entries) = self.trees().get(id) {
            return Ok(Arc::clone(entries));
        }
        if let Some((_, entries)) = self.wide().as_ref().filter(|(wide, _)| wide == id) {
            return Ok(Arc::clone(entries));
        }
        let content = self.read(git, Kind::Tree, id)?;
        self.keep_tree(*id, &content).ok_or_else(|| self.broken(id))
    }

    /// Remembers a folder that was read, or is about to be compared.
    pub(crate) fn keep_tree(&self, id: Id, content: &[u8]) -> Option<Arc<Vec<Entry>>> {
        let entries = Arc::new(parse_tree(content)?);
        if entries.len() > MAX_KEPT_ENTRIES / 2 {
            *self.wide() = Some((id, Arc::clone(&entries)));
            return Some(entries);
        }
        let mut trees = self.trees();
        if trees.values().map(|known| known.len()).sum::<usize>() + entries.len() > MAX_KEPT_ENTRIES {
            trees.clear();
        }
        trees.insert(id, Arc::clone(&entries));
        Some(entries)
    }

    fn trees(&self) -> MutexGuard<'_, HashMap<Id, Arc<Vec<Entry>>>> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wide(&self) -> MutexGuard<'_, Option<(Id, Arc<Vec<Entry>>)>> {
        self.wide.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_ref(&self, name: &str, id: &Id) -> Result<(), Error> {
        let path = self.dir.join(name);
        let content = format!("{}\n", id.hex());
        match self.replace(&path, content.as_bytes()) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                if let Some(folder) = path.parent() {
                    make_private_folder(folder)?;
                }
                self.replace(&path, content.as_bytes())
            }
            done => done,
        }
    }

    /// References below a prefix: what follows the prefix, the commit and its tree, sorted by name.
    pub(crate) fn refs(&self, git: &Git, prefix: &str) -> Result<Vec<(String, Id, Id)>, Error> {
        let mut names = Vec::new();
        let top = self.dir.join(prefix);
        list_files(&top, &top, &mut names)?;
        names.sort();
        let mut found = Vec::new();
        for name in names {
            if let Some((commit, tree)) = self.find_ref(git, &format!("{prefix}/{name}"))? {
                found.push((name, commit, tree));
            }
        }
        Ok(found)
    }

    /// The commit that a reference names, and its tree.
    pub(crate) fn find_ref(&self, git: &Git, name: &str) -> Result<Option<(Id, Id)>, Error> {
        let path = self.dir.join(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        // A reference cut off by a power loss names nothing; its snapshot is lost, the others are not.
        let Ok(commit) = Id::parse(text.trim_end()) else { return Ok(None) };
        let content = self.read(git, Kind::Commit, &commit)?;
        let tree = commit_tree(&content).ok_or_else(|| self.broken(&commit))?;
        Ok(Some((commit, tree)))
    }

    /// What was made for a key last, or is made now. What cannot be kept is made again the next time.
    pub(crate) fn remembered(
        &self,
        name: &str,
        key: &str,
        make: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let (path, head) = (self.dir.join(name), format!("{key}\n"));
        if let Some(kept) = fs::read(&path).ok().filter(|kept| kept.starts_with(head.as_bytes())) {
            return Ok(kept[head.len()..].to_vec());
        }
        let made = make()?;
        if let Err(error) = self.replace(&path, &[head.as_bytes(), &made].concat()) {
            tracing::warn!(%error, ?path, "a list of files could not be kept");
        }
        Ok(made)
    }

    /// Replaces a file of the git directory in one step.
    pub(crate) fn replace(&self, path: &Path, content: &[u8]) -> Result<(), Error> {
        self.replace_with(path, |file| file.write_all(content))
    }

    /// The same in pieces.
    pub(crate) fn replace_with(
        &self,
        path: &Path,
        write: impl FnOnce(&mut fs::File) -> io::Result<()>,
    ) -> Result<(), Error> {
        let temporary = self.write_temporary(write)?;
        fs::rename(&temporary, path).map_err(|source| {
            let _ = fs::remove_file(&temporary);
            Error::Io { action: "write", path: path.to_owned(), source }
        })
    }

    /// Writes a new file under a name of its own.
    fn write_temporary(&self, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> Result<PathBuf, Error> {
        let (path, mut file) = self.temporary()?;
        let mut written = write(&mut file);
        if self.durability == Durability::Power {
            written = written.and_then(|()| file.sync_all());
        }
        match written {
            Ok(()) => Ok(path),
            Err(source) => {
                let _ = fs::remove_file(&path);
                Err(Error::Io { action: "write", path, source })
            }
        }
    }

    /// Makes a file in the objects folder under a name of its own. Git removes old files of this form when it
    /// tidies up.
    fn temporary(&self) -> Result<(PathBuf, fs::File), Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = self.objects.join(format!("tmp_obj_{}_{number}", std::process::id()));
            match create_private(&path) {
                Ok(file) => return Ok((path, file)),
                // Left behind by a process that was killed, whose number came round again.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", path)(error)),
            }
        }
    }

    fn find_packs(&self) -> Result<(), Error> {
        let folder = self.objects.join("pack");
        let mut packs = self.packs();
        for entry in fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
            let path = entry.map_err(Error::io("read", &folder))?.path();
            let known = packs.iter().any(|pack| pack.index() == path);
            if path.extension().is_some_and(|extension| extension == "idx") && !known {
                packs.extend(Pack::open(&path)?.map(Arc::new));
            }
        }
        Ok(())
    }

    fn packs(&self) -> MutexGuard<'_, Vec<Arc<Pack>>> {
        // The list is only ever appended to, so a panic elsewhere leaves it whole.
        self.packs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broken(&self, id: &Id) -> Error {
        Error::Object { id: id.hex(), store: self.dir.clone() }
    }
}

/// The id of this boot of the machine. Where there is none, every process starts anew.
pub(crate) fn boot_id() -> Vec<u8> {
    fs::read("/proc/sys/kernel/random/boot_id")
        .unwrap_or_else(|_| format!("process {:>27}\n", std::process::id()).into_bytes())
}

/// Makes a folder and its parents, private to the user.
pub(crate) fn make_private_folder(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::io("create", path))
}

/// Makes a file that did not exist, private to the user.
pub(crate) fn create_private(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn write_once(path: &Path, content: &[u8]) -> Result<(), Error> {
    // Cut off by a crash or written by an older version counts as missing.
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    let written = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    written.and_then(|mut file| file.write_all(content)).map_err(Error::io("write", path))
}

fn list_files(top: &Path, folder: &Path, names: &mut Vec<String>) -> Result<(), Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", folder)(error)),
    };
    for entry in entries {
        let path = entry.map_err(Error::io("read", folder))?.path();
        if path.is_dir() {
            list_files(top, &path, names)?;
        } else if let Ok(name) = path.strip_prefix(top) {
            names.extend(name.to_str().map(str::to_owned));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "../store_tests.rs"]
mod tests;
