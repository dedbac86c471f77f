//! Links: which are followed, and what is behind them.

use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat, readlinkat};
use rustix::io::Errno;

use super::names::{GIT, Name};
use super::{At, Counted, Entered, Keep, LAYERS, Layer, Reach, Sort, Spot, Walk, content};
use crate::Error;
use crate::guard::Care;
use crate::guard::baseline::{Behind, Bytes, What};
use crate::object::{Id, Kind};
use crate::stamp::Stamp;

impl Walk<'_> {
    pub(super) fn link(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &Name,
        path: &[u8],
        spot: &Spot,
        keep: &mut Keep<'_>,
    ) -> Result<Option<Entered>, Error> {
        let mut target = None;
        let mut asked = [false; LAYERS];
        for (index, layer) in self.layers.iter().enumerate() {
            let named = name.marks[index].is_watched();
            asked[index] = match layer.reach(spot.at[index].reach) {
                Reach::Nothing => false,
                Reach::Named => named,
                Reach::All => named || (layer.sort == Sort::Pinned && name.name.as_bytes() != GIT),
            };
        }
        if asked.contains(&true) {
            target = match readlinkat(fd, &name.name, Vec::new()) {
                Ok(target) => Some(Bytes(target.into_bytes())),
                Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
                Err(errno) => return Err(self.failed(path, errno)),
            };
        }
        let Some(target) = target else { return Ok(None) };
        if let Some((store, batch)) = keep {
            batch.add(store, Kind::Blob, Id::of(Kind::Blob, &target.0), target.0.clone())?;
        }
        let counted: Counted = self.layers.iter().map(Layer::counted).collect();
        let mut follow = [false; LAYERS];
        for (index, layer) in self.layers.iter_mut().enumerate().filter(|(index, _)| asked[*index]) {
            follow[index] = layer.meet(name, index, path, &target, spot)?;
        }
        if !follow.contains(&true) {
            return Ok(None);
        }
        let counted = spot.through.is_none().then_some(counted);
        match self.follow(fd, name, path, spot, &target, follow, keep)? {
            None => {
                self.give_up(path, counted);
                Ok(None)
            }
            Some((real, at)) => {
                let through = Some((Arc::new(real.clone()), path.len()));
                Ok(Some(Entered { spot: Spot { at, through }, real: Some(real), counted }))
            }
        }
    }

    /// Records what is behind a link; gives the folder that it leads to and which layers enter it.
    #[expect(clippy::too_many_arguments, reason = "all of it is one look at one link")]
    fn follow(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &Name,
        path: &[u8],
        spot: &Spot,
        target: &Bytes,
        follow: [bool; LAYERS],
        keep: &mut Keep<'_>,
    ) -> Result<Option<(PathBuf, [At; LAYERS])>, Error> {
        let real = resolve(fd, name);
        // What is inside is told for all, because the names of a folder are remembered for all.
        let mut next: [At; LAYERS] =
            std::array::from_fn(|index| At { inside: name.marks[index].inside.clone(), reach: Reach::Nothing });
        for index in (0..self.layers.len()).filter(|index| follow[*index]) {
            let mark = &name.marks[index];
            let Some(cover) = mark.any() else { continue };
            let (mut behind, mut folder) = (None, None);
            if let Some((stat, real)) = &real {
                let place = Bytes(real.as_os_str().as_bytes().to_vec());
                match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile if mark.covering.is_some() => {
                        let stamp = Stamp::of(stat);
                        self.layers[index].count(path, Some(cover), spot, stamp.size)?;
                        if self.layers[index].reach(Reach::All) != Reach::Nothing {
                            let opening = || open(real, content::FILE, Mode::empty());
                            let content = self.content(path, stamp, cover.care, opening, keep)?;
                            behind = content.map(|content| Behind { real: place, content });
                        }
                    }
                    FileType::Directory => folder = Some(place),
                    _ => {}
                }
            }
            let layer = &mut self.layers[index];
            let led = |place: &Bytes| layer.baseline.is_none_or(|baseline| baseline.led_to(path, place));
            if folder.as_ref().is_some_and(led) {
                next[index].reach = Reach::Named;
            } else {
                layer.found.closed.push(path.to_vec());
            }
            layer.record(path, cover, What::Link { target: target.clone(), behind, folder }, spot);
        }
        let enters = next.iter().any(|at| at.reach != Reach::Nothing);
        Ok(real.filter(|_| enters).map(|(_, real)| (real, next)))
    }
}

impl Layer<'_> {
    /// Whether a link is followed; one that is not is recorded as it is.
    fn meet(&mut self, name: &Name, index: usize, path: &[u8], target: &Bytes, spot: &Spot) -> Result<bool, Error> {
        let mark = &name.marks[index];
        let Some(cover) = mark.any() else {
            match self.baseline {
                None => drop(self.found.links.insert(path.to_vec(), target.clone())),
                Some(baseline) if baseline.links.get(path) != Some(target) => {
                    self.found.strange.insert(path.to_vec());
                }
                Some(_) => {}
            }
            return Ok(false);
        };
        if spot.through.is_some() {
            self.count(path, Some(cover), spot, 0)?;
        }
        // A git directory changes with every use of git: only where it is counts.
        if name.name.as_bytes() == GIT {
            if self.knows_specials() {
                self.record(path, cover, What::Link { target: target.clone(), behind: None, folder: None }, spot);
            }
            return Ok(false);
        }
        let known = self.baseline.is_none_or(|baseline| baseline.has_link(path, target));
        if !known {
            self.found.closed.push(path.to_vec());
            if self.sort == Sort::Pinned {
                self.found.strange.insert(path.to_vec());
                // On the way to pinned files it is none itself: it counts by what it hides and what it brings.
                if mark.covering.is_none() {
                    return Ok(false);
                }
            }
        }
        let noticed = mark.covering.as_ref().is_some_and(|cover| matches!(cover.care, Care::Notice | Care::Glance));
        let passed = self.baseline.is_some_and(|baseline| baseline.unwatched.contains(path));
        if known && !noticed && !passed {
            return Ok(true);
        }
        self.record(path, cover, What::Link { target: target.clone(), behind: None, folder: None }, spot);
        Ok(false)
    }
}

/// What a link leads to. Nothing behind it, a circle of links, or a folder that may not be entered: the link is all there
/// is.
fn resolve(fd: BorrowedFd<'_>, name: &Name) -> Option<(Stat, PathBuf)> {
    let opened = openat(fd, &name.name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = fstat(&opened).ok()?;
    let real = fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()?;
    Some((stat, real))
}
