//! Secrets of tokens: made here, stored only as a hash.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use ralph_model::Timestamp;
use ralph_store::{Role, SqlStore, Token};
use sha2::{Digest as _, Sha256};

/// The secret of a token. Its `Debug` form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one, of 256 random bits.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("ralph_{}", hex(&bytes))))
    }

    /// One that was made before.
    pub fn from_text(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text that callers send.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> String {
        hash(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FirstTokenError {
    #[error("could not use {} for the first token: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] ralph_store::Error),
}

/// Makes sure that the token in the file is accepted: makes one at the first start, and records it where the database does not
/// know it, such as one that is new. Returns whether a token was made.
pub async fn first_token(board: &SqlStore, path: &Path, at: Timestamp) -> Result<bool, FirstTokenError> {
    let failed = |source| FirstTokenError::File { path: path.to_owned(), source };
    let (secret, is_new) = read_or_make(path).map_err(failed)?;
    let hash = secret.hash();
    for number in 1_u32.. {
        if board.token(&hash).await?.is_some() {
            break;
        }
        // Servers on other machines that share the database have first tokens of their own.
        let name = if number == 1 { "first".to_owned() } else { format!("first-{number}") };
        let token = Token { name, role: Role::Admin, created_at: at };
        match board.add_token(&token, &hash).await {
            Err(ralph_store::Error::EntryConflict { .. }) if number < 1000 => {}
            added => {
                added?;
                break;
            }
        }
    }
    Ok(is_new)
}

/// The secret in a file, which only its owner can read. Of two processes that make it at once, both get that of the first.
fn read_or_make(path: &Path) -> io::Result<(Secret, bool)> {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => return Ok((Secret::from_text(&text), false)),
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let secret = Secret::generate().map_err(io::Error::from)?;
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    writeln!(file, "{}", secret.reveal())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok((secret, true)),
        Err(_) => Ok((Secret::from_text(&fs::read_to_string(path)?), false)),
    }
}

/// The SHA-256 of a secret in hexadecimal.
pub(crate) fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
