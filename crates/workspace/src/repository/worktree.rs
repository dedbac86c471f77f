//! Worktrees on a branch of the loop's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::Repository;
use crate::gitdir::GitDir;
use crate::{Error, StopFlag};

impl Repository {
    /// Makes a worktree at `path` on the new branch `branch`, at the current commit. Runs no hook and no filter: files of
    /// Git LFS are pointers there.
    ///
    /// # Errors
    /// When git refuses, or a stop was requested; then nothing of it stays.
    pub fn add_worktree(&self, path: &Path, branch: &str, stop: &StopFlag) -> Result<(), Error> {
        if self.head()?.commit.is_none() {
            let message = "the branch has no commit yet; make a first commit, then start again".to_owned();
            return Err(Error::Git { action: "create a worktree", message });
        }
        let add = ["worktree", "add", "--no-checkout", "--quiet", "-b", branch, "--"];
        let call = self.unfiltered_git()?.args(add).args([path.as_os_str()]);
        call.args(["HEAD"]).output("create a worktree")?;
        // Its files by a call of their own: `worktree add` leaves them to another process, which would outlive it.
        let filled = self.at(path)?.unfiltered_git().and_then(|call| {
            let call = call.args(["reset", "--hard", "--quiet"]).stoppable(&Arc::new(stop.at_once().step()));
            call.output("fill a worktree")
        });
        filled.map(drop).inspect_err(|_| {
            if let Err(error) = self.discard_worktree(path, branch) {
                tracing::warn!(%error, "a worktree that could not be filled stays");
            }
        })
    }

    /// The same repository from one of its worktrees.
    fn at(&self, path: &Path) -> Result<Self, Error> {
        match GitDir::find(path) {
            Some(places) => Ok(Self { root: path.to_owned(), places, ..self.clone() }),
            None => Err(Error::Git { action: "create a worktree", message: "it is not there".to_owned() }),
        }
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

    /// Every branch and tag, with the commit that it names.
    pub fn branches_and_tags(&self) -> Result<BTreeMap<String, String>, Error> {
        let format = "--format=%(refname) %(objectname)";
        let listed =
            self.users_git().args(["for-each-ref", format, "refs/heads", "refs/tags"]).text("list branches")?;
        let named = listed.lines().filter_map(|line| line.split_once(' '));
        Ok(named.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
    }

    /// The commits that were made in a worktree, as git itself logged them.
    pub fn commits_made_in(&self, path: &Path) -> Result<BTreeSet<String>, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let head = format!("worktrees/{name}/HEAD");
        let logged = self.users_git().args(["reflog", "show", "--format=%H %gs", &head]).text("read a reflog")?;
        let made =
            logged.lines().filter_map(|line| line.split_once(' ').filter(|(_, what)| what.starts_with("commit")));
        Ok(made.map(|(commit, _)| commit.to_owned()).collect())
    }

    /// Removes a branch or tag by its full name, unless it names another commit by now.
    pub fn remove_ref(&self, name: &str, commit: &str) -> Result<(), Error> {
        self.users_git().args(["update-ref", "-d", name, commit]).output("remove a branch").map(drop)
    }
}
