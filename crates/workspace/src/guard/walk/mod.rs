//! Finds every watched file, for one set of globs or for several in one pass. Changes nothing.
//!
//! A pass goes through the workspace once, however many sets of globs look: each is a layer with its own record of the
//! start, its own decision which links to follow, and its own findings.

mod content;
mod layer;
mod link;
mod names;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use layer::{Found, Layer, Sort};
use names::{Mark, Name};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, statat};
use rustix::io::Errno;
use sha1::{Digest, Sha1};

use super::baseline::What;
use super::{Care, Cover};
use crate::descent::Descent;
use crate::object::Id;
use crate::rules::Outside;
use crate::scan::Directory;
use crate::stamp::{Instant, Stamp};
use crate::stop::Poll;
use crate::store::{Batch, Store};
use crate::{Error, Workspace};

/// Folders that hold what tools make and that are too large to watch. Passed by only where they are ignored.
pub(super) const BULK: [&[u8]; 9] =
    [b"node_modules", b"target", b".venv", b"venv", b"__pycache__", b".tox", b".gradle", b".next", b".cache"];
/// How many sets of globs can look at once.
const LAYERS: usize = 2;

/// What earlier walks know, so that the next one reads only what changed.
#[derive(Default)]
pub(crate) struct Watch {
    /// For each combination of globs, the names that matter to it.
    listings: HashMap<String, names::Listing>,
    contents: HashMap<Vec<u8>, (Stamp, Id)>,
    /// What the last look found of the files of these pins, for the one who asks next.
    pub(crate) pinned: Option<(String, Found)>,
}

/// Where the contents of files are kept.
pub(super) type Keep<'a> = Option<(&'a Store, &'a mut Batch)>;

struct Walk<'a> {
    root: &'a Path,
    layers: Vec<Layer<'a>>,
    directory: &'a Directory,
    outside: &'a Outside,
    listing: &'a mut names::Listing,
    /// The hash of what the layers look for.
    globs: u64,
    /// Whether a folder turned out to hold nothing that matters.
    found_plain: bool,
    contents: &'a mut HashMap<Vec<u8>, (Stamp, Id)>,
    /// The device whose folders change their times when their names do.
    reliable: Option<u64>,
    started: Instant,
    poll: Poll,
    /// Files that take more of the disk are not read.
    max_file: u64,
    has_looked: bool,
    /// Files that are too large to be read.
    large: &'a mut BTreeSet<Vec<u8>>,
    /// Device and inode of the folders on the way, so that a link to one of them is not followed for ever.
    above: HashSet<(u64, u64)>,
}

/// How much of a folder a layer looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reach {
    #[default]
    Nothing,
    /// What its globs name, as behind a link: the rest is somebody else's, or too much.
    Named,
    All,
}

#[derive(Debug, Clone, Default)]
struct At {
    inside: Option<Arc<Cover>>,
    reach: Reach,
}

#[derive(Clone)]
struct Spot {
    at: [At; LAYERS],
    /// The real folder of the link that led here, and how much of the path leads to it.
    through: Option<(Arc<PathBuf>, usize)>,
}

/// How much each layer had counted when a link was met.
type Counted = Vec<(usize, u64)>;

/// A folder that the walk goes into.
struct Entered {
    spot: Spot,
    real: Option<PathBuf>,
    /// For the first link on the way.
    counted: Option<Counted>,
}

/// A folder on the way to the one that is looked at.
struct Frame {
    names: Arc<Vec<Name>>,
    index: usize,
    length: usize,
    place: (u64, u64),
    spot: Spot,
    counted: Option<Counted>,
}

/// Walks for one set of globs; contents of files are kept where something to keep them in is given.
pub(super) fn walk(workspace: &mut Workspace, layer: Layer<'_>, keep: Keep<'_>) -> Result<Found, Error> {
    Ok(run(workspace, vec![layer], keep, false)?.pop().unwrap_or_default())
}

/// Walks for several sets of globs at once, right after a scan, which has seen the stamps of the folders.
pub(super) fn walk_looked<'a, const COUNT: usize>(
    workspace: &mut Workspace,
    layers: [Layer<'a>; COUNT],
) -> Result<[Found; COUNT], Error> {
    let mut found = run(workspace, layers.into(), None, true)?.into_iter();
    Ok(std::array::from_fn(|_| found.next().unwrap_or_default()))
}

