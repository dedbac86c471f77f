//! Goes through a folder by open folders, never through a link. Nothing of git or Ralph is visited.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use super::root::read_bounded;

/// Folders below this depth are not visited: each level is an open file.
const MAX_DEPTH: usize = 64;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// What to do with what git ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ignored {
    Skip,
    Visit,
}

/// Something below the folder.
pub(super) struct Entry<'a> {
    /// Relative to the folder that the walk began in.
    pub(super) path: &'a Path,
    pub(super) is_file: bool,
    folder: &'a OwnedFd,
    name: &'a OsStr,
}

impl Entry<'_> {
    /// Its content, if it is an ordinary file that is not too large.
    pub(super) fn read(&self) -> std::io::Result<Vec<u8>> {
        read_bounded(openat(self.folder, self.name, FILE, Mode::empty()))
    }
}

struct Walk<'a> {
    ignored: Ignored,
    rules: Vec<(PathBuf, Gitignore)>,
    visit: &'a mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
}

/// Visits everything below a folder, by name. Files that cannot be read are passed by.
pub(super) fn walk(
    folder: &OwnedFd,
    name: &OsStr,
    ignored: Ignored,
    visit: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
) {
    if let Ok(fd) = openat(folder, name, FOLDER, Mode::empty()) {
        let _ = Walk { ignored, rules: Vec::new(), visit }.folder(&fd, Path::new(""), 0);
    }
}

impl Walk<'_> {
    fn folder(&mut self, fd: &OwnedFd, path: &Path, depth: usize) -> ControlFlow<()> {
        let Ok(entries) = Dir::read_from(fd) else { return ControlFlow::Continue(()) };
        let names =
            entries.filter_map(Result::ok).map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        let mut names: Vec<OsString> = names.filter(|name| name != "." && name != "..").collect();
        names.sort();
        let known = self.rules.len();
        if self.ignored == Ignored::Skip && names.iter().any(|name| name == ".gitignore") {
            let rules = read_bounded(openat(fd, ".gitignore", FILE, Mode::empty()));
            self.rules.extend(rules.ok().map(|rules| (path.to_owned(), parse(&rules))));
        }
        for name in names {
            if name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".ralph") {
                // A walk that visits everything is asked whether it may move: what is git's own may not.
                if self.ignored == Ignored::Skip {
                    continue;
                }
            }
            let below = path.join(&name);
            let Ok(stat) = statat(fd, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if self.is_ignored(&below, kind == FileType::Directory) {
                continue;
            }
            let is_file = kind == FileType::RegularFile;
            (self.visit)(Entry { path: &below, is_file, folder: fd, name: &name })?;
            if kind == FileType::Directory
                && depth < MAX_DEPTH
                && let Ok(inner) = openat(fd, &name, FOLDER, Mode::empty())
            {
                self.folder(&inner, &below, depth + 1)?;
            }
        }
        self.rules.truncate(known);
        ControlFlow::Continue(())
    }

    /// The nearest rules that say something decide.
    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        for (base, rules) in self.rules.iter().rev() {
            match rules.matched(path.strip_prefix(base).unwrap_or(path), is_folder) {
                Match::None => {}
                word => return word.is_ignore(),
            }
        }
        false
    }
}

fn parse(content: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(".");
    for line in String::from_utf8_lossy(content).lines() {
        // A line that is no pattern is skipped, as git does.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
