//! Finds skills: instructions that go with an objective. Runs nothing of them.
//!
//! The user's own folder comes first, then what is built in, then the workspace: a repository cannot put its text in the
//! place of a skill that the user knows, and its text counts only after approval, like its `ralph.toml`.

mod check;
mod front_matter;

use std::path::{Path, PathBuf};

use ralph_model::{ConfigError, Skill};

use crate::{Key, Links, hash, read};
pub use check::{Problem, check, template};
use front_matter::FrontMatter;
pub use front_matter::split as split_front_matter;

/// The skill that a stalled loop switches to.
pub const DEEP_DEBUG: &str = "systematic-debugging";

const KEY: &str = Key::Skill.name();

const BUILT_IN: [(&str, &str); 4] = [
    ("tdd", include_str!("../skills/tdd/SKILL.md")),
    ("systematic-debugging", include_str!("../skills/systematic-debugging/SKILL.md")),
    ("code-cleanup", include_str!("../skills/code-cleanup/SKILL.md")),
    ("executor", include_str!("../skills/executor/SKILL.md")),
];

/// Folders of a workspace that hold skills, the first found first.
const WORKSPACE_FOLDERS: [&str; 2] = [".ralph/skills", ".claude/skills"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub skill: Skill,
    pub description: String,
    /// Its own check, for loops that name none.
    pub verify: Option<String>,
    pub task_types: Vec<String>,
    pub supports_loops: bool,
}

impl Found {
    /// Refuses a skill that is not made for loops.
    pub fn require_loops(&self) -> Result<(), ConfigError> {
        if self.supports_loops {
            return Ok(());
        }
        let problem = format!("`{}` has `supportsRalph: false`: it is not meant for a loop", self.skill.name);
        Err(ConfigError::new(KEY, problem, "another skill, or this one without that line, or --max 1"))
    }
}

/// Where a skill comes from, the weightiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    User,
    BuiltIn,
    Repository,
}

ralph_model::named!(Provenance { User => "user", BuiltIn => "built-in", Repository => "repository" });

/// A skill of a listing: the one that its name stands for.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    pub provenance: Provenance,
    /// Its file; none for one that is built in.
    pub path: Option<PathBuf>,
    /// What it is, or why it cannot be used.
    pub lookup: Result<Lookup, Error>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The user's own, or built in.
    Ready(Found),
    /// The repository's: to be approved first.
    NeedsApproval(Candidate),
}

/// A skill of a repository that is not approved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub path: PathBuf,
    /// The hash of exactly these bytes.
    pub sha256: String,
    /// The file's content: hostile text until it was made inert.
    pub text: String,
    found: Found,
}

impl Candidate {
    /// The skill, once somebody approved.
    pub fn approved(self) -> Found {
        self.found
    }

    pub const fn found(&self) -> &Found {
        &self.found
    }

    /// What the skill would run on the user's computer.
    pub fn verify(&self) -> Option<&str> {
        self.found.verify.as_deref()
    }
}

