//! The files of a task: a clone of its own at the base commit, and the branch that its work goes to.
//!
//! ```text
//!   repository of the task ── fetch ──► cache (bare, one per repository) ── clone ──► files of the task
//!   --workspace ─────────────────────────────────────────────────────────── clone ──►     │ snapshots
//!        ▲                                                                                ▼
//!        └──────────────────────── push ralph/<task> ◄──────────── commit of the iteration's tree
//! ```
//!
//! The agent can write its clone, git directory included. So the worker never runs git in there after it made it: commits are made
//! and pushed from the snapshots, which no agent reaches, and no clone shares a file with the cache.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_host::Host;
use ralph_model::{RunId, TaskId, TreeHash};
use ralph_runtime::Home;
use ralph_store::TaskLease;
use ralph_text::{Redactor, sanitize};
use ralph_workspace::Workspace;

use crate::commit;
use crate::error::Error;
use crate::git::{Call, Git, LIST_TIMEOUT, PUSH_TIMEOUT, of_remote, shown};
use crate::source::Source;

/// The waits between the tries to push work that has to be on the branch.
const PUSH_DELAYS: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// How often one push may find that the branch changed. A push of an earlier worker lands at most once.
const MAX_OVERTAKEN: u32 = 4;

/// How often a folder that is still written to is removed, and how long to wait in between.
const MAX_TRIES: u32 = 200;
const REMOVE_INTERVAL: Duration = Duration::from_millis(50);

/// The files of a task on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    git: Git,
    source: Source,
    branch: String,
    lease: TaskLease,
    pub(crate) root: PathBuf,
    /// The git directory of the snapshots, which no agent reaches.
    snapshots: PathBuf,
    /// The commit that the work began from.
    base: String,
    /// Finds secrets; none where they may be published.
    redactor: Option<Arc<Redactor>>,
    /// The first parent of the next commit: the newest of the branch as the work began, else the base, then what this worker pushed.
    parent: String,
    /// The newest commit of the branch, if there is one.
    tip: Option<String>,
    /// A commit that may be followed, with all before it: the base, then what the files came from or this worker pushed.
    reviewed: String,
    /// The tree of the newest commit of the branch. None where a push failed: it may arrive all the same.
    pushed: Option<TreeHash>,
    /// Whether this worker made the newest commit, so that no push of an earlier worker can land any more.
    is_own: bool,
}

impl Place {
    /// The place of a task whose work began at `base`.
    pub(crate) async fn find(
        host: &Host,
        git: &Git,
        source: Source,
        lease: TaskLease,
        base: &str,
        redactor: Option<Arc<Redactor>>,
    ) -> Result<Self, Error> {
        let branch = branch(lease.task);
        // Git has no name for a branch beside others below it. Known before anything is spent on work that could not be pushed.
        let format = "--format=%(refname:lstrip=2) %(objectname) %(tree)";
        let refs = git.in_dir(&source.git_dir).args(["for-each-ref", format, "refs/heads/ralp[h]"]);
        let refs = refs.arg(format!("refs/heads/{branch}")).run("find the branch of a task").await?;
        let refs: Vec<Vec<&str>> = refs.lines().map(|line| line.split(' ').collect()).collect();
        if refs.iter().any(|found| found.first() == Some(&"ralph")) {
            let shown = shown(&source.remote);
            return Err(Error::Task(format!("{shown} has a branch `ralph`, so that it can have no branch `{branch}`")));
        }
        let (tip, pushed) = match refs.first().map(Vec::as_slice) {
            Some([_, tip, tree]) => (Some((*tip).to_owned()), Some(TreeHash((*tree).to_owned()))),
            _ => (None, None),
        };
        let home = host.home();
        Home::make_private(&home.root().join("worktrees"))?;
        let root = root_of(&home, lease.task);
        let snapshots = home.workspace(&root).join("git");
        let parent = tip.clone().unwrap_or_else(|| base.to_owned());
        let (git, base, reviewed) = (git.clone(), base.to_owned(), base.to_owned());
        let is_own = false;
        Ok(Self { git, source, branch, lease, root, snapshots, base, redactor, parent, tip, reviewed, pushed, is_own })
    }

    /// Says that the files came from the newest commit of the branch, whoever made it.
    pub(crate) fn adopt(&mut self) {
        self.reviewed.clone_from(&self.parent);
    }

