//! Claims of the agent inside a worker as files: `{taskId}.claim.json` in the folder that the worker gives it. A claim is a
//! reason to check, never a proof.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use ralph_model::TaskId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{read_plain, remove};

/// More than any claim has.
const MAX_BYTES: u64 = 256 * 1024;

/// An agent's statement that its task is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub task_id: TaskId,
    pub summary: String,
    /// How the agent knows that the promise is met.
    pub promise_evidence: String,
    /// Files that show it, relative to the workspace.
    #[serde(default)]
    pub artifact_paths: Vec<String>,
}

/// The claims in one folder. A file is named after a parsed id, so that no id leads out of the folder.
#[derive(Debug, Clone)]
pub struct Claims {
    folder: PathBuf,
}

impl Claims {
    /// Names the folder; makes nothing.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn file(&self, task: TaskId) -> PathBuf {
        self.folder.join(format!("{task}.claim.json"))
    }

    /// Writes a claim in the place of an earlier one, whole or not at all.
    ///
    /// # Errors
    /// When the folder is missing or cannot be written.
    pub fn write(&self, claim: &Claim) -> io::Result<()> {
        let new = self.folder.join(format!(".{}.claim-{}", claim.task_id, std::process::id()));
        let _ = fs::remove_file(&new);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = serde_json::to_vec(claim).map_err(io::Error::from).and_then(|text| file.write_all(&text));
        let renamed = written.and_then(|()| fs::rename(&new, self.file(claim.task_id)));
        renamed.inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })
    }

    /// The claim about a task; none where there is none. The agent can write the folder, so whatever is no claim is none.
    pub fn read(&self, task: TaskId) -> Option<Claim> {
        let text = read_plain(&self.file(task), MAX_BYTES).ok()?;
        let claim: Claim = serde_json::from_slice(&text).ok()?;
        (claim.task_id == task).then_some(claim)
    }

    /// Removes the claim about a task, and says whether there was one: a worker does so before every iteration.
    pub fn clear(&self, task: TaskId) -> io::Result<bool> {
        remove(&self.file(task))
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
