//! Finds out what would change, and changes it: all files or none.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::record::{Record, hash};
use crate::settings::{Piece, Refusal};
use crate::{Client, Error, Places, Scope};

#[derive(Debug, Clone)]
pub struct Installer {
    pub places: Places,
    pub records: PathBuf,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub path: PathBuf,
    /// What it holds; none where there is none.
    pub before: Option<String>,
    /// What it will hold; none where it will be gone.
    pub after: Option<String>,
    then: Then,
}

/// What becomes of the record.
#[derive(Debug, Clone, PartialEq)]
enum Then {
    Keep(Box<Record>),
    Forget { folders: Vec<PathBuf> },
}

impl Change {
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    pub fn action(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "none",
            (None, _) => "create",
            (_, None) => "remove",
            (Some(_), Some(_)) => "change",
        }
    }
}

impl Installer {
    /// What an installation changes. Changes nothing yet.
    ///
    /// # Errors
    /// When a file cannot be understood or written, or something else has the place.
    pub fn install(&self, client: Client, scope: Scope) -> Result<Vec<Change>, Error> {
        client.pieces(scope, &self.places).into_iter().map(|piece| self.addition(piece)).collect()
    }

    /// What an uninstallation changes. Changes nothing yet.
    ///
    /// # Errors
    /// When a file cannot be understood or written, or what was installed was changed since.
    pub fn uninstall(&self, client: Client, scope: Scope) -> Result<Vec<Change>, Error> {
        client.pieces(scope, &self.places).into_iter().map(|piece| self.removal(piece)).collect()
    }

    fn addition(&self, piece: Piece) -> Result<Change, Error> {
        let Piece { path, content } = piece;
        let there = read(&path)?;
        let record = Record::read(&self.records, &path);
        // A record of a file that is gone, or that never had it, says nothing.
        let record = record.filter(|record| there.as_deref().is_some_and(|text| record.content.is_in(text)));
        let former = record.as_ref().map(|record| &record.content);
        let failed = |refusal| refused(&path, refusal);
        let after = content.added(there.as_deref(), former).map_err(failed)?;
        let is_untouched = |record: &Record| there.as_ref().is_some_and(|text| hash(text.as_bytes()) == record.after);
        let (before, folders) = match record {
            Some(record) if is_untouched(&record) => (record.before, record.folders),
            Some(record) => {
                let text = there.as_deref().unwrap_or_default();
                (record.content.removed(text, record.before.as_deref()).map_err(failed)?, record.folders)
            }
            // Somebody added the same by hand: it is theirs.
            None => (there.clone(), missing_folders(&path)),
        };
        let record = Record { path: path.clone(), before, content, after: hash(after.as_bytes()), folders };
        Ok(Change { path, before: there, after: Some(after), then: Then::Keep(Box::new(record)) })
    }

    fn removal(&self, piece: Piece) -> Result<Change, Error> {
        let Piece { path, content } = piece;
        let there = read(&path)?;
        let record = Record::read(&self.records, &path);
        let folders = record.as_ref().map(|record| record.folders.clone()).unwrap_or_default();
        let then = Then::Forget { folders };
        let Some(text) = there.clone() else { return Ok(Change { path, before: None, after: None, then }) };
        let after = match record {
            Some(record) if hash(text.as_bytes()) == record.after => record.before,
            Some(record) => {
                let rest = record.content.removed(&text, record.before.as_deref());
                // A file that holds only what was added is removed.
                rest.map(|rest| rest.filter(|rest| record.before.is_some() || !is_empty(rest)))
                    .map_err(|refusal| refused(&path, refusal))?
            }
            None if content.is_in(&text) => {
                content.removed(&text, None).map_err(|refusal| refused(&path, refusal))?.filter(|rest| !is_empty(rest))
            }
            None => Some(text),
        };
        Ok(Change { path, before: there, after, then })
    }

    /// Changes the files. What was changed already is put back when one of them fails.
    pub fn apply(&self, changes: &[Change]) -> Result<(), Error> {
        for (done, change) in changes.iter().enumerate() {
            let result = write(&change.path, change.before.as_deref(), change.after.as_deref());
            if let Err(error) = result.and_then(|()| self.note(change)) {
                for earlier in changes[..=done].iter().rev() {
                    let there = read(&earlier.path).ok().flatten();
                    let _ = write(&earlier.path, there.as_deref(), earlier.before.as_deref());
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn note(&self, change: &Change) -> Result<(), Error> {
        match &change.then {
            Then::Keep(record) => record.write(&self.records),
            Then::Forget { folders } => {
                for folder in folders {
                    // One that has something else in it by now stays.
                    let _ = std::fs::remove_dir(folder);
                }
                let place = Record::place(&self.records, &change.path);
                match std::fs::remove_file(&place) {
                    Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Io { path: place, source }),
                    Ok(()) | Err(_) => Ok(()),
                }
            }
        }
    }
}

fn refused(path: &Path, refusal: Refusal) -> Error {
    let path = path.to_owned();
    match refusal {
        Refusal::Broken(why) => Error::Broken { path, why },
        Refusal::Taken(what) => Error::Taken { path, what },
        Refusal::Altered(what) => Error::Altered { path, what },
    }
}

fn is_empty(text: &str) -> bool {
    let rest: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    rest.is_empty() || rest == "{}"
}

/// A file's text; none where there is no file.
fn read(path: &Path) -> Result<Option<String>, Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match path.symlink_metadata() {
                Ok(_) => {
                    Err(Error::NotOrdinary { path: path.to_owned(), what: "is a link to a file that does not exist" })
                }
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(failed(error)),
    };
    let metadata = real.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::NotOrdinary { path: path.to_owned(), what: "is no ordinary file" });
    }
    if metadata.permissions().mode() & 0o200 == 0 {
        return Err(Error::ReadOnly { path: path.to_owned() });
    }
    let bytes = std::fs::read(&real).map_err(failed)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::NotOrdinary { path: path.to_owned(), what: "is not UTF-8 text" })?;
    Ok(Some(text))
}

/// Writes a file through links, whole or not at all.
fn write(path: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(after) = after else { return std::fs::remove_file(&real).map_err(failed) };
    if let Some(folder) = real.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mode = real.metadata().map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777);
    replace(&real, after.as_bytes(), mode).map_err(failed)
}

/// Puts a file in the place of another.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new().prefix(".ralph-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// The folders that a file needs and that are not there, the innermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    path.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