    /// Makes the files anew, at a commit.
    pub(crate) async fn make(&self, commit: &str) -> Result<(), Error> {
        self.remove().await?;
        Home::make_private(self.state())?;
        tokio::fs::write(self.unfinished(), "").await.map_err(Error::file(self.unfinished()))?;
        let _lock = self.source.lock_shared().await?;
        // A copy: no file is shared with the source, where the agent could change it.
        let clone = self.git.call().args(["clone", "--quiet", "--no-checkout", "--no-hardlinks", "--template="]);
        let clone = clone.args(["-c", "advice.detachedHead=false", "--end-of-options"]);
        clone.arg(&self.source.git_dir).arg(&self.root).run(&format!("clone {}", shown(&self.source.remote))).await?;
        let git_dir = self.root.join(".git");
        let here = || self.git.in_dir(&git_dir).env("GIT_WORK_TREE", &self.root);
        here().args(["checkout", "--quiet", "--force", "--detach", commit]).run("check out the base commit").await?;
        // Without a login: the agent reads this.
        let origin = ["remote", "set-url", "origin", &shown(&self.source.remote)];
        here().args(origin).run("name the origin of a clone").await.map(drop)
    }

    /// Beside files that were made and are not yet as the work left them. A worker that is killed meanwhile leaves the newest tree in
    /// the snapshots, and other files in the workspace.
    fn unfinished(&self) -> PathBuf {
        self.state().join("unfinished")
    }

