//! Puts files back, or commits them: everything that changes the workspace on the loop's own account.

use std::collections::{BTreeMap, BTreeSet};

use ralph_engine::Event;
use ralph_model::{Attempt, TreeHash, Verify, Violation};

use ralph_store::ArtifactKind;
use ralph_verify::work::moved_work;
use ralph_workspace::repository::{Need, Work};
use ralph_workspace::{Error as Failure, Repository};

use super::{Answer, Context, WorkspaceState};
use crate::error::Error;
use crate::services::Services;

impl Context {
    pub(super) async fn restore_prohibited(&self, attempt: Attempt) -> Result<Answer, Error> {
        let patch = self.folder.patch();
        let kept = patch.clone();
        let (loop_id, repository) = (self.loop_id, self.repository.clone());
        let committed = self.committed().await?;
        let (violations, tree) = self
            .with_workspace(move |ground| {
                let changed = ground.workspace.guard_restore(&ground.guard, &ground.baseline, &patch)?;
                // What was changed in the workspace is in the patch: another version of it would keep git from applying that.
                let known: BTreeSet<&str> = changed.iter().map(|violation| violation.path.as_str()).collect();
                let is_new = |violation: &&Violation| !known.contains(violation.path.as_str());
                let only: Vec<Violation> = committed.iter().filter(is_new).cloned().collect();
                if let Some(repository) = &repository {
                    ground.commits.keep(repository, &only, &patch)?;
                }
                let violations = with_committed(changed, committed);
                Ok((violations, ground.workspace.snapshot(loop_id, &format!("put-back-{attempt}"))?.tree))
            })
            .await?;
        let artifact = self.files.find(ArtifactKind::Patch, &kept, self.about(None, attempt))?;
        let patch = kept.to_string_lossy().into_owned();
        let event = Event::ProhibitedRestored { attempt, violations, patch, tree: Some(tree) };
        Ok(Answer { artifacts: artifact.into_iter().collect(), ..event.into() })
    }

    pub(crate) async fn committed(&self) -> Result<Vec<Violation>, Error> {
        let (services, repository) = (self.services.clone(), self.repository.clone());
        self.with_workspace(move |ground| ground.committed(&services, repository.as_ref())).await
    }

    /// Puts pinned files back for good, so that the workspace is what was verified; the agent's versions are kept.
    pub(super) async fn restore_pinned(
        &self,
        attempt: Attempt,
        now: TreeHash,
        verified: TreeHash,
        written: Vec<String>,
    ) -> Result<Answer, Error> {
        // One record for each attempt: a crash in the middle leaves one behind, and what is left to do is done beside it.
        let (record, loop_id) = (self.folder.replaced(attempt), self.loop_id);
        let isolated = self.config.verify == Verify::Isolated;
        let kept = record.clone();
        let (changes, tree) = self
            .with_workspace(move |ground| {
                let entries: Vec<_> = ground.look(&now)?.entries.into_iter().collect();
                // The record is never used to undo this: it is where the agent's versions are kept.
                ground.workspace.swap_in(&entries, &record)?;
                let tree = ground.workspace.snapshot(loop_id, &format!("put-back-{attempt}"))?.tree;
                // Isolated checks ran elsewhere, and on a tree that only that place has: here nothing but these files changes.
                let from = if isolated { &now } else { &verified };
                let mut changes = if tree == *from { Vec::new() } else { ground.workspace.changes(from, &tree)? };
                if isolated {
                    changes.retain(|change| !entries.iter().any(|(path, _)| *path == change.path));
                }
                Ok((changes, tree))
            })
            .await?;
        let moved = moved_work(changes).into_iter().filter(|path| !written.contains(path)).collect();
        let patch = kept.to_string_lossy().into_owned();
        Ok(Event::PinsRestored { attempt, patch, moved, tree }.into())
    }

    pub(super) async fn restore_tree(&self, attempt: Attempt, tree: TreeHash) -> Result<Answer, Error> {
        let wanted = tree.clone();
        self.with_workspace(move |ground| Ok(ground.workspace.restore(&wanted)?)).await?;
        Ok(Event::TreeRestored { attempt, tree }.into())
    }

    pub(super) async fn commit_work(
        &self,
        attempt: Attempt,
        from: TreeHash,
        to: TreeHash,
        message: String,
    ) -> Result<Answer, Error> {
        let (root, git) = (self.root.clone(), self.services.git.clone());
        let scratch = self.services.home.workspace(&root);
        let author = self.services.user_git.author.clone();
        let committed = self
            .with_workspace(move |ground| {
                // Looked for again: the agent may have made or removed the repository.
                let repository = Repository::require(&root, &git, &scratch, Need::Commit)?;
                let work = Work { from: &from, to: &to, message: &message, author: author.as_ref() };
                Ok(repository.commit_work(&ground.workspace, work)?.map(|commit| commit.to_string()))
            })
            .await;
        // Work that cannot be committed is verified all the same, and it is all in the workspace.
        let (commit, problem) = match committed {
            Ok(Some(commit)) => (Some(commit), None),
            Ok(None) => (None, Some("nothing was left to commit".to_owned())),
            // The branch was not moved: a resume commits it.
            Err(error @ Error::Workspace(Failure::Stopped)) => return Err(error),
            Err(error) => (None, Some(error.chain())),
        };
        Ok(Event::WorkCommitted { attempt, commit, problem }.into())
    }
}

impl WorkspaceState {
    /// Prohibited paths in what was committed since the loop's start. An agent that ruins its repository does not ruin the
    /// loop: what git cannot read, it cannot push either.
    pub(super) fn committed(
        &mut self,
        services: &Services,
        repository: Option<&Repository>,
    ) -> Result<Vec<Violation>, Error> {
        let Some(repository) = repository else { return Ok(Vec::new()) };
        match self.commits.look(repository, &self.guard, &self.baseline) {
            Err(error @ (Failure::Git { .. } | Failure::Io { .. })) => {
                services.warn(format!("the commits could not be searched for prohibited paths: {error}"));
                Ok(Vec::new())
            }
            found => Ok(found?),
        }
    }
}

/// What was changed in the workspace together with what was committed, sorted by path.
pub(super) fn with_committed(changed: Vec<Violation>, committed: Vec<Violation>) -> Vec<Violation> {
    let mut all: BTreeMap<String, Violation> =
        changed.into_iter().map(|violation| (violation.path.clone(), violation)).collect();
    for violation in committed {
        match all.get_mut(&violation.path) {
            Some(known) => known.commit = violation.commit,
            None => drop(all.insert(violation.path.clone(), violation)),
        }
    }
    all.into_values().collect()
}
