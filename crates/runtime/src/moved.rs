//! A loop that continues where its files are not: on another machine, from a copy of them.

use std::ffi::OsString;
use std::path::PathBuf;

use ralph_engine::StartPoint;
use ralph_model::{LoopConfig, TreeHash};
use ralph_workspace::{Guard, Workspace};

use crate::error::Error;
use crate::home::LoopFolder;
use crate::pinned::Pinned;

/// Where the files of a loop are now. Only the holder of another lease that fences all writes to the loop moves it, such as that
/// of a task: the lease of the process before is not waited for.
#[derive(Debug, Clone)]
pub struct Moved {
    pub workspace: PathBuf,
    /// Whether what is kept beside the journal is missing here. Then the workspace holds the files of the loop's start: what is
    /// protected is recorded from them again, before `tree` is restored.
    pub rebuild: bool,
    /// The newest tree that is known, in the snapshots of the new workspace.
    pub tree: Option<TreeHash>,
}

impl Moved {
    /// Records what is protected, as the first process of the loop did on its machine, and restores the newest tree.
    pub(crate) fn rebuild(
        &self,
        workspace: &mut Workspace,
        start: &StartPoint,
        guard: &Guard,
        (config, environment): (&LoopConfig, &[(OsString, OsString)]),
        folder: &LoopFolder,
    ) -> Result<(), Error> {
        if workspace.scan_tree()? != start.tree {
            return Err(Error::OtherStart { workspace: self.workspace.clone() });
        }
        workspace.set_start(&start.tree)?;
        workspace.guard_baseline(guard, &folder.guard())?;
        if !start.pins.is_empty() {
            Pinned::take(workspace, &start.tree, config, environment, &start.listings, &folder.pins())?;
        }
        if let Some(tree) = &self.tree {
            workspace.restore(tree)?;
        }
        Ok(())
    }
}
