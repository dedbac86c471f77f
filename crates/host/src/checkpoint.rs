//! Checkpoints as files: `{taskId}.checkpoint.json` in one folder. Written whole or not at all, readable by the user alone.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ralph_agents::files::{Links, open_plain};
use ralph_model::{Checkpoint, TaskId};

/// More than any checkpoint has.
const MAX_BYTES: u64 = 64 * 1024;

/// The checkpoints in one folder. A file is named after a parsed id, so that no id leads out of the folder.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// Names the folder; makes nothing.
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn file(&self, task: TaskId) -> PathBuf {
        self.folder.join(format!("{task}.checkpoint.json"))
    }

    /// Writes a checkpoint in the place of an earlier one.
    pub fn write(&self, checkpoint: &Checkpoint) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let text = serde_json::to_vec(checkpoint)?;
        let mut file = tempfile::Builder::new().prefix(".checkpoint-").tempfile_in(&self.folder)?;
        file.write_all(&text)?;
        file.persist(self.file(checkpoint.task_id))?;
        Ok(())
    }

    /// The checkpoint of a task; none where there is none.
    ///
    /// # Errors
    /// When the file cannot be read or is no checkpoint of that task.
    pub fn read(&self, task: TaskId) -> io::Result<Option<Checkpoint>> {
        let text = match read_plain(&self.file(task), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let checkpoint: Checkpoint = serde_json::from_slice(&text)?;
        if checkpoint.task_id != task {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is the checkpoint of another task"));
        }
        Ok(Some(checkpoint))
    }

    /// Removes the checkpoint of a task, and says whether there was one.
    pub fn clear(&self, task: TaskId) -> io::Result<bool> {
        remove(&self.file(task))
    }
}

/// The beginning of a file that an agent may have written. No link, because it could lead to a file of another user; and no pipe,
/// because it would never end.
pub(crate) fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open_plain(path, Links::Refuse)?.take(most).read_to_end(&mut text)?;
    Ok(text)
}

/// Removes what an agent may have left at a path, and says whether there was anything.
pub(crate) fn remove(path: &Path) -> io::Result<bool> {
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
#[path = "checkpoint_tests.rs"]
mod tests;
