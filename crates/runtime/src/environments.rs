//! Installed packages outside the workspace that checks load from and that an agent may write: virtual environments, the sources
//! that Cargo and Go unpacked for a lock file, folders that a variable names. What the sandbox keeps an agent from writing needs
//! no watching. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ralph_model::{LoopConfig, Sandboxing};
use ralph_process::{Files, Level};
use ralph_verify::pins::{self, Expanded, Program, Question};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Packages that are watched, files of one that are looked at, and bytes of all that are read before a loop starts.
const MAX_PACKAGES: usize = 2000;
const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 64 << 20;

/// A package as it was: what its files look like from outside, and what is in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Package {
    metadata: String,
    /// None where reading it would delay the start: its metadata decides alone.
    content: Option<String>,
}

/// Every package that is watched, by its path.
pub(crate) type Packages = BTreeMap<PathBuf, Package>;

/// The packages that checks load from outside of the workspace and that an agent may write, as they are now.
pub(crate) fn packages(config: &LoopConfig, environment: &[(OsString, OsString)], texts: &[Expanded]) -> Packages {
    let all = Places { config, environment, root: PathBuf::from(&config.workspace) }.packages(texts);
    let mut room = MAX_BYTES;
    let known = all.into_iter().take(MAX_PACKAGES);
    known
        .filter_map(|path| {
            let package = Package { metadata: metadata(&path)?, content: content(&path, &mut room) };
            Some((path, package))
        })
        .collect()
}

/// The configuration with what the sandbox is worth for agents: none where this machine has no sandbox, or where the agent is a session
/// of the user's own.
pub(crate) fn as_confined(config: &LoopConfig, level: &Level) -> LoopConfig {
    let is_open = matches!(level.files, Files::Open { .. }) || config.agent.is_in_session();
    let sandbox = if is_open { Sandboxing::Off } else { config.sandbox };
    LoopConfig { sandbox, ..config.clone() }
}

/// The programs that checks start from outside of the workspace. Where no agent can write, another link to one, or other permissions,
/// say nothing of what it is.
pub(crate) fn programs(
    config: &LoopConfig,
    environment: &[(OsString, OsString)],
    question: &Question<'_>,
) -> Vec<Program> {
    let places = Places { config, environment, root: PathBuf::from(&config.workspace) };
    let mut programs = pins::programs(question);
    for program in &mut programs {
        // In the home folder there are more places that an agent may write.
        let is_own = places.variable("HOME").is_none_or(|home| program.file.starts_with(home));
        if !is_own && !places.is_exposed(&program.file) {
            program.changed = None;
        }
    }
    programs
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Another content, and new files that Python runs when it starts, or that register plugins.
    pub(crate) content: Vec<PathBuf>,
    /// Only other metadata, where the content was not read: another link to a file or a backup can do that.
    pub(crate) metadata: Vec<PathBuf>,
}

/// Compares the packages with those that lie there now.
pub(crate) fn changed(packages: &Packages) -> Changed {
    let mut found = Changed::default();
    for (path, before) in packages {
        if metadata(path).as_ref() == Some(&before.metadata) {
            continue;
        }
        if before.content.is_none() && path.exists() {
            found.metadata.push(path.clone());
        } else if content(path, &mut { MAX_BYTES }) != before.content {
            found.content.push(path.clone());
        }
    }
    let folders: BTreeSet<&Path> = packages.keys().filter_map(|path| path.parent()).collect();
    let steers = |path: &PathBuf| {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        name.ends_with(".pth")
            || matches!(&*name, "sitecustomize.py" | "usercustomize.py")
            || path.join("entry_points.txt").is_file()
    };
    let of_python = folders.into_iter().filter(|folder| folder.ends_with("site-packages"));
    let new = of_python.flat_map(entries).filter(|path| !packages.contains_key(path));
    found.content.extend(new.filter(steers));
    found
}

struct Places<'a> {
    config: &'a LoopConfig,
    environment: &'a [(OsString, OsString)],
    root: PathBuf,
}

