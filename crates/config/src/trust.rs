//! Approval of what a repository says: asked for once per exact content and place, remembered by hash. What nobody
//! approved of is refused; this module never approves by itself.

use std::io;
use std::path::{Path, PathBuf};

use ralph_model::Timestamp;
use ralph_store::StoreHandle;
use ralph_text::sanitize;

use crate::RepositoryFile;
use crate::skills::Candidate;

/// Something of a repository that takes effect only with approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub path: PathBuf,
    pub workspace: PathBuf,
    pub place: String,
    /// The hash of exactly the content that was read.
    pub sha256: String,
    text: String,
    /// What it would do, a line for each key.
    effects: Vec<String>,
}

/// Why something of a repository does not count.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{}: is not approved, and there is no terminal to prompt on\n{effects}\n  read it, then approve it with: ralph trust {directory}",
        .path.display()
    )]
    Headless { path: PathBuf, effects: String, directory: String },

    #[error("{}: was not approved, so nothing was started\n  change it or move it away, then try again", .path.display())]
    Declined { path: PathBuf },

    #[error("could not ask for approval: {0}")]
    Ask(#[source] io::Error),

    /// Approvals could not be looked up or remembered.
    #[error(transparent)]
    Store(#[from] ralph_store::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
}

/// Whether there is somebody who can be asked.
pub enum Asking<'a> {
    /// Standard input or standard error is no terminal.
    Nobody,
    /// Shows a text and asks for yes or no.
    Person(&'a mut (dyn FnMut(&str) -> io::Result<Answer> + Send)),
}

impl Question {
    /// About a `ralph.toml`; none when nothing in it needs approval. `workspace` is canonical.
    pub fn about_file(file: &RepositoryFile, workspace: &Path) -> Option<Self> {
        let effects: Vec<String> = file
            .needing_approval()
            .map(|present| format!("line {}: `{}` {}", present.at.line, present.name, present.key.effect()))
            .collect();
        (!effects.is_empty()).then(|| Self {
            path: file.path().to_owned(),
            workspace: workspace.to_owned(),
            place: workspace.display().to_string(),
            sha256: file.sha256().to_owned(),
            text: file.text().to_owned(),
            effects,
        })
    }

    /// About a skill. `workspace` is canonical.
    pub fn about_skill(candidate: &Candidate, workspace: &Path) -> Self {
        let mut effects = vec!["the text becomes part of every prompt".to_owned()];
        effects
            .extend(candidate.verify().map(|command| format!("`verify` runs a command on your computer: {command}")));
        Self {
            path: candidate.path.clone(),
            workspace: workspace.to_owned(),
            place: candidate.path.display().to_string(),
            sha256: candidate.sha256.clone(),
            text: candidate.text.clone(),
            effects,
        }
    }

    /// About another text of a repository, with what it would do. `workspace` is canonical.
    pub fn about_text(path: PathBuf, text: String, workspace: &Path, effects: Vec<String>) -> Self {
        let (place, sha256) = (path.display().to_string(), crate::hash(text.as_bytes()));
        Self { path, workspace: workspace.to_owned(), place, sha256, text, effects }
    }

    /// The content and what it would do, for a person to read. What it does comes last, where no length of content can
    /// push it out of sight.
    pub fn shown(&self) -> String {
        let mut shown = format!("{} says:\n\n", self.path.display());
        for line in self.text.lines() {
            shown.push_str("  | ");
            shown.push_str(line);
            shown.push('\n');
        }
        shown.push_str(&format!("\nIf you approve, from now on in {}:\n{}\n", self.workspace.display(), self.listed()));
        sanitize(&shown).into_owned()
    }

    /// Whether this content was approved in this place.
    pub async fn is_approved(&self, store: &StoreHandle) -> Result<bool, Error> {
        Ok(store.is_trusted(&self.sha256, &self.place).await?)
    }

    pub async fn approve(&self, store: &StoreHandle, now: Timestamp) -> Result<(), Error> {
        Ok(store.trust(&self.sha256, &self.place, now).await?)
    }

    /// Sees to it that this content is approved, asking when there is somebody to ask.
    ///
    /// # Errors
    /// When it is not approved; the message says how it can be.
    pub async fn ensure(&self, store: &StoreHandle, asking: &mut Asking<'_>, now: Timestamp) -> Result<(), Error> {
        if self.is_approved(store).await? {
            tracing::debug!(path = ?self.path, sha256 = self.sha256, "approved before");
            return Ok(());
        }
        let answer = match asking {
            Asking::Nobody => {
                let (effects, directory) = (self.listed(), shell_word(&self.workspace));
                return Err(Error::Headless { path: self.path.clone(), effects, directory });
            }
            Asking::Person(ask) => ask(&format!("{}\nApprove?", self.shown())).map_err(Error::Ask)?,
        };
        match answer {
            Answer::Yes => self.approve(store, now).await,
            Answer::No => Err(Error::Declined { path: self.path.clone() }),
        }
    }

    fn listed(&self) -> String {
        self.effects.iter().map(|effect| format!("  - {effect}")).collect::<Vec<_>>().join("\n")
    }
}

/// A path as a word of a shell's command line.
pub fn shell_word(path: &Path) -> String {
    ralph_model::shell_word(&path.to_string_lossy())
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
