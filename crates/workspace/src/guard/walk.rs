//! Finds every prohibited file. Changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, readlinkat, statat};
use rustix::io::Errno;
use sha1::{Digest, Sha1};

use super::Guard;
use super::baseline::{Baseline, Behind, Bytes, Content, Record, Through, What};
use crate::object::{Id, Kind};
use crate::quote::quote;
use crate::rules::{Folder, Outside};
use crate::scan::{Directory, FOLDER, list};
use crate::stamp::{Instant, Stamp};
use crate::store::{Batch, Store};
use crate::{Error, Workspace};

/// Folders that hold what tools make and that are too large to watch. Skipped only where they are ignored.
const BULK: [&[u8]; 9] =
    [b"node_modules", b"target", b".venv", b"venv", b"__pycache__", b".tox", b".gradle", b".next", b".cache"];
/// A link can lead to anything, such as the whole file system, and all of it would be copied.
const MOST_BEHIND_LINKS: usize = 50_000;
const MOST_BYTES_BEHIND_LINKS: u64 = 256 << 20;
/// Larger files are never held in memory as a whole.
const LARGE: u64 = 32 << 20;
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What earlier walks know, so that the next one reads only what changed.
#[derive(Default)]
pub(crate) struct Watch {
    folders: HashMap<Vec<u8>, Listed>,
    contents: HashMap<Vec<u8>, (Stamp, Id)>,
}

/// The names of a folder that matter.
struct Listed {
    stamp: Stamp,
    names: Arc<Vec<Name>>,
}

/// A folder, or a file or link that a glob covers. What the globs say depends on the path alone, so it is kept.
struct Name {
    name: CString,
    kind: FileType,
    /// The glob that covers a file, a link, or a folder or everything in it.
    covering: Option<Arc<str>>,
    /// For a folder or link, the glob that covers what is in it.
    inside: Option<Arc<str>>,
    /// For a folder or link, a glob that it leads to.
    lead: Option<Arc<str>>,
}

/// What a walk found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) records: BTreeMap<Vec<u8>, Record>,
    /// Folders and links below which this walk could not look.
    pub(super) closed: Vec<Vec<u8>>,
}

/// Where the contents of files are kept.
pub(super) type Keep<'a> = Option<(&'a Store, &'a mut Batch)>;

/// One walk.
pub(super) struct Walk<'a> {
    root: &'a Path,
    guard: &'a Guard,
    baseline: Option<&'a Baseline>,
    directory: &'a Directory,
    outside: &'a Outside,
    watch: &'a mut Watch,
    /// The device whose folders change their times when their names do.
    reliable: Option<u64>,
    started: Instant,
    found: Found,
    behind: usize,
    bytes_behind: u64,
}

/// Where in the walk a folder is.
#[derive(Clone)]
struct Spot {
    /// The glob that covers the folder.
    inside: Option<Arc<str>>,
    /// The real folder of the link that led here, and how much of the path leads to it.
    through: Option<(Arc<PathBuf>, usize)>,
    /// Device and inode of the folders above, so that a link to one of them is not followed for ever.
    above: Vec<(u64, u64)>,
}

impl<'a> Walk<'a> {
    /// Prepares a walk; links are followed where the baseline has them, without one everywhere.
    pub(super) fn new(
        workspace: &'a mut Workspace,
        guard: &'a Guard,
        baseline: Option<&'a Baseline>,
    ) -> Result<Self, Error> {
        workspace.check_root()?;
        // Which bulk folders are ignored is known from the last scan.
        workspace.scan_once()?;
        let watch = workspace.watches.entry(guard.globs.clone()).or_default();
        Ok(Self {
            root: &workspace.root,
            guard,
            baseline,
            directory: &workspace.directory,
            outside: &workspace.outside,
            watch,
            reliable: workspace.reliable,
            started: Instant::now(),
            found: Found::default(),
            behind: 0,
            bytes_behind: 0,
        })
    }

