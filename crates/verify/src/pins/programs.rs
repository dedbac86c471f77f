//! Programs that the checks start: which names matter, and whether each still leads to the same file.

use std::path::PathBuf;

use ralph_model::{PinKind, Tamper, TamperKind};
use serde::{Deserialize, Serialize};

use super::Sources;
use crate::pins::question::{Layers, Project, Question, add, starts, texts};
use crate::pins::{path, stack};

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
    pub name: String,
    pub file: PathBuf,
    pub device: u64,
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When its content changed last, in nanoseconds since 1970.
    pub modified: i128,
    /// When anything about it changed last, in nanoseconds since 1970: no program can set this back. None where no agent can write:
    /// there only another link or other permissions change this alone.
    pub changed: Option<i128>,
}

/// Every program outside the workspace that the commands or what they start would find on PATH.
pub fn programs(question: &Question<'_>) -> Vec<Program> {
    let texts = texts(question.sources, question.commands);
    let mut names: Vec<String> = USUAL.map(str::to_owned).to_vec();
    for word in starts(&texts).into_iter().flat_map(|simple| simple.words) {
        if !names.contains(&word) && names.len() < MAX {
            names.push(word);
        }
    }
    names.iter().filter_map(|name| question.sources.outside(name)).collect()
}

/// What became of programs: each that another file answers for, or whose file was replaced.
pub fn changed_programs(before: &[Program], sources: &dyn Sources) -> Vec<Tamper> {
    let mut tampered = Vec::new();
    for program in before {
        let file = program.file.display();
        let detail = match sources.resolve(&program.name) {
            None => format!("{file} is gone"),
            Some(now) if now.file != program.file => format!("{} instead of {file}", now.file.display()),
            Some(now) if (Program { changed: program.changed.and(now.changed), ..now.clone() }) == *program => continue,
            Some(now) if (now.device, now.inode, now.size) == (program.device, program.inode, program.size) => {
                format!("{file} was written to")
            }
            Some(_) => format!("{file} was replaced"),
        };
        tampered.push(Tamper::with(program.name.clone(), TamperKind::Program, detail));
    }
    tampered
}

/// Folders of the workspace in which the checks look for programs.
pub(crate) fn add_search_path(question: &Question<'_>, project: &Project<'_>, layers: &mut Layers) {
    for inside in question.sources.search_folders() {
        if inside.is_empty() {
            // The workspace itself: everything in it cannot be pinned, names of programs can.
            for glob in stack::program_names(project, "") {
                add(&mut layers.absent, PinKind::Absent, "PATH contains the workspace itself", glob);
            }
            layers.notes.push(
                "PATH contains the workspace itself: a file there could shadow any program of the checks".to_owned(),
            );
        } else if stack::is_managed(project.sources, &inside) {
            // Installing a package adds programs here, which is honest work; those that the checks start it may not add.
            add(&mut layers.installed, PinKind::Installed, "programs of the checks", path::below(&inside, "**"));
            for glob in stack::program_names(project, &inside) {
                add(&mut layers.installed, PinKind::Absent, "would shadow a program of the checks", glob);
            }
        } else {
            add(&mut layers.installed, PinKind::Steering, "a folder of PATH", path::below(&inside, "**"));
        }
    }
}
