//! Runs the checks where the agent cannot steer them, and looks for what was expected.
//!
//! ```text
//!   look ──► put pinned files back ──► hash ──► checks ──► hash ──► the agent's files again ──► verdict
//! ```
//!
//! The agent's processes are gone before any of this. What was swapped is written down before it is, so that after a
//! crash the workspace gets its own files back before anybody looks at it.

use std::sync::Arc;

use ralph_checks::{Checker, Observed, Progress, Request, roster};
use ralph_engine::Event;
use ralph_model::{
    Attempt, Beside, Change, ChangeKind, CheckOutcome, Expectation, Iteration, Missing, Tamper, ToolEvidence, TreeHash,
    Verdict,
};
use ralph_process::Stop;
use ralph_workspace::Placement;
use ralph_workspace::repository::CommitId;
use tokio::sync::watch;

use super::place::{Caches, Stand};
use super::{Answer, Context, Ground, Start};
use crate::beside::beside;
use crate::error::Error;
use crate::notice::Notice;
use crate::pinned::Looked;

/// Files that package managers rewrite when a check asks them to build: no sign of anything.
pub(super) const LOCK_FILES: [&str; 11] = [
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "go.sum",
    "Gemfile.lock",
];

/// One look of the checks at the work.
struct Round {
    checks: Vec<CheckOutcome>,
    missing: Vec<Missing>,
    looked: Looked,
    /// What the checks ran on.
    tree: TreeHash,
    moved: Vec<String>,
}

/// What the checks are compared with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    /// What they found before the first iteration.
    pub(crate) baseline: Option<Verdict>,
    /// Trees that they failed on since.
    pub(crate) failed_on: Vec<TreeHash>,
}

impl Before {
    fn written(&self) -> &[String] {
        self.baseline.as_ref().map_or(&[], |verdict| &verdict.written)
    }

    fn failed_on(&self, tree: &TreeHash) -> bool {
        self.failed_on.contains(tree) || self.baseline.as_ref().is_some_and(|baseline| baseline.tree == *tree)
    }

    fn check(&self, command: &str) -> Option<&CheckOutcome> {
        self.baseline.as_ref()?.checks.iter().find(|before| before.command == command)
    }
}