impl Places<'_> {
    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// The folder that a variable names, or one below the home folder.
    fn folder(&self, name: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variable(name).map(PathBuf::from);
        named.or_else(|| Some(Path::new(self.variable("HOME")?).join(below_home))).filter(|path| path.is_absolute())
    }

    /// Whether an agent may write there, and the workspace is not around it.
    fn is_exposed(&self, path: &Path) -> bool {
        let own = self.config.writable.iter().map(PathBuf::from);
        let caches = [
            Some(PathBuf::from("/tmp")),
            Some(PathBuf::from("/var/tmp")),
            self.variable("TMPDIR").map(PathBuf::from),
            self.folder("XDG_CACHE_HOME", ".cache"),
            self.folder("CARGO_HOME", ".cargo").map(|home| home.join("registry")),
            self.folder("GOPATH", "go").map(|path| path.join("pkg")),
            self.variable("GOMODCACHE").map(PathBuf::from),
        ];
        let mut writable = own.chain(caches.into_iter().flatten());
        !path.starts_with(&self.root)
            && (self.config.sandbox == Sandboxing::Off || writable.any(|folder| path.starts_with(folder)))
    }

    fn packages(&self, texts: &[Expanded]) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for environment in self.virtual_environments(texts) {
            let libraries = entries(&environment.join("lib")).into_iter().map(|python| python.join("site-packages"));
            folders.extend(libraries.filter(|folder| folder.is_dir()));
        }
        let named = ["PYTHONPATH", "NODE_PATH"].into_iter().filter_map(|name| self.variable(name));
        folders.extend(named.flat_map(std::env::split_paths).filter(|folder| folder.is_absolute()));
        folders.sort();
        folders.dedup();
        // An installation rewrites its own records.
        let is_record = |path: &PathBuf| {
            let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
            matches!(&*name, "__pycache__" | "pip")
                || (name.ends_with("-info") && !path.join("entry_points.txt").is_file())
        };
        let mut packages: Vec<PathBuf> =
            folders.iter().filter(|folder| self.is_exposed(folder)).flat_map(|folder| entries(folder)).collect();
        packages.retain(|path| !is_record(path));
        packages.extend(self.of_cargo().into_iter().chain(self.of_go()).filter(|path| self.is_exposed(path)));
        packages
    }

    /// Environments that are active, those that a program on PATH lies in, and those of poetry.
    fn virtual_environments(&self, texts: &[Expanded]) -> Vec<PathBuf> {
        let named =
            ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(|name| self.variable(name)).map(PathBuf::from);
        let mut found: Vec<PathBuf> = named.collect();
        let search = self.variable("PATH").unwrap_or_default();
        let above = std::env::split_paths(search).filter_map(|folder| folder.parent().map(Path::to_owned));
        found.extend(above.filter(|folder| folder.join("pyvenv.cfg").is_file()));
        if texts.iter().any(|text| text.text.contains("poetry ")) {
            let cache = self.variable("POETRY_CACHE_DIR").map(PathBuf::from);
            let cache = cache.or_else(|| Some(self.folder("XDG_CACHE_HOME", ".cache")?.join("pypoetry")));
            found.extend(cache.into_iter().flat_map(|cache| entries(&cache.join("virtualenvs"))));
        }
        found
    }

    /// Sources that Cargo unpacked, of the packages in the lock file.
    fn of_cargo(&self) -> Vec<PathBuf> {
        let Ok(lock) = fs::read_to_string(self.root.join("Cargo.lock")) else { return Vec::new() };
        let Some(home) = self.folder("CARGO_HOME", ".cargo") else { return Vec::new() };
        let registries = entries(&home.join("registry/src"));
        let mut found = Vec::new();
        for package in lock.split("[[package]]").filter(|package| package.contains("source = \"registry+")) {
            let value = |name: &str| {
                let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
                line.and_then(|rest| rest.strip_suffix('"'))
            };
            if let (Some(name), Some(version)) = (value("name"), value("version")) {
                found.extend(registries.iter().map(|registry| registry.join(format!("{name}-{version}"))));
            }
        }
        found.retain(|folder| folder.is_dir());
        found
    }

    /// Modules that Go unpacked, of those in `go.sum`.
    fn of_go(&self) -> Vec<PathBuf> {
        let Ok(sums) = fs::read_to_string(self.root.join("go.sum")) else { return Vec::new() };
        let cache = self.variable("GOMODCACHE").map(PathBuf::from);
        let Some(cache) = cache.or_else(|| Some(self.folder("GOPATH", "go")?.join("pkg/mod"))) else {
            return Vec::new();
        };
        let mut found: Vec<PathBuf> = Vec::new();
        for line in sums.lines() {
            let mut words = line.split(' ');
            if let (Some(module), Some(version)) = (words.next(), words.next())
                && !version.ends_with("/go.mod")
            {
                // Capital letters are written with a mark, because some file systems do not tell them from small ones.
                let escaped = |text: &str| -> String {
                    let letter =
                        |c: char| if c.is_uppercase() { format!("!{}", c.to_lowercase()) } else { c.to_string() };
                    text.chars().map(letter).collect()
                };
                found.push(cache.join(format!("{}@{}", escaped(module), escaped(version))));
            }
        }
        found.retain(|folder| folder.is_dir());
        found
    }
}

/// What lies in a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// Every file of a package, or the only one, sorted; nothing where there are too many. Follows no link.
fn files(package: &Path) -> Option<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![package.to_owned()]);
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).ok()?;
        if !about.is_dir() {
            found.push(path);
        } else if path.file_name() != Some(OsStr::new("__pycache__")) {
            open.extend(entries(&path));
        }
        if found.len() > MAX_FILES {
            return None;
        }
    }
    found.sort();
    Some(found)
}

/// What the files of a package look like from outside. A change of content changes a time that no program sets at will.
fn metadata(package: &Path) -> Option<String> {
    let mut hash = Sha256::new();
    for file in files(package)? {
        let about = fs::symlink_metadata(&file).ok()?;
        hash.update(file.as_os_str().as_bytes());
        for number in [about.ino(), about.size(), u64::from(about.mode())] {
            hash.update(number.to_le_bytes());
        }
        for number in [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()] {
            hash.update(number.to_le_bytes());
        }
    }
    Some(text(hash))
}

/// What is in the files of a package; nothing where there is no room for so much, or where it cannot be read.
fn content(package: &Path, room: &mut u64) -> Option<String> {
    let files = files(package)?;
    let sizes = files.iter().map(|file| fs::symlink_metadata(file).map_or(0, |about| about.size()));
    *room = room.checked_sub(sizes.sum::<u64>())?;
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.as_os_str().as_bytes());
        let about = fs::symlink_metadata(&file).ok()?;
        if about.is_symlink() {
            hash.update(fs::read_link(&file).ok()?.as_os_str().as_bytes());
        } else if about.is_file() {
            hash.update(about.size().to_le_bytes());
            hash.update(fs::read(&file).ok()?);
        }
    }
    Some(text(hash))
}

fn text(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "environments_tests.rs"]
mod tests;