    /// Says that the files are as the work left them, so that the next worker on this machine continues with them.
    pub(crate) async fn finish(&self) -> Result<(), Error> {
        match tokio::fs::remove_file(self.unfinished()).await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(self.unfinished())(error)),
            _ => Ok(()),
        }
    }

    /// Whether there are files that a worker finished.
    pub(crate) fn is_finished(&self) -> bool {
        self.root.is_dir() && !self.unfinished().exists()
    }

    /// What is kept of the files beside them.
    fn state(&self) -> &Path {
        self.snapshots.parent().unwrap_or(&self.snapshots)
    }

    /// Whether the newest state of the loop that the journal knows is on this machine.
    pub(crate) async fn has(&self, tree: &TreeHash) -> bool {
        let is_here =
            is_object(tree) && self.is_finished() && self.root.join(".git").is_dir() && self.snapshots.is_dir();
        is_here && self.git.in_dir(&self.snapshots).args(["cat-file", "-e", &tree.0]).run("find a tree").await.is_ok()
    }

    /// Brings the newest tree of the branch into the snapshots, and names it.
    pub(crate) async fn bring_pushed(&self) -> Result<Option<TreeHash>, Error> {
        let Some(tree) = &self.pushed else { return Ok(None) };
        let packs = self.snapshots.join("objects/pack");
        Home::make_private(&packs)?;
        let pack = self.git.in_dir(&self.source.git_dir).args(["pack-objects", "--quiet", "--revs"]);
        pack.arg(packs.join("pack")).input(format!("{}\n", tree.0)).run("copy the work of a task").await?;
        Ok(Some(tree.clone()))
    }

    /// Makes a tree of the loop the newest commit of the branch, unless it is that already.
    ///
    /// A push expects the branch as it was last seen. A worker that died may have sent a push that lands later: its commit is then merged
    /// as `git merge --strategy=ours` does, so that the tree is that of the newest lease and no commit is lost.
    pub(crate) async fn push(&mut self, tree: &TreeHash, message: &str) -> Result<bool, Error> {
        if self.has_pushed(tree) {
            return Ok(false);
        }
        if !is_object(tree) {
            return Err(Error::Task("the journal names a tree that is none".to_owned()));
        }
        if let Some(redactor) = &self.redactor {
            let options = ["-r", "-p", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"];
            let added = self.here().arg("diff-tree").args(options).args([&self.base, &tree.0]);
            refuse_secrets(&added.run("compare the work with its start").await?, redactor)?;
        }
        self.pushed = None;
        let mut tries = 0;
        let commit = loop {
            tries += 1;
            self.review().await?;
            let overtaken = self.tip.as_ref().filter(|tip| **tip != self.parent);
            let parents = [&self.parent].into_iter().chain(overtaken).flat_map(|parent| ["-p", parent]);
            let mut commit = self.here().args(["commit-tree", &tree.0]).args(parents).input(message);
            for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
                commit = commit.env(&format!("{who}_NAME"), commit::NAME).env(&format!("{who}_EMAIL"), commit::EMAIL);
            }
            let commit = commit.run("commit the work of an iteration").await?;
            let reference = self.reference();
            let expected = format!("--force-with-lease={reference}:{}", self.tip.as_deref().unwrap_or_default());
            let push = self.here().args(["push", "--quiet", &expected, "--end-of-options", &self.source.remote]);
            let push = push.arg(format!("{commit}:{reference}")).within(PUSH_TIMEOUT);
            let Err(error) = push.run(&format!("push {} to {}", self.branch, shown(&self.source.remote))).await else {
                break commit;
            };
            // What git says about a refusal differs between remotes; what is on the branch does not.
            match self.fetch_tip().await {
                Ok(Some(found)) if found == commit => break commit,
                Ok(found) if found != self.tip && tries < MAX_OVERTAKEN => {
                    tracing::warn!(%error, branch = self.branch, ?found, "the branch changed");
                    self.tip = found;
                }
                Ok(_) | Err(_) => return Err(of_remote(error)),
            }
        };
        (self.parent, self.reviewed, self.tip) = (commit.clone(), commit.clone(), Some(commit));
        (self.pushed, self.is_own) = (Some(tree.clone()), true);
        Ok(true)
    }

    /// Git where the commits are made: in the snapshots, or beside the source where the files of the task are not here.
    fn here(&self) -> Call {
        let git_dir = if self.snapshots.is_dir() { &self.snapshots } else { &self.source.git_dir };
        self.git.in_dir(git_dir).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.source.git_dir.join("objects"))
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Fetches the newest commit of the branch and names it.
    async fn fetch_tip(&self) -> Result<Option<String>, Error> {
        let (reference, action) = (self.reference(), format!("read {} of {}", self.branch, shown(&self.source.remote)));
        let listed = self.git.call().args(["ls-remote", "--end-of-options", &self.source.remote, &reference]);
        let listed = listed.within(LIST_TIMEOUT).run(&action).await?;
        let found = listed.lines().filter_map(|line| line.split_once('\t')).find(|(_, name)| *name == reference);
        let Some((found, _)) = found else { return Ok(None) };
        let fetch = self.here().args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options"]);
        fetch.args([&self.source.remote, &reference]).run(&action).await?;
        Ok(Some(found.to_owned()))
    }

    /// Refuses to follow commits that neither the files came from nor this or an earlier worker of the task made.
    async fn review(&mut self) -> Result<(), Error> {
        let Some(tip) = self.tip.as_ref().filter(|tip| **tip != self.reviewed) else { return Ok(()) };
        let records = self.here().args(["rev-list", commit::FORMAT, tip, "--not", &self.reviewed]);
        let records = records.run("read the commits of a branch").await?;
        commit::refuse_foreign(&records, self.lease.task, self.lease.epoch.0).map_err(|why| {
            let (branch, root) = (&self.branch, self.root.display());
            Error::Refused(format!("{branch} was not pushed: {why}; the work is in {root}"))
        })?;
        self.reviewed.clone_from(tip);
        Ok(())
    }

    /// As [`Place::push`], several times where it fails: the remote may be away for a moment. The newest commit is this worker's own then,
    /// also where an earlier worker pushed the same tree: a later push of that worker would land on its commit.
    pub(crate) async fn push_with_retries(&mut self, tree: &TreeHash, message: &str) -> Result<bool, Error> {
        if !self.is_own {
            self.pushed = None;
        }
        for delay in PUSH_DELAYS {
            match self.push(tree, message).await {
                Err(error) if !matches!(error, Error::Refused(_)) => {
                    tracing::warn!(%error, branch = self.branch, "a push is tried again");
                    tokio::time::sleep(delay).await;
                }
                pushed => return pushed,
            }
        }
        self.push(tree, message).await
    }

    /// The difference between two trees of the loop, as a patch.
    pub(crate) async fn diff(&self, from: &TreeHash, to: &TreeHash) -> Result<Vec<u8>, Error> {
        let (state, git) = (self.state().to_owned(), self.git.program().to_owned());
        let (from, to) = (from.clone(), to.clone());
        let made = tokio::task::spawn_blocking(move || Workspace::diff_kept(&state, &git, &from, &to)).await;
        let patch = made.map_err(|error| Error::Task(error.to_string()))?.map_err(|error| Error::Host(error.into()))?;
        // Others read it.
        Ok(match (&self.redactor, std::str::from_utf8(&patch)) {
            (Some(redactor), Ok(text)) => redactor.text(text).into_owned().into_bytes(),
            _ => patch,
        })
    }

    /// Whether a tree is the newest commit of the branch.
    pub(crate) fn has_pushed(&self, tree: &TreeHash) -> bool {
        self.pushed.as_ref() == Some(tree)
    }

    pub(crate) fn branch(&self) -> Option<&str> {
        self.tip.as_ref().map(|_| self.branch.as_str())
    }

    /// The newest commit of the branch, else the commit that the work begins from.
    pub(crate) fn newest(&self) -> &str {
        &self.parent
    }

    /// Removes the files; what was pushed stays.
    async fn remove(&self) -> Result<(), Error> {
        remove(&self.root).await?;
        remove(self.state()).await
    }
}

