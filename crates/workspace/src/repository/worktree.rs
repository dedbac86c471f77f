//! Worktrees on a branch of the loop's own.

use std::path::Path;

use super::Repository;
use crate::Error;

impl Repository {
    /// Makes a worktree at `path` on the new branch `branch`, at the current commit. Runs no hook and no filter: files of
    /// Git LFS are pointers there.
    pub fn add_worktree(&self, path: &Path, branch: &str) -> Result<(), Error> {
        if self.head()?.commit.is_none() {
            let message = "the branch has no commit yet; make a first commit, then start again".to_owned();
            return Err(Error::Git { action: "create a worktree", message });
        }
        let call =
            self.unfiltered_git()?.args(["worktree", "add", "--quiet", "-b", branch, "--"]).args([path.as_os_str()]);
        call.args(["HEAD"]).output("create a worktree").map(drop)
    }

    /// Removes a worktree with everything in it; its branch stays.
    pub fn remove_worktree(&self, path: &Path) -> Result<(), Error> {
        let call = self.users_git().args(["worktree", "remove", "--force", "--force", "--"]).args([path.as_os_str()]);
        call.output("remove a worktree").map(drop)
    }

    /// Removes a worktree with everything in it, and its branch.
    pub fn discard_worktree(&self, path: &Path, branch: &str) -> Result<(), Error> {
        self.remove_worktree(path)?;
        // Also with commits that are nowhere else: Ralph made the branch, and its snapshots have what is in it.
        let deleted = self.users_git().args(["branch", "--quiet", "--delete", "--force", "--", branch]);
        deleted.output("delete a branch").map(|_| ())
    }
}
