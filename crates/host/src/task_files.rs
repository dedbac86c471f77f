//! What an agent leaves about a task, as files: checkpoints and claims, each `{taskId}.NAME.json` in one folder. Written whole or not
//! at all, readable by the user alone. The agent can write the folder, so that nothing in it is trusted.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::marker::PhantomData;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ralph_agents::files::{Links, open_plain};
use ralph_model::{Checkpoint, TaskId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// More than any of them has.
const MAX_BYTES: u64 = 256 * 1024;

/// Something about a task that is kept as a file.
pub trait TaskFile: Serialize + DeserializeOwned {
    const NAME: &str;

    fn task_id(&self) -> TaskId;
}

impl TaskFile for Checkpoint {
    const NAME: &str = "checkpoint";

    fn task_id(&self) -> TaskId {
        self.task_id
    }
}

/// An agent's statement that its task is done: a reason to check, never a proof.
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

impl TaskFile for Claim {
    const NAME: &str = "claim";

    fn task_id(&self) -> TaskId {
        self.task_id
    }
}

/// The files of one kind in one folder. A file is named after a parsed id, so that no id leads out of the folder.
#[derive(Debug, Clone)]
pub struct TaskFiles<T> {
    folder: PathBuf,
    kind: PhantomData<T>,
}

pub type Checkpoints = TaskFiles<Checkpoint>;
pub type Claims = TaskFiles<Claim>;

impl<T: TaskFile> TaskFiles<T> {
    /// Names the folder; makes nothing.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder, kind: PhantomData }
    }

    pub fn file(&self, task: TaskId) -> PathBuf {
        self.folder.join(format!("{task}.{}.json", T::NAME))
    }

    /// Writes it in the place of an earlier one.
    pub fn write(&self, value: &T) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(".ralph-").tempfile_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        file.persist(self.file(value.task_id()))?;
        Ok(())
    }

    /// That of a task; none where there is none.
    ///
    /// # Errors
    /// When the file cannot be read or is about another task.
    pub fn read(&self, task: TaskId) -> io::Result<Option<T>> {
        let text = match read_plain(&self.file(task), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let value: T = serde_json::from_slice(&text)?;
        if value.task_id() != task {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is about another task"));
        }
        Ok(Some(value))
    }

    /// Removes that of a task, and says whether there was one.
    pub fn clear(&self, task: TaskId) -> io::Result<bool> {
        remove(&self.file(task))
    }
}

/// The beginning of a file that an agent may have written. No link, because it could lead to a file of another user; and no pipe,
/// because it would never end.
fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open_plain(path, Links::Refuse)?.take(most).read_to_end(&mut text)?;
    Ok(text)
}

/// Removes what an agent may have left at a path, and says whether there was anything.
fn remove(path: &Path) -> io::Result<bool> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => fs::remove_dir_all(path),
        removed => removed,
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

#[cfg(test)]
#[path = "task_files_tests.rs"]
mod tests;
