//! What was done to a file, kept where Ralph keeps its state.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::settings::Content;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) path: PathBuf,
    /// What was there before; none where there was no file.
    pub(crate) before: Option<String>,
    pub(crate) content: Content,
    pub(crate) after: String,
    /// Folders that were made for it, the innermost first.
    pub(crate) folders: Vec<PathBuf>,
}

impl Record {
    pub(crate) fn place(records: &Path, path: &Path) -> PathBuf {
        records.join(format!("{}.json", &hash(path.as_os_str().as_encoded_bytes())[..24]))
    }

    /// The record of a file, if there is one. One that cannot be read is none: then only what is still ours is removed.
    pub(crate) fn read(records: &Path, path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(Self::place(records, path)).ok()?;
        serde_json::from_str(&text).ok().filter(|record: &Self| record.path == path)
    }

    pub(crate) fn write(&self, records: &Path) -> Result<(), Error> {
        let place = Self::place(records, &self.path);
        let failed = |source| Error::Io { path: place.clone(), source };
        // Private like everything in the state folder, which this may be the first to make.
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(records).map_err(failed)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        crate::apply::replace(&place, text.as_bytes(), 0o600).map_err(failed)
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