impl Context {
    pub(super) async fn run_baseline(
        &self,
        attempt: Attempt,
        tree: TreeHash,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Answer, Error> {
        let stand = self.stand(&tree, Vec::new(), Caches::Warm, stop.clone()).await?;
        let before = self.snapshot("checked".to_owned()).await?;
        let checks = self.check(&stand, format!("baseline-{attempt}"), stop).await?;
        // Whatever they wrote now, they may write again.
        let written = self.changes_since(&stand, before).await?.into_iter().map(|change| change.path).collect();
        let tree = self.snapshot("baseline".to_owned()).await?;
        let beside = Beside { before: String::new(), after: self.beside().await? };
        let verdict = Verdict { written, beside, ..Verdict::new(tree, checks) };
        let needs_claim = verdict.passed() || self.config.promise_is_explicit;
        self.machinery.tell(Notice::BaselineFinished { verdict: Some(verdict.clone()), needs_claim });
        Ok(Event::BaselineFinished { attempt, verdict }.into())
    }

    pub(super) async fn run_checks(
        &self,
        iteration: Iteration,
        attempt: Attempt,
        mut start: Start,
        evidence: Vec<ToolEvidence>,
        before: Before,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Answer, Error> {
        let prefix = format!("iteration-{iteration}-{attempt}");
        // Only where the same tree failed before does it matter what lay beside it then and now.
        let mut beside = Beside::default();
        if before.failed_on(&start.now) {
            beside.before = self.beside().await?;
        }
        let mut round = self.round(prefix.clone(), &start, &evidence, &before, stop.clone()).await?;
        let mut found = None;
        let is_work_of_the_checks = round.looked.tampered.iter().all(Tamper::was_undone);
        if !round.moved.is_empty() && round.checks.iter().all(|check| check.passed) && is_work_of_the_checks {
            // A formatter among the checks, perhaps: what counts is a run that leaves the work alone.
            let tree = self.snapshot(format!("iteration-{iteration}-moved")).await?;
            start.now = tree.clone();
            found = Some(tree);
            round = self.round(format!("{prefix}-again"), &start, &evidence, &before, stop).await?;
        }
        let Round { checks, missing, looked, tree, moved } = round;
        if !checks.iter().all(|check| check.passed) {
            beside.after = self.beside().await?;
        }
        if !looked.tampered.is_empty() {
            self.machinery.tell(Notice::Tampered { tampered: looked.tampered.clone() });
        }
        let verdict = Verdict {
            missing,
            tampered: looked.tampered,
            allowed: looked.allowed,
            moved,
            beside,
            ..Verdict::new(tree, checks)
        };
        Ok(Event::ChecksFinished { attempt, verdict, tree: found }.into())
    }

    async fn round(
        &self,
        prefix: String,
        start: &Start,
        evidence: &[ToolEvidence],
        before: &Before,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Round, Error> {
        let mut looked = self.look_at(start.now.clone()).await?;
        let entries: Vec<(String, Placement)> =
            looked.entries.iter().map(|(path, placement)| (path.clone(), placement.clone())).collect();
        let stand = self.stand(&start.now, entries, Caches::Warm, stop.clone()).await?;
        // Whatever happens meanwhile, the agent's own files come back.
        let ran = self.run_on(&stand, prefix, start, evidence, stop).await;
        let during = self.leave(stand).await?;
        let (mut checks, missing, tree, moved) = ran?;
        looked.tampered.extend(during);
        for check in &mut checks {
            self.compare_with_baseline(check, before, &looked);
        }
        let moved = moved.into_iter().filter(|path| !before.written().contains(path)).collect();
        Ok(Round { checks, missing, looked, tree, moved })
    }

    async fn run_on(
        &self,
        stand: &Stand,
        prefix: String,
        start: &Start,
        evidence: &[ToolEvidence],
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<(Vec<CheckOutcome>, Vec<Missing>, TreeHash, Vec<String>), Error> {
        let tree = self.hash(stand, &start.now).await?;
        let checks = self.check(stand, prefix.clone(), stop.clone()).await?;
        let missing = self.missing(stand, prefix, start, evidence, stop).await?;
        let moved = self.changed(stand, tree.clone()).await?;
        Ok((checks, missing, tree, moved))
    }

    /// What is not as a verdict over `tree` needs it.
    pub(super) async fn look_at(&self, tree: TreeHash) -> Result<Looked, Error> {
        self.on_ground(move |ground| ground.look(&tree)).await
    }

    /// Tests that ran before the first iteration have to run now.
    fn compare_with_baseline(&self, check: &mut CheckOutcome, before: &Before, looked: &Looked) {
        let earlier = before.check(&check.command).and_then(|before| before.tests.as_ref());
        // A run that fails anyway may have stopped early.
        if let (true, Some(earlier)) = (check.passed, earlier) {
            let shrunk = if looked.allowed.is_empty() {
                roster::compare(earlier, check.tests.as_ref(), &[], &looked.renamed)
            } else {
                // Somebody allowed the tests to change: they may have other names and be fewer, but not none.
                let none = check.tests.as_ref().is_none_or(roster::ran_nothing) && !roster::ran_nothing(earlier);
                none.then(|| roster::compare(earlier, None, &[], &[])).flatten()
            };
            if let Some(shrunk) = shrunk {
                check.passed = false;
                check.excerpt = format!("{shrunk}\n");
                check.shrunk = Some(shrunk);
            }
        }
        roster::forget_names(check);
    }

    pub(super) async fn check(
        &self,
        stand: &Stand,
        prefix: String,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Vec<CheckOutcome>, Error> {
        let mut progress = |progress: Progress| match progress {
            Progress::Started { command, .. } => self.machinery.tell(Notice::CheckStarted { command }),
            Progress::Output(line) => self.machinery.tell(Notice::Activity { line }),
            Progress::Finished(outcome) => self.machinery.tell(Notice::CheckFinished { outcome }),
        };
        let logs = self.folder.logs();
        let request = self.request(stand, &stand.commands, &logs, prefix);
        Ok(self.checker().run(request, stop, &mut progress).await?)
    }

    pub(super) fn checker(&self) -> Checker {
        Checker::new(Arc::clone(&self.machinery.supervisor))
    }

    pub(super) fn request<'a>(
        &'a self,
        stand: &'a Stand,
        commands: &'a [String],
        logs: &'a std::path::Path,
        log_prefix: String,
    ) -> Request<'a> {
        Request {
            commands,
            directory: &stand.directory,
            environment: stand.environment.clone(),
            timeout: stand.timeout,
            idle: self.config.idle_timeout,
            logs,
            log_prefix,
            log_root: self.folder.root(),
            log_limit: self.config.log_limit,
            junit: &self.config.junit,
            extra_reports: stand.reports.clone(),
            retries: stand.retries,
            sandbox: self.checks_sandbox(stand),
            hold: self.hold.clone(),
        }
    }

    /// Expectations that are not met, each looked for since the loop's start.
    async fn missing(
        &self,
        stand: &Stand,
        prefix: String,
        start: &Start,
        evidence: &[ToolEvidence],
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Vec<Missing>, Error> {
        let expects = &self.config.expects;
        if expects.is_empty() {
            return Ok(Vec::new());
        }
        let (from, to) = (start.tree.clone(), start.now.clone());
        let changed = self.on_ground(move |ground| Ok(ground.workspace.changes(&from, &to)?)).await?;
        let head = start.head.as_deref().and_then(CommitId::parse);
        // A repository that the agent ruined shows nothing: what is expected of it is missing, and the loop goes on.
        let asks_clean = expects.contains(&Expectation::CleanTree);
        let asked = self
            .on_repository(move |repository| {
                let new_commits = repository.commits_since(head.as_ref()).unwrap_or(0);
                (new_commits, asks_clean.then(|| repository.is_clean().unwrap_or(false)))
            })
            .await?;
        let (new_commits, clean) = asked.unwrap_or((0, None));
        let observed = Observed { evidence, changed: &changed, new_commits, clean };
        let logs = self.folder.logs();
        let request = self.request(stand, &[], &logs, format!("{prefix}-expected"));
        Ok(self.checker().expectations(expects, &observed, request, stop, &mut |_| {}).await?)
    }

    /// What lies in the workspace besides the tree that was seen there last.
    async fn beside(&self) -> Result<String, Error> {
        let root = self.root.clone();
        self.on_ground(move |ground| Ok(beside(&root, &ground.workspace.paths()))).await
    }

    pub(super) async fn snapshot(&self, label: String) -> Result<TreeHash, Error> {
        let loop_id = self.loop_id;
        self.on_ground(move |ground| Ok(ground.workspace.snapshot(loop_id, &label)?.tree)).await
    }

    /// The hash of what the checks are about to run on, given that of the work. Where nothing was put in place this is the
    /// work itself, which was recorded when the last process of the agent was gone: whatever changes from then on is seen
    /// when the checks have ended.
    async fn hash(&self, stand: &Stand, work: &TreeHash) -> Result<TreeHash, Error> {
        match &stand.synced {
            Some(tree) => Ok(tree.clone()),
            None if stand.is_the_work() => Ok(work.clone()),
            // A snapshot rather than a bare hash: this is the tree that a verdict names, and that may be committed.
            None => self.snapshot("checked".to_owned()).await,
        }
    }

    /// Files of the work that are not what they were when it had this hash.
    async fn changed(&self, stand: &Stand, from: TreeHash) -> Result<Vec<String>, Error> {
        Ok(moved_work(self.changes_since(stand, from).await?))
    }

    async fn changes_since(&self, stand: &Stand, from: TreeHash) -> Result<Vec<Change>, Error> {
        let isolated = stand.is_isolated();
        self.on_ground(move |ground| match ground.checkout.as_ref().filter(|_| isolated) {
            Some(checkout) => Ok(checkout.changed()?),
            None => {
                let to = ground.workspace.scan_tree()?;
                if from == to { Ok(Vec::new()) } else { Ok(ground.workspace.changes(&from, &to)?) }
            }
        })
        .await
    }
}

/// Files of the work among changes: what is new is a by-product of the checks, and lock files belong to tools.
pub(super) fn moved_work(changes: Vec<Change>) -> Vec<String> {
    let is_lock = |path: &str| LOCK_FILES.contains(&path.rsplit('/').next().unwrap_or(path));
    let moved = changes.into_iter().filter(|change| change.kind != ChangeKind::Added && !is_lock(&change.path));
    moved.map(|change| change.path).collect()
}

impl Ground {
    /// What is not as a verdict over `tree` needs it.
    pub(super) fn look(&mut self, tree: &TreeHash) -> Result<Looked, Error> {
        match &self.pinned {
            Some(pinned) => pinned.look(&mut self.workspace, tree),
            None => Ok(Looked::default()),
        }
    }
}
