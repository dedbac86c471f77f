//! Namespaces of the process's own, and mounts that hide files in them. Nothing changes for other processes.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Mode, OFlags};

use crate::wire::Jail;

const NOTHING: Option<&str> = None;

/// Moves this process, which must have one thread only, into a new network and to mounts of its own. There is no way back.
pub(super) fn separate(has_network: bool, has_mounts: bool) -> Result<(), String> {
    let mut wanted = CloneFlags::empty();
    wanted.set(CloneFlags::CLONE_NEWNET, has_network);
    wanted.set(CloneFlags::CLONE_NEWNS, has_mounts);
    if wanted.is_empty() {
        return Ok(());
    }
    let separated = match unshare(wanted) {
        Err(nix::Error::EPERM) => separate_as_user(wanted),
        separated => separated.map_err(io::Error::from),
    };
    separated.map_err(|error| format!("could not create a namespace: {error}"))
}

/// Only a user namespace gives an ordinary user the right to others. Inside, the user stays the same.
fn separate_as_user(wanted: CloneFlags) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | wanted)?;
    // Without this a process may not choose the groups of a namespace: groups can also take rights away.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Puts an empty folder or an empty file over everything that is hidden, and what is writable below back into its place.
pub(super) fn hide(jail: &Jail) -> Result<(), String> {
    // Mounts made here must not reach other processes, nor theirs this one.
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(NOTHING, "/", NOTHING, private, NOTHING).map_err(|error| format!("could not have own mounts: {error}"))?;
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| format!("could not hide {path}: {error}")
    };
    let kept = jail.writable.iter().filter(|path| jail.hidden.iter().any(|hidden| path.starts_with(hidden)));
    let mut steps: Vec<(&PathBuf, Option<OwnedFd>)> = jail.hidden.iter().map(|path| (path, None)).collect();
    for path in kept {
        // Opened before anything lies over it.
        let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        steps.push((path, Some(opened.map_err(|error| failed(path)(error.into()))?)));
    }
    // Paths are compared component by component, so that a folder comes before what is in it.
    steps.sort_by_key(|(path, _)| *path);
    let mut folders = Vec::new();
    for (path, opened) in steps {
        match opened {
            Some(opened) => uncover(path, &opened).map_err(failed(path))?,
            None if path.is_dir() => {
                cover(path).map_err(failed(path))?;
                folders.push(path);
            }
            None if path.exists() => bind(Path::new("/dev/null"), path).map_err(failed(path))?,
            // Gone with a folder above it.
            None => {}
        }
    }
    // After all else, because mount points were made in them.
    for path in folders {
        let flags = cover_flags() | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(NOTHING, path, NOTHING, flags, NOTHING).map_err(io::Error::from).map_err(failed(path))?;
    }
    Ok(())
}

fn cover_flags() -> MsFlags {
    MsFlags::MS_NOSUID | MsFlags::MS_NODEV
}

fn cover(path: &Path) -> io::Result<()> {
    Ok(mount(Some("tmpfs"), path, Some("tmpfs"), cover_flags(), Some("mode=755,size=1m"))?)
}

fn uncover(path: &Path, opened: &OwnedFd) -> io::Result<()> {
    let source = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    if source.is_dir() {
        fs::create_dir_all(path)?;
    } else {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::File::create(path)?;
    }
    bind(&source, path)
}

fn bind(source: &Path, target: &Path) -> io::Result<()> {
    Ok(mount(Some(source), target, NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)?)
}
