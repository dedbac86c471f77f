//! A repository's own `ralph.toml`: what it says, and how much of that counts. The bytes that are hashed are the bytes
//! that are parsed; nothing here reads the file a second time.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Class, Document, Error, Key, Layer, Links, Present, parse, read};

/// The file in a workspace's root.
pub const FILE_NAME: &str = "ralph.toml";

/// A repository's file as it was read, before anybody approved of it.
#[derive(Debug, Clone)]
pub struct RepositoryFile {
    path: PathBuf,
    text: String,
    sha256: String,
    document: Document,
}

/// Whether the user approved of this exact content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Given,
    /// No, or the user was not asked.
    Missing,
}

/// What a repository's file may contribute. Made by [`RepositoryFile::with`] alone, so that without approval it holds
/// nothing but what narrows.
#[derive(Debug, Clone, PartialEq)]
pub struct Repository {
    approved: Option<Layer>,
    prohibited: Vec<String>,
    protected: Vec<String>,
}

impl RepositoryFile {
    /// Reads the `ralph.toml` of a workspace, once; none when there is none.
    ///
    /// # Errors
    /// When it is a link or no ordinary file, too large, not understood, or says what no repository may say.
    pub fn read(workspace: &Path) -> Result<Option<Self>, Error> {
        let path = workspace.join(FILE_NAME);
        read(&path, Links::Refuse)?.map(|bytes| Self::from_bytes(path, bytes)).transpose()
    }

    /// The same from bytes.
    ///
    /// # Errors
    /// When they are not understood, or say what no repository may say.
    pub fn from_bytes(path: PathBuf, bytes: Vec<u8>) -> Result<Self, Error> {
        let sha256 = hash(&bytes);
        let Ok(text) = String::from_utf8(bytes) else { return Err(Error::NotText { path }) };
        let document = parse(&path, &text)?;
        if let Some(present) = document.present.iter().find(|present| present.key.class() == Class::UserOnly) {
            let (at, key, setting) = (present.at.clone(), present.name.clone(), present.key);
            return Err(Error::NotForRepositories { at, key, setting });
        }
        let paths = [
            (Key::ProhibitedPaths, &document.layer.prohibited_paths),
            (Key::ProtectedPaths, &document.layer.protected_paths),
        ];
        for (key, globs) in paths {
            let glob = globs.iter().flatten().find(|glob| widens(glob));
            if let Some((glob, at)) = glob.zip(document.location(key)) {
                return Err(Error::Widens { at: at.clone(), key: key.name(), glob: glob.clone() });
            }
        }
        tracing::debug!(?path, sha256, keys = document.present.len(), "read the repository's configuration");
        Ok(Self { path, text, sha256, document })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says, as written: hostile text until it was made inert.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// The hash that an approval is remembered by.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The keys that take effect only with approval.
    pub fn needing_approval(&self) -> impl Iterator<Item = &Present> {
        self.document.present.iter().filter(|present| present.key.class() == Class::NeedsApproval)
    }

    pub fn with(self, approval: Approval) -> Repository {
        let mut layer = self.document.layer;
        let prohibited = layer.prohibited_paths.take().unwrap_or_default();
        let protected = layer.protected_paths.take().unwrap_or_default();
        let approved = match approval {
            Approval::Given => Some(layer),
            Approval::Missing => None,
        };
        Repository { approved, prohibited, protected }
    }
}

impl Repository {
    pub fn approved(&self) -> Option<&Layer> {
        self.approved.as_ref()
    }

    /// Paths that it prohibits besides.
    pub fn prohibited(&self) -> &[String] {
        &self.prohibited
    }

    /// Paths that it protects besides.
    pub fn protected(&self) -> &[String] {
        &self.protected
    }
}

pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `!glob` allows again, and a line break would smuggle one in behind an innocent glob.
fn widens(glob: &str) -> bool {
    glob.trim_start().starts_with('!') || glob.chars().any(char::is_control)
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