/// Why there is no such skill.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing has this name, or what has it is not for loops.
    #[error(transparent)]
    Rule(#[from] ConfigError),

    #[error("{}: {why}", .path.display())]
    Broken { path: PathBuf, why: String },

    #[error(transparent)]
    Read(#[from] crate::Error),
}

/// Looks a skill up. `user_folder` is `skills` in the user's configuration folder, `workspace` is absolute.
///
/// # Errors
/// When nothing has this name, or what has it cannot be used; the message lists what there is.
pub fn find(name: &str, user_folder: &Path, workspace: &Path) -> Result<Lookup, Error> {
    if !is_name(name) {
        // It would leave the folder of skills.
        let problem = format!("`{name}` cannot be the name of a skill");
        return Err(ConfigError::new(KEY, problem, "letters, digits, `-`, `_` and `.`").into());
    }
    let own = user_folder.join(name).join("SKILL.md");
    if let Some(bytes) = read(&own, Links::Follow)? {
        return understand(name, &own, &text(&own, bytes)?).map(Lookup::Ready);
    }
    if let Some(found) = built_in(name)? {
        return Ok(Lookup::Ready(found));
    }
    for folder in WORKSPACE_FOLDERS {
        if let Some(candidate) = candidate(name, &workspace.join(folder).join(name).join("SKILL.md"))? {
            return Ok(Lookup::NeedsApproval(candidate));
        }
    }
    let known = known(user_folder, workspace).join(", ");
    let allowed = format!("{known}; your own skills live in {}", user_folder.join("NAME/SKILL.md").display());
    Err(ConfigError::new(KEY, format!("there is no skill `{name}`"), allowed).into())
}

/// A skill that is part of the program; none when there is none of this name.
///
/// # Errors
/// Never for the skills that are there; their front matter is tested.
pub fn built_in(name: &str) -> Result<Option<Found>, Error> {
    let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else { return Ok(None) };
    understand(name, Path::new(name), text).map(Some)
}

/// The text of a skill that is part of the program, front matter included.
pub fn built_in_text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Every skill that there is, by name; where several have one name, the one that [`find`] finds.
pub fn all(user_folder: &Path, workspace: &Path) -> Vec<Listed> {
    let listed = |name: String| {
        let own = user_folder.join(&name).join("SKILL.md");
        let in_workspace = WORKSPACE_FOLDERS.iter().map(|folder| workspace.join(folder).join(&name).join("SKILL.md"));
        let (provenance, path) = if own.symlink_metadata().is_ok() {
            (Provenance::User, Some(own))
        } else if built_in_text(&name).is_some() {
            (Provenance::BuiltIn, None)
        } else {
            (Provenance::Repository, in_workspace.into_iter().find(|path| path.symlink_metadata().is_ok()))
        };
        Listed { lookup: find(&name, user_folder, workspace), name, provenance, path }
    };
    known(user_folder, workspace).into_iter().map(listed).collect()
}

/// Every skill of the workspace that would need approval, by name.
pub fn candidates(workspace: &Path) -> Vec<(String, Result<Candidate, Error>)> {
    let mut all: Vec<(String, Result<Candidate, Error>)> = Vec::new();
    for folder in WORKSPACE_FOLDERS {
        let folder = workspace.join(folder);
        for name in names_in(&folder) {
            let path = folder.join(&name).join("SKILL.md");
            match candidate(&name, &path) {
                Ok(None) => {}
                Ok(Some(candidate)) => all.push((name, Ok(candidate))),
                Err(error) => all.push((name, Err(error))),
            }
        }
    }
    all
}

fn candidate(name: &str, path: &Path) -> Result<Option<Candidate>, Error> {
    let Some(bytes) = read(path, Links::Refuse)? else { return Ok(None) };
    let sha256 = hash(&bytes);
    let text = text(path, bytes)?;
    let found = understand(name, path, &text)?;
    Ok(Some(Candidate { path: path.to_owned(), sha256, text, found }))
}

fn understand(name: &str, path: &Path, text: &str) -> Result<Found, Error> {
    let broken = |why: &str| Error::Broken { path: path.to_owned(), why: why.to_owned() };
    let (front, body) = FrontMatter::split(text).map_err(|why| broken(&why))?;
    if body.trim().is_empty() {
        return Err(broken("has no instructions after its front matter"));
    }
    let task_types = front.task_types();
    let said = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    Ok(Found {
        skill: Skill { name: name.to_owned(), text: body.trim().to_owned(), promise: said(front.promise) },
        description: said(front.description).unwrap_or_default(),
        verify: said(front.verify),
        task_types,
        supports_loops: front.supports_ralph.unwrap_or(true),
    })
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|_| crate::Error::NotText { path: path.to_owned() }.into())
}

fn known(user_folder: &Path, workspace: &Path) -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let folders =
        [user_folder.to_owned()].into_iter().chain(WORKSPACE_FOLDERS.iter().map(|folder| workspace.join(folder)));
    names.extend(folders.flat_map(|folder| names_in(&folder)));
    names.sort_unstable();
    names.dedup();
    names
}

/// Folders with a `SKILL.md`. One that cannot be listed has none that could be used.
fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_name(name) && folder.join(name).join("SKILL.md").symlink_metadata().is_ok())
        .collect();
    names.sort_unstable();
    names
}

pub fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