fn run(
    workspace: &mut Workspace,
    layers: Vec<Layer<'_>>,
    mut keep: Keep<'_>,
    has_looked: bool,
) -> Result<Vec<Found>, Error> {
    workspace.check_root()?;
    // Which bulk folders are ignored is known from the last scan.
    workspace.scan_once()?;
    let key = layers.iter().map(|layer| format!("{:?} {}", layer.sort, layer.key())).collect::<Vec<_>>().join("\0");
    let globs = hash_of(&key);
    let Watch { listings, contents, .. } = &mut workspace.watch;
    let mut walk = Walk {
        root: &workspace.root,
        layers,
        directory: &workspace.directory,
        outside: &workspace.outside,
        listing: listings.entry(key).or_default(),
        globs,
        found_plain: false,
        contents,
        reliable: workspace.reliable,
        started: Instant::now(),
        poll: workspace.stop.step(),
        max_file: workspace.max_file,
        has_looked,
        large: &mut workspace.large,
        above: HashSet::new(),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(walk.root, flags, Mode::empty()).map_err(Error::io("open", walk.root))?;
    let at = std::array::from_fn(|layer| {
        let reach = if layer < walk.layers.len() { Reach::All } else { Reach::Nothing };
        At { inside: None, reach }
    });
    walk.all(root, Spot { at, through: None }, &mut keep)?;
    // Worth knowing for the next process.
    workspace.unsaved |= walk.found_plain;
    Ok(walk.layers.into_iter().map(Layer::finish).collect())
}

/// Never zero, which stands for none.
fn hash_of(globs: &str) -> u64 {
    let digest = Sha1::digest(globs);
    u64::from_le_bytes(std::array::from_fn(|at| digest[at])).max(1)
}

impl Walk<'_> {
    /// Goes through a folder and everything below it.
    fn all(&mut self, root: OwnedFd, spot: Spot, keep: &mut Keep<'_>) -> Result<(), Error> {
        let mut descent = Descent::new(root);
        let mut path = Vec::new();
        let first = self.folder(&mut descent, &path, Entered { spot, real: None, counted: None })?;
        let mut stack: Vec<Frame> = first.into_iter().collect();
        while let Some(frame) = stack.last_mut() {
            self.poll.check()?;
            path.truncate(frame.length);
            let names = Arc::clone(&frame.names);
            let Some(name) = names.get(frame.index) else {
                self.above.remove(&frame.place);
                self.give_up(&path, frame.counted.take());
                stack.pop();
                descent.leave();
                continue;
            };
            frame.index += 1;
            if frame.length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(name.name.as_bytes());
            let fd = match descent.open() {
                Ok(fd) => fd,
                // Far below it was closed, and is not there any more.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(errno) => return Err(self.failed(&path, errno)),
            };
            let entered = match name.kind {
                FileType::Directory => self.child(fd, name, &path, &frame.spot)?,
                FileType::Symlink => self.link(fd, name, &path, &frame.spot, keep)?,
                FileType::RegularFile => {
                    self.file(fd, name, &path, &frame.spot, keep)?;
                    None
                }
                _ => {
                    self.special(name, &path, &frame.spot);
                    None
                }
            };
            if let Some(entered) = entered {
                match &entered.real {
                    Some(real) => descent.enter_elsewhere(real.clone()),
                    None => descent.enter(name.name.clone()),
                }
                let next = self.folder(&mut descent, &path, entered)?;
                if next.is_none() {
                    descent.leave();
                }
                stack.extend(next);
            }
        }
        Ok(())
    }

    /// Opens a folder and reads its names; `None` where there is nothing to go through.
    fn folder(&mut self, descent: &mut Descent, path: &[u8], entered: Entered) -> Result<Option<Frame>, Error> {
        let Entered { spot, real, counted } = entered;
        let fd = match descent.open() {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if real.is_none() => return Ok(None),
            Err(errno) if real.is_some() || matches!(errno, Errno::ACCESS | Errno::PERM) => {
                for (layer, at) in self.layers.iter_mut().zip(&spot.at) {
                    if at.reach != Reach::Nothing {
                        layer.found.closed.push(path.to_vec());
                    }
                }
                self.give_up(path, counted);
                return Ok(None);
            }
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let stat = fstat(fd).map_err(|errno| self.failed(path, errno))?;
        let place = (stat.st_dev, stat.st_ino);
        if !self.above.insert(place) {
            self.give_up(path, counted);
            return Ok(None);
        }
        let names = self.names(fd, Stamp::of(&stat), path, &spot)?;
        Ok(Some(Frame { names, index: 0, length: path.len(), place, spot, counted }))
    }

    /// Comes back to a link. What is behind it is not watched where that is too much.
    fn give_up(&mut self, path: &[u8], counted: Option<Counted>) {
        for (layer, counted) in self.layers.iter_mut().zip(counted.into_iter().flatten()) {
            layer.give_up(path, counted);
        }
    }

    /// Which layers go into a folder, if any.
    fn child(&mut self, fd: BorrowedFd<'_>, name: &Name, path: &[u8], spot: &Spot) -> Result<Option<Entered>, Error> {
        let (bulk, git) = (BULK.contains(&name.name.as_bytes()), name.name.as_bytes() == names::GIT);
        let mut next: [At; LAYERS] = Default::default();
        let (mut entered, mut watched) = (false, false);
        for (index, layer) in self.layers.iter_mut().enumerate() {
            let (mark, at) = (&name.marks[index], &spot.at[index]);
            next[index].inside = mark.inside.clone();
            let mut reach = layer.reach(at.reach);
            if git {
                let is_covered = reach != Reach::Nothing && mark.covering.is_some();
                if !is_covered || layer.is_known_repository(path) {
                    reach = Reach::Nothing;
                }
            }
            if bulk && reach == Reach::All && layer.passes_by(path, || self.directory.ignores(self.outside, path)) {
                reach = Reach::Named;
            }
            if reach == Reach::Named && !mark.is_watched() {
                reach = Reach::Nothing;
            }
            if reach != Reach::Nothing && spot.through.is_some() {
                layer.count(path, mark.any(), spot, 0)?;
            }
            next[index].reach = layer.reach(reach);
            entered |= next[index].reach != Reach::Nothing;
            watched |= next[index].reach != Reach::Nothing && mark.is_watched();
        }
        if !entered || (!watched && self.is_unchanged_and_empty(fd, name, path)) {
            return Ok(None);
        }
        let recorded = |(index, layer): (usize, &Layer<'_>)| {
            layer.sort == Sort::Prohibited
                && next[index].reach != Reach::Nothing
                && name.marks[index].covering.is_some()
        };
        if self.layers.iter().enumerate().any(recorded) {
            let mode = match statat(fd, &name.name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat.st_mode & 0o7777,
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(self.failed(path, errno)),
            };
            for index in 0..self.layers.len() {
                if recorded((index, &self.layers[index]))
                    && let Some(cover) = &name.marks[index].covering
                {
                    self.layers[index].record(path, cover, What::Folder { mode }, spot);
                }
            }
        }
        let spot = Spot { at: next, through: spot.through.clone() };
        Ok(Some(Entered { spot, real: None, counted: None }))
    }

    fn file(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &Name,
        path: &[u8],
        spot: &Spot,
        keep: &mut Keep<'_>,
    ) -> Result<(), Error> {
        let Some(care) = self.care(&name.marks, spot) else { return Ok(()) };
        let stat = match statat(fd, &name.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(self.failed(path, errno)),
        };
        let stamp = Stamp::of(&stat);
        if spot.through.is_some() {
            for (index, layer) in self.layers.iter_mut().enumerate() {
                if let Some(cover) = layer.covering(&name.marks[index], &spot.at[index]) {
                    layer.count(path, Some(cover), spot, stamp.size)?;
                }
            }
        }
        let opening = || openat(fd, &name.name, content::FILE, Mode::empty());
        let Some(content) = self.content(path, stamp, care, opening, keep)? else { return Ok(()) };
        for (index, layer) in self.layers.iter_mut().enumerate() {
            if let Some(cover) = layer.covering(&name.marks[index], &spot.at[index]) {
                layer.record(path, cover, What::File(content.for_care(cover.care)), spot);
            }
        }
        Ok(())
    }

    /// Something that is neither a file nor a link nor a folder: that it is there is all that there is to know.
    fn special(&mut self, name: &Name, path: &[u8], spot: &Spot) {
        for (index, layer) in self.layers.iter_mut().enumerate() {
            if layer.knows_specials()
                && let Some(cover) = layer.covering(&name.marks[index], &spot.at[index])
            {
                layer.record(path, cover, What::Special, spot);
            }
        }
    }

    /// The most that any layer wants to know of a file; `None` when none wants anything.
    fn care(&self, marks: &[Mark; LAYERS], spot: &Spot) -> Option<Care> {
        let covering = self
            .layers
            .iter()
            .enumerate()
            .filter_map(|(index, layer)| layer.covering(&marks[index], &spot.at[index]).map(|cover| cover.care));
        covering.reduce(|one, other| match (one, other) {
            (Care::Keep, _) | (_, Care::Keep) => Care::Keep,
            (Care::Compare, _) | (_, Care::Compare) => Care::Compare,
            (Care::Notice | Care::Glance, Care::Notice | Care::Glance) => Care::Notice,
        })
    }

    fn full(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    fn failed(&self, path: &[u8], errno: Errno) -> Error {
        Error::io("read", self.full(path))(errno)
    }
}