    /// Walks the workspace and what prohibited links lead to.
    pub(super) fn run(mut self, mut keep: Keep<'_>) -> Result<Found, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(self.root, flags, Mode::empty()).map_err(Error::io("open", self.root))?;
        let spot = Spot { inside: None, through: None, above: Vec::new() };
        self.folder(root, &mut Vec::new(), spot, &mut keep)?;
        Ok(self.found)
    }

    fn folder(&mut self, fd: OwnedFd, path: &mut Vec<u8>, mut spot: Spot, keep: &mut Keep<'_>) -> Result<(), Error> {
        let stat = fstat(&fd).map_err(|errno| self.failed(path, errno))?;
        let place = (stat.st_dev, stat.st_ino);
        if spot.above.contains(&place) {
            return Ok(());
        }
        spot.above.push(place);
        let names = self.names(fd.as_fd(), Stamp::of(&stat), path, &spot)?;
        let length = path.len();
        for name in names.iter() {
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(name.name.as_bytes());
            match name.kind {
                FileType::Directory => self.child(fd.as_fd(), name, path, &spot, keep)?,
                FileType::Symlink => self.link(fd.as_fd(), name, path, &spot, keep)?,
                _ => self.file(fd.as_fd(), name, path, &spot, keep)?,
            }
            path.truncate(length);
        }
        Ok(())
    }

    /// The names that matter, from memory while the folder's times vouch for them.
    fn names(&mut self, fd: BorrowedFd<'_>, stamp: Stamp, path: &[u8], spot: &Spot) -> Result<Arc<Vec<Name>>, Error> {
        if let Some(listed) = self.watch.folders.get(path)
            && listed.stamp == stamp
        {
            return Ok(Arc::clone(&listed.names));
        }
        let listed = list(fd).map_err(|errno| self.failed(path, errno))?;
        let mut names: Vec<Name> =
            listed.into_iter().filter_map(|(name, kind)| self.name(path, name, kind, spot.inside.as_ref())).collect();
        names.sort_by(|left, right| left.name.cmp(&right.name));
        let names = Arc::new(names);
        self.watch.folders.remove(path);
        if !stamp.is_racy(self.started) && self.reliable == Some(stamp.device) {
            self.watch.folders.insert(path.to_vec(), Listed { stamp, names: Arc::clone(&names) });
        }
        Ok(names)
    }

    /// What the globs say about a name; `None` when it does not matter.
    fn name(&self, folder: &[u8], name: CString, kind: FileType, above: Option<&Arc<str>>) -> Option<Name> {
        let bytes = name.as_bytes();
        let path = if folder.is_empty() { bytes.to_vec() } else { [folder, b"/", bytes].concat() };
        match kind {
            FileType::RegularFile => {
                let covering = self.guard.glob(&path, Folder::No, above);
                covering.is_some().then_some(Name { name, kind, covering, inside: None, lead: None })
            }
            FileType::Directory | FileType::Symlink => {
                if bytes == b".git" || (folder.is_empty() && bytes == b".ralph") {
                    return None;
                }
                let inside = self.guard.glob(&path, Folder::Yes, above);
                let covering = self.guard.folder_glob(&path, above);
                let lead = self.guard.lead(&path);
                let matters = kind == FileType::Directory || covering.is_some() || lead.is_some();
                matters.then_some(Name { name, kind, covering, inside, lead })
            }
            _ => None,
        }
    }

    fn child(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &Name,
        path: &mut Vec<u8>,
        spot: &Spot,
        keep: &mut Keep<'_>,
    ) -> Result<(), Error> {
        let watched = name.covering.is_some() || name.lead.is_some();
        match &spot.through {
            // What is behind a link is somebody else's: only what the globs name is looked at.
            Some(_) if !watched => return Ok(()),
            Some(_) => self.count(path, name.covering.as_ref().or(name.lead.as_ref()), spot, 0)?,
            None if !watched && BULK.contains(&name.name.as_bytes()) && self.directory.ignores(self.outside, path) => {
                return Ok(());
            }
            None => {}
        }
        if !watched && self.is_unchanged_and_empty(fd, name, path) {
            return Ok(());
        }
        let opened = openat(fd, &name.name, FOLDER, Mode::empty());
        if let Some(glob) = &name.covering {
            match statat(fd, &name.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => self.record(path, glob, What::Folder { mode: stat.st_mode & 0o7777 }, spot),
                Err(Errno::NOENT) => return Ok(()),
                Err(errno) => return Err(self.failed(path, errno)),
            }
        }
        match opened {
            Ok(child) => self.folder(child, path, Spot { inside: name.inside.clone(), ..spot.clone() }, keep),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => {
                self.found.closed.push(path.clone());
                Ok(())
            }
            Err(errno) => Err(self.failed(path, errno)),
        }
    }

