//! Keeps `.ralph/` out of the user's git without touching a file that is shared. Runs nothing.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::Error;
use crate::gitdir::GitDir;

/// What became of the exclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// `.ralph/` was added to `info/exclude`.
    Added,
    /// It was there before.
    AlreadyThere,
    NoRepository,
}

/// Adds `.ralph/` to the `info/exclude` of the repository that the folder is in. Worktrees and submodules, whose `.git` is
/// a file, are followed to where git looks; a link in place of `info` or `exclude` is not, because an agent could have
/// pointed it anywhere.
pub fn exclude_ralph_folder(root: &Path) -> Result<Excluded, Error> {
    let root = root.canonicalize().map_err(Error::io("open", root))?;
    let Some(repository) = GitDir::find(&root) else { return Ok(Excluded::NoRepository) };
    let folder = repository.common.join("info");
    let path = folder.join("exclude");
    match fs::symlink_metadata(&folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(Error::Exclude { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        }
        Err(error) => return Err(Error::io("read", folder)(error)),
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let opened = fs::OpenOptions::new().read(true).append(true).create(true).custom_flags(flags).open(&path);
    let mut file = match opened {
        Ok(file) if file.metadata().is_ok_and(|found| found.is_file()) => file,
        Err(error) if error.raw_os_error() != Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(Error::io("open", path)(error));
        }
        Ok(_) | Err(_) => return Err(Error::Exclude { path }),
    };
    let mut content = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut content));
    read.map_err(Error::io("read", &path))?;
    let there = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    if there.into_iter().any(|line| [&b".ralph/"[..], b".ralph", b"/.ralph/", b"/.ralph"].contains(&line)) {
        return Ok(Excluded::AlreadyThere);
    }
    let line: &[u8] = if content.last().is_none_or(|byte| *byte == b'\n') { b".ralph/\n" } else { b"\n.ralph/\n" };
    file.write_all(line).map_err(Error::io("write", path))?;
    Ok(Excluded::Added)
}
