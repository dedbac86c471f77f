//! Programs that the checks start: which file each name leads to, and whether it is still that file. Starts none.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ralph_model::{PinKind, Tamper, TamperKind};
use serde::{Deserialize, Serialize};

use crate::question::{Layers, Project, Question, add, starts, texts};
use crate::{path, stack};

/// Programs that are looked up whether a command names them or not: scripts and runners start them.
const USUAL: [&str; 22] = [
    "sh",
    "bash",
    "env",
    "python",
    "python3",
    "pytest",
    "uv",
    "poetry",
    "tox",
    "nox",
    "node",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "cargo",
    "cargo-nextest",
    "rustc",
    "go",
    "make",
    "just",
];
/// Programs that are remembered at most.
const MAX: usize = 300;

/// A program outside the workspace, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Program {
    /// The word that leads to it.
    pub name: String,
    /// The file, with all links followed.
    pub file: PathBuf,
    /// The file's device.
    pub device: u64,
    /// The file's inode.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When its content changed last, in nanoseconds since 1970.
    pub modified: i128,
    /// When anything about it changed last, in nanoseconds since 1970: nobody can set this back.
    pub changed: i128,
}

/// Every program outside the workspace that the commands or what they start would find on PATH.
#[must_use]
pub fn programs(question: &Question<'_>) -> Vec<Program> {
    let texts = texts(question.root, question.commands);
    let mut names: Vec<String> = USUAL.map(str::to_owned).to_vec();
    for word in starts(&texts).into_iter().flat_map(|simple| simple.words) {
        if !names.contains(&word) && names.len() < MAX {
            names.push(word);
        }
    }
    let search = folders(question.path, question.root);
    let root = canonical(question.root);
    names.iter().filter_map(|name| find(name, &search, &root)).collect()
}

/// What became of programs: each that another file answers for, or whose file was replaced.
#[must_use]
pub fn changed_programs(before: &[Program], path: &OsStr, root: &Path) -> Vec<Tamper> {
    let search = folders(path, root);
    let root = canonical(root);
    let mut tampered = Vec::new();
    for program in before {
        let detail = match resolve(&program.name, &search, &root) {
            None => format!("{} is gone", program.file.display()),
            Some(file) if file != program.file => format!("{} instead of {}", file.display(), program.file.display()),
            Some(file) => match describe(&program.name, &file) {
                Some(now) if now == *program => continue,
                Some(now) if (now.device, now.inode, now.size) == (program.device, program.inode, program.size) => {
                    format!("{} was written to", file.display())
                }
                Some(_) => format!("{} was replaced", file.display()),
                None => format!("{} cannot be read", file.display()),
            },
        };
        tampered.push(Tamper::with(program.name.clone(), TamperKind::Program, detail));
    }
    tampered
}

/// The folders of a PATH; relative ones start at the workspace, and an empty one is the workspace itself.
fn folders(path: &OsStr, root: &Path) -> Vec<PathBuf> {
    if path.is_empty() {
        return Vec::new();
    }
    path.as_bytes().split(|byte| *byte == b':').map(|folder| root.join(OsStr::from_bytes(folder))).collect()
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The file that a word leads to, unless it is in the workspace: files there are pinned by other means.
fn find(name: &str, search: &[PathBuf], root: &Path) -> Option<Program> {
    let file = resolve(name, search, root)?;
    if file.starts_with(root) {
        return None;
    }
    describe(name, &file)
}

/// Whether a name leads to a program outside the workspace.
pub(crate) fn is_outside(name: &str, path: &OsStr, root: &Path) -> bool {
    find(name, &folders(path, root), &canonical(root)).is_some()
}

fn resolve(name: &str, search: &[PathBuf], root: &Path) -> Option<PathBuf> {
    if name.is_empty() || name.starts_with('-') || name.contains('\0') {
        return None;
    }
    if name.contains('/') {
        return name.starts_with('/').then(|| program_file(&root.join(name))).flatten();
    }
    search.iter().find_map(|folder| program_file(&folder.join(name)))
}

fn program_file(path: &Path) -> Option<PathBuf> {
    let data = fs::metadata(path).ok()?;
    if !data.is_file() || data.permissions().mode() & 0o111 == 0 {
        return None;
    }
    fs::canonicalize(path).ok()
}

fn describe(name: &str, file: &Path) -> Option<Program> {
    let data = fs::metadata(file).ok()?;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Some(Program {
        name: name.to_owned(),
        file: file.to_owned(),
        device: data.dev(),
        inode: data.ino(),
        size: data.len(),
        modified: nanoseconds(data.mtime(), data.mtime_nsec()),
        changed: nanoseconds(data.ctime(), data.ctime_nsec()),
    })
}

/// Folders of the workspace in which the checks look for programs.
pub(crate) fn add_search_path(question: &Question<'_>, project: &Project<'_>, layers: &mut Layers) {
    let root = canonical(question.root);
    for folder in folders(question.path, question.root) {
        let Some(inside) = inside(&folder, &root, question.root) else { continue };
        if inside.is_empty() {
            // The workspace itself: everything in it cannot be pinned, names of programs can.
            for glob in stack::program_names(project, "") {
                add(&mut layers.absent, PinKind::Absent, "PATH leads to the workspace itself", glob);
            }
            layers.notes.push(
                "PATH has the workspace itself in it: a file there could stand for any program of the checks"
                    .to_owned(),
            );
        } else if stack::is_managed(project.folder, &inside) {
            // Installing a package adds programs here, which is honest work; those that the checks start it may not add.
            add(&mut layers.installed, PinKind::Installed, "programs of the checks", path::below(&inside, "**"));
            for glob in stack::program_names(project, &inside) {
                add(&mut layers.installed, PinKind::Absent, "would stand for a program of the checks", glob);
            }
        } else {
            add(&mut layers.installed, PinKind::Steering, "a folder of PATH", path::below(&inside, "**"));
        }
    }
}

/// A folder relative to the workspace, when it is in there, whether it exists or not.
fn inside(folder: &Path, root: &Path, written: &Path) -> Option<String> {
    let real = canonical(folder);
    let relative = real.strip_prefix(root).or_else(|_| folder.strip_prefix(written)).ok()?;
    path::join("", relative.to_str()?)
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