    /// Whether nothing in a folder mattered at the last look and its times say that its names are the same: most folders
    /// are like that, and one call tells it where a look inside takes three.
    fn is_unchanged_and_empty(&self, fd: BorrowedFd<'_>, name: &Name, path: &[u8]) -> bool {
        let Some(listed) = self.watch.folders.get(path).filter(|listed| listed.names.is_empty()) else { return false };
        statat(fd, &name.name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| Stamp::of(&stat) == listed.stamp)
    }

    fn file(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &Name,
        path: &[u8],
        spot: &Spot,
        keep: &mut Keep<'_>,
    ) -> Result<(), Error> {
        let Some(glob) = &name.covering else { return Ok(()) };
        let stat = match statat(fd, &name.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let stamp = Stamp::of(&stat);
        if spot.through.is_some() {
            self.count(path, Some(glob), spot, stamp.size)?;
        }
        let opening = || openat(fd, &name.name, FILE, Mode::empty());
        if let Some(content) = self.content(path, stamp, opening, keep)? {
            self.record(path, glob, What::File(content), spot);
        }
        Ok(())
    }

    /// A file's permissions and content; `None` when it is no file any more.
    fn content(
        &mut self,
        path: &[u8],
        stamp: Stamp,
        opening: impl Fn() -> Result<OwnedFd, Errno>,
        keep: &mut Keep<'_>,
    ) -> Result<Option<Content>, Error> {
        let mode = stamp.mode & 0o7777;
        if keep.is_none()
            && let Some((seen, id)) = self.watch.contents.get(path)
            && *seen == stamp
        {
            return Ok(Some(Content { mode, id: Some(*id) }));
        }
        let mut file = match opening() {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(Errno::ACCESS | Errno::PERM) => return Ok(Some(Content { mode, id: None })),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let stamp = Stamp::of(&fstat(&file).map_err(|errno| self.failed(path, errno))?);
        if FileType::from_raw_mode(stamp.mode) != FileType::RegularFile {
            return Ok(None);
        }
        let id = read(&mut file, stamp.size, keep, &self.full(path))?;
        self.watch.contents.remove(path);
        if !stamp.is_racy(self.started) {
            self.watch.contents.insert(path.to_vec(), (stamp, id));
        }
        Ok(Some(Content { mode: stamp.mode & 0o7777, id: Some(id) }))
    }

    fn link(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &Name,
        path: &mut Vec<u8>,
        spot: &Spot,
        keep: &mut Keep<'_>,
    ) -> Result<(), Error> {
        let Some(glob) = name.covering.as_ref().or(name.lead.as_ref()) else { return Ok(()) };
        if spot.through.is_some() {
            self.count(path, Some(glob), spot, 0)?;
        }
        let target = match readlinkat(fd, &name.name, Vec::new()) {
            Ok(target) => Bytes(target.into_bytes()),
            Err(Errno::NOENT | Errno::INVAL) => return Ok(()),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        if let Some((store, batch)) = keep {
            batch.add(store, Kind::Blob, Id::of(Kind::Blob, &target.0), target.0.clone())?;
        }
        if self.baseline.is_some_and(|baseline| !baseline.has_link(path, &target)) {
            self.record(path, glob, What::Link { target, behind: None, folder: None }, spot);
            self.found.closed.push(path.clone());
            return Ok(());
        }
        // Nothing behind it, a circle of links, or a folder that may not be entered: the link itself is all there is.
        let real = openat(fd, &name.name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok().and_then(|opened| {
            let stat = fstat(&opened).ok()?;
            let real = fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()?;
            Some((stat, real))
        });
        let (mut behind, mut folder) = (None, None);
        if let Some((stat, real)) = &real {
            let place = Bytes(real.as_os_str().as_bytes().to_vec());
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile if name.covering.is_some() => {
                    let stamp = Stamp::of(stat);
                    self.count(path, Some(glob), spot, stamp.size)?;
                    let opening = || open(real, FILE, Mode::empty());
                    let content = self.content(path, stamp, opening, keep)?;
                    behind = content.map(|content| Behind { real: place, content });
                }
                FileType::Directory => folder = Some(place),
                _ => {}
            }
        }
        let follow = folder.as_ref().filter(|place| self.baseline.is_none_or(|baseline| baseline.led_to(path, place)));
        let opened = real.filter(|_| follow.is_some()).map(|(_, real)| (open(&real, FOLDER, Mode::empty()), real));
        self.record(path, glob, What::Link { target, behind, folder }, spot);
        match opened {
            Some((Ok(fd), real)) => {
                let through = Some((Arc::new(real), path.len()));
                let inside = name.inside.clone();
                self.folder(fd, path, Spot { inside, through, above: spot.above.clone() }, keep)
            }
            Some((Err(_), _)) | None => {
                self.found.closed.push(path.clone());
                Ok(())
            }
        }
    }

    fn record(&mut self, path: &[u8], glob: &Arc<str>, what: What, spot: &Spot) {
        let through = spot.through.as_ref().map(|(base, length)| Through {
            base: Bytes(base.as_os_str().as_bytes().to_vec()),
            below: Bytes(path[length + 1..].to_vec()),
        });
        self.found.records.insert(path.to_vec(), Record { glob: glob.to_string(), what, through });
    }

    /// Counts something behind a link before it is read.
    fn count(&mut self, path: &[u8], glob: Option<&Arc<str>>, spot: &Spot, size: u64) -> Result<(), Error> {
        self.behind += 1;
        self.bytes_behind = self.bytes_behind.saturating_add(size);
        // Only at the start: later, an agent that writes more must be caught and not be an error.
        let heavy = self.baseline.is_none() && self.bytes_behind > MOST_BYTES_BEHIND_LINKS;
        if self.behind > MOST_BEHIND_LINKS || heavy {
            let link = spot.through.as_ref().map_or(path, |(_, length)| &path[..*length]);
            let glob = glob.map_or_else(|| quote(link), ToString::to_string);
            return Err(Error::GuardTooLarge {
                link: quote(link),
                glob,
                files: MOST_BEHIND_LINKS,
                mebibytes: MOST_BYTES_BEHIND_LINKS >> 20,
            });
        }
        Ok(())
    }

    fn full(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    fn failed(&self, path: &[u8], errno: Errno) -> Error {
        Error::io("look at", self.full(path))(errno)
    }
}

/// The id of a file's content, kept where contents are kept.
fn read(file: &mut File, size: u64, keep: &mut Keep<'_>, path: &Path) -> Result<Id, Error> {
    if let Some((store, batch)) = keep {
        if size > LARGE {
            let changed = || std::io::Error::other("the file changed while it was read");
            return store.stream_blob(file, size)?.ok_or_else(|| Error::io("read", path)(changed()));
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(Error::io("read", path))?;
        let id = Id::of(Kind::Blob, &content);
        batch.add(store, Kind::Blob, id, content)?;
        return Ok(id);
    }
    let mut hash = Sha1::new();
    hash.update(Kind::Blob.header(size));
    let mut buffer = vec![0; (size as usize).clamp(1, 1 << 16)];
    loop {
        match file.read(&mut buffer).map_err(Error::io("read", path))? {
            0 => return Ok(Id(hash.finalize().into())),
            count => hash.update(&buffer[..count]),
        }
    }
}