/// Places of secrets that are named.
const MAX_NAMED: usize = 5;

/// Refuses a patch that adds something that looks like a secret, by file and line.
fn refuse_secrets(patch: &str, redactor: &Redactor) -> Result<(), Error> {
    let (mut file, mut line, mut found, mut is_header) = ("", 0_u64, Vec::new(), false);
    for text in patch.lines() {
        if let Some(name) = text.strip_prefix("+++ ").filter(|_| is_header) {
            file = name.strip_prefix("b/").unwrap_or(name);
        } else if let Some(place) = text.strip_prefix("@@ ") {
            let added = place.split_whitespace().find_map(|word| word.strip_prefix('+')).unwrap_or_default();
            line = added.split(',').next().and_then(|line| line.parse().ok()).unwrap_or(0);
        } else if let Some(added) = text.strip_prefix('+') {
            if matches!(redactor.text(added), Cow::Owned(clean) if clean != added) {
                found.push(format!("{}:{line}", sanitize(file)));
            }
            line += 1;
        }
        is_header = text.starts_with("--- ");
    }
    if found.is_empty() {
        return Ok(());
    }
    let more = match found.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let places = found.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    Err(Error::Refused(format!(
        "it was not pushed, because it holds what looks like secrets: {places}{more}; remove them, or start the worker with \
         --allow-secrets"
    )))
}

/// Removes what is left of a task that ended, and of its loop where all of that is elsewhere. What cannot be removed is in the way of
/// nothing.
pub(crate) async fn clear(host: &Host, task: TaskId, run: Option<RunId>) {
    let home = host.home();
    let root = root_of(&home, task);
    let (snapshots, builds) = (home.workspace(&root), home.builds(&root));
    let run = run.map(|run| home.loop_folder(run).root().to_owned());
    for path in [root, snapshots, builds, home.root().join("tasks").join(task.to_string())].into_iter().chain(run) {
        if let Err(error) = remove(&path).await {
            tracing::warn!(%error, %task, "files of a task stay");
        }
    }
}

/// The tasks that there is something of on this machine.
pub(crate) fn found(host: &Host) -> BTreeSet<TaskId> {
    let home = host.home();
    let names = |folder: &str| {
        let entries = std::fs::read_dir(home.root().join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let clones = names("worktrees").into_iter().filter_map(|name| name.strip_prefix("task-")?.parse().ok());
    clones.chain(names("tasks").into_iter().filter_map(|name| name.parse().ok())).collect()
}

/// Where the agent of a task works. Without links: the snapshots are found by the path.
fn root_of(home: &Home, task: TaskId) -> PathBuf {
    let folder = home.root().join("worktrees");
    folder.canonicalize().unwrap_or(folder).join(format!("task-{task}"))
}

/// Removes a folder. Processes of a worker that died may still write there for a moment.
pub(crate) async fn remove(path: &Path) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        match tokio::fs::remove_dir_all(path).await {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && tries < MAX_TRIES => {
                tries += 1;
                tokio::time::sleep(REMOVE_INTERVAL).await;
            }
            removed => return removed.map_err(Error::file(path)),
        }
    }
}

/// Whether this is the name of an object: a journal comes from other machines, and git takes other words for options.
fn is_object(tree: &TreeHash) -> bool {
    matches!(tree.0.len(), 40 | 64) && tree.0.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(crate) fn branch(task: TaskId) -> String {
    format!("ralph/{task}")
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
