//! The settings of an agent, as they were before it ran. An agent has to write the folder that they are in, because its login
//! and its sessions are there too; what it changes of its settings would hold for its next run, and outside of any sandbox for
//! the user's own. So they are put back.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Files that are remembered, the bytes of one, and how deep folders are looked into.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 4 * 1024 * 1024;
const DEEPEST: usize = 6;

/// What lies at some paths.
#[derive(Debug, Default)]
pub(crate) struct Keepsakes {
    roots: Vec<PathBuf>,
    kept: BTreeMap<PathBuf, Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    File {
        content: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    /// Too much to remember, or neither a file nor a link: left alone.
    Other,
}

impl Keepsakes {
    /// Remembers what lies at these paths, files and folders.
    pub(crate) fn take(roots: Vec<PathBuf>) -> Self {
        let kept = look(&roots);
        Self { roots, kept }
    }

    /// Makes everything as it was, and says what was not. What it had become is kept in a folder: the user may have changed it,
    /// and not the agent.
    pub(crate) fn put_back(&self, aside: &Path) -> Vec<String> {
        let now = look(&self.roots);
        let mut changed = Vec::new();
        for (path, was) in &self.kept {
            let is = now.get(path);
            if *was == Kept::Other || is == Some(was) || save(aside, changed.len(), path, is).is_err() {
                continue;
            }
            if restore(path, was).is_ok() {
                changed.push(path.display().to_string());
            }
        }
        // With as many files as are remembered, one that is missing from the list may always have been there.
        if self.kept.len() < MOST_FILES {
            for (path, is) in now.iter().filter(|(path, _)| !self.kept.contains_key(*path)) {
                if save(aside, changed.len(), path, Some(is)).is_ok() && fs::remove_file(path).is_ok() {
                    changed.push(path.display().to_string());
                }
            }
        }
        changed
    }
}

fn look(roots: &[PathBuf]) -> BTreeMap<PathBuf, Kept> {
    let mut found = BTreeMap::new();
    let mut open: Vec<(PathBuf, usize)> = roots.iter().map(|root| (root.clone(), 0)).collect();
    while let Some((path, depth)) = open.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if found.len() >= MOST_FILES {
            break;
        }
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten().take(MOST_FILES);
            open.extend(entries.filter(|_| depth < DEEPEST).map(|entry| (entry.path(), depth + 1)));
        } else {
            let kept = remember(&path, &metadata).unwrap_or(Kept::Other);
            found.insert(path, kept);
        }
    }
    found
}

fn remember(path: &Path, metadata: &fs::Metadata) -> io::Result<Kept> {
    if metadata.is_symlink() {
        return fs::read_link(path).map(Kept::Link);
    }
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return Ok(Kept::Other);
    }
    // It may be a pipe by now, and nobody waits for one.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() | rustix::fs::OFlags::NOFOLLOW.bits();
    let file = fs::OpenOptions::new().read(true).custom_flags(nonblocking.cast_signed()).open(path)?;
    let mut content = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut content)?;
    Ok(Kept::File { content, mode: metadata.mode() & 0o7777 })
}

/// Keeps what a file had become, under its name and a number.
fn save(aside: &Path, number: usize, path: &Path, is: Option<&Kept>) -> io::Result<()> {
    let Some(Kept::File { content, .. }) = is else { return Ok(()) };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(aside)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    fs::write(aside.join(format!("{number}-{name}")), content)
}

/// Replaces whatever lies at the path by what was there, at once.
fn restore(path: &Path, was: &Kept) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        fs::remove_dir_all(path)?;
    }
    let made = tempfile::Builder::new().prefix(".ralph-").tempdir_in(folder)?;
    let new = made.path().join("kept");
    match was {
        Kept::File { content, mode } => {
            fs::write(&new, content)?;
            fs::set_permissions(&new, std::os::unix::fs::PermissionsExt::from_mode(*mode))?;
        }
        Kept::Link(target) => std::os::unix::fs::symlink(target, &new)?,
        Kept::Other => return Ok(()),
    }
    fs::rename(&new, path)
}

#[cfg(test)]
#[path = "keepsakes_tests.rs"]
mod tests;
