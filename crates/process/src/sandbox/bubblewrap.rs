//! What bubblewrap is told. Starts nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Network;
use crate::wire::Jail;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    Root,
    Other,
}

/// The options that make the mounts of a jail. What is to be executed comes after them.
pub(super) fn options(jail: &Jail, user: User) -> Vec<OsString> {
    let mut options = Options(Vec::new());
    options.add(&["--ro-bind", "/", "/"]);
    // The devices that hold nothing, and pseudo terminals of its own.
    options.add(&["--dev", "/dev"]);
    if user == User::Other {
        // Root could change the settings of the machine there. Others are kept to their own processes by the kernel.
        options.add(&["--bind", "/proc", "/proc"]);
    }
    if jail.network != Network::Allowed {
        options.add(&["--unshare-net"]);
    }
    for (path, mount) in mounts(jail) {
        match mount {
            Mount::Writable if path.starts_with("/dev") => options.add_at("--dev-bind", Some(path), path),
            Mount::Writable => options.add_at("--bind", Some(path), path),
            Mount::HiddenFolder => options.add_at("--tmpfs", None, path),
            Mount::HiddenFile => options.add_at("--ro-bind", Some(Path::new("/dev/null")), path),
        }
    }
    // After all else, because mount points were made in them.
    for (path, _) in mounts(jail).iter().filter(|(_, mount)| *mount == Mount::HiddenFolder) {
        options.add_at("--remount-ro", None, path);
    }
    options.add(&["--"]);
    options.0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mount {
    Writable,
    HiddenFolder,
    HiddenFile,
}

/// All mounts, outer ones before those inside of them.
fn mounts(jail: &Jail) -> Vec<(&Path, Mount)> {
    let shared = Path::new("/dev/shm");
    let writable = jail.writable.iter().map(PathBuf::as_path).filter(|path| *path != shared);
    let mut mounts: Vec<(&Path, Mount)> = writable.map(|path| (path, Mount::Writable)).collect();
    mounts.extend(
        jail.hidden
            .iter()
            .map(|path| (path.as_path(), if path.is_dir() { Mount::HiddenFolder } else { Mount::HiddenFile })),
    );
    if shared.is_dir() && !jail.hidden.iter().any(|path| path == shared) {
        mounts.push((shared, Mount::Writable));
    }
    // Paths are compared component by component, so that a folder comes before what is in it.
    mounts.sort_by_key(|(path, _)| *path);
    mounts
}

struct Options(Vec<OsString>);

impl Options {
    fn add(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn add_at(&mut self, option: &str, source: Option<&Path>, target: &Path) {
        self.0.push(option.into());
        self.0.extend(source.into_iter().chain([target]).map(OsString::from));
    }
}

#[cfg(test)]
#[path = "bubblewrap_tests.rs"]
mod tests;
