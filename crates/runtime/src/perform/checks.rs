//! Runs the checks where the agent cannot steer them, and looks for what was expected.
//!
//! ```text
//!   look ──► put pinned files back ──► hash ──► checks ──► hash ──► the agent's files again ──► verdict
//! ```
//!
//! The agent's processes are gone before any of this. What was swapped is written down before it is, so that after a
//! crash the workspace gets its own files back before anybody looks at it.

use std::sync::Arc;

use ralph_checks::{Checker, Observed, Request};
use ralph_engine::Event;
use ralph_model::{
    Attempt, Change, CheckOutcome, Ended, Expectation, Iteration, Missing, ToolEvidence, TreeHash, UntrackedDigest,
    Verdict,
};
use ralph_process::Stop;
use ralph_verify::changes::defined_tests;
use ralph_verify::confirm::holds_tests;
use ralph_verify::detection;
use ralph_verify::expected::{
    DefinedTests, TestChanges, chooses_tests, compare_with_baseline, judge_baseline, needs_defined,
};
use ralph_verify::work::{is_left_alone, moved_work, needs_another_run};
use ralph_view::Progress;
use ralph_workspace::Placement;
use ralph_workspace::repository::CommitId;
use tokio::sync::watch;

use super::place::{Caches, CheckEnv};
use super::stamps::Stamps;
use super::{Answer, Context, Start, WorkspaceState};
use crate::error::Error;
use crate::pinned::Looked;

/// How many installed packages that changed, and how many signs, a verdict names.
const MAX_PACKAGES: usize = 50;

/// Files that may choose among tests.
const SETTINGS: [&str; 5] = ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "package.json"];

struct Round {
    checks: Vec<CheckOutcome>,
    missing: Vec<Missing>,
    looked: Looked,
    tree: TreeHash,
    moved: Vec<String>,
    beside: UntrackedDigest,
}

/// How the files are looked at when checks have ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Look {
    Complete,
    /// Where the kernel reports a change. Enough for work that fails anyway: what is hidden from it is seen after the next agent.
    Reported,
}

/// What one run of the checks came to, before it is compared with anything.
struct Ran {
    checks: Vec<CheckOutcome>,
    missing: Vec<Missing>,
    tree: TreeHash,
    moved: Vec<String>,
    beside: UntrackedDigest,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    /// What they found before the first iteration.
    pub(crate) baseline: Option<Verdict>,
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
        let caches = if self.config.tripwire { Caches::Start } else { Caches::Warm };
        let builds = if caches == Caches::Start { self.take_builds(caches).await? } else { None };
        let mut env = self.check_env(&tree, Vec::new(), caches, builds, stop.clone()).await?;
        if let Some(failed) = &env.failed_setup {
            return Err(self.set_up_failed(failed));
        }
        let before = self.snapshot("checked".to_owned()).await?;
        let stamps = self.stamps(&env, before.clone()).await?;
        if self.config.tripwire {
            // A verdict needs it, and this takes as long as a small check.
            let languages: Vec<_> = self.runners.iter().map(|runner| runner.language()).collect();
            drop(tokio::task::spawn_blocking(move || languages.into_iter().for_each(detection::prepare)));
        }
        let mut checks = self.check(&env, format!("baseline-{attempt}"), stop).await?;
        for check in &mut checks {
            self.warn_of_unusable(check);
            judge_baseline(check);
        }
        // Whatever they wrote now, they may write again.
        let changes = self.changes_since(&env, before.clone(), Look::Complete).await?;
        let written = with_touched(changes.into_iter().map(|change| change.path).collect(), &stamps);
        let tree = self.snapshot("baseline".to_owned()).await?;
        if let Err(error) = self.keep_builds(&mut env, [before, tree.clone()]).await {
            self.services.warn(format!("builds for confirming runs could not be kept: {}", error.chain()));
        }
        let beside = UntrackedDigest { before: String::new(), after: self.beside().await? };
        let verdict = Verdict { written, beside, ..Verdict::new(tree, checks) };
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
        let mut round = self.round(prefix.clone(), &start, &evidence, &before, stop.clone()).await?;
        let mut found = None;
        if needs_another_run(&round.moved, &round.checks, &round.looked.tampered) {
            let tree = self.snapshot(format!("iteration-{iteration}-moved")).await?;
            start.now = tree.clone();
            found = Some(tree);
            round = self.round(format!("{prefix}-again"), &start, &evidence, &before, stop).await?;
        }
        let Round { checks, missing, looked, tree, moved, mut beside } = round;
        if !checks.iter().all(|check| check.passed) {
            beside.after = self.beside().await?;
        }
        let verdict = Verdict {
            missing,
            tampered: looked.tampered,
            allowed: looked.allowed,
            packages: looked.packages.into_iter().take(MAX_PACKAGES).collect(),
            signs: looked.signs.into_iter().take(MAX_PACKAGES).collect(),
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
        let env = self.check_env(&start.now, entries, Caches::Warm, None, stop.clone()).await?;
        // Whatever happens meanwhile, the agent's own files come back.
        let ran = self.run_on(&env, prefix, start, evidence, before, stop).await;
        let during = self.leave(env).await?;
        let Ran { mut checks, missing, tree, moved, beside } = ran?;
        looked.tampered.extend(during);
        if checks.iter().all(|check| check.passed) {
            let now = start.now.clone();
            let add = move |ground: &mut WorkspaceState| match &ground.pinned {
                Some(pinned) => pinned.look_closer(&ground.workspace, &now, &mut looked).map(|()| looked),
                None => Ok(looked),
            };
            looked = self.with_workspace(add).await?;
        }
        let earlier = |check: &CheckOutcome| before.check(&check.command).and_then(|before| before.tests.as_ref());
        let listed = self.listed_tests;
        let defined = match checks.iter().any(|check| needs_defined(check, earlier(check), listed)) {
            true => self.with_workspace(|ground| ground.defined_tests()).await?,
            false => Vec::new(),
        };
        // Which check runs what a runner listed is not known where several run tests.
        let is_only = checks.iter().filter(|check| check.tests.is_some()).count() < 2;
        let defined: Vec<DefinedTests> =
            defined.into_iter().map(|file| DefinedTests { is_listed: file.is_listed && is_only, ..file }).collect();
        for check in &mut checks {
            let earlier = earlier(check);
            let changes = TestChanges { allowed: &looked.allowed, renamed: &looked.renamed, defined: &defined };
            compare_with_baseline(check, earlier, changes);
        }
        let moved = moved.into_iter().filter(|path| !before.written().contains(path)).collect();
        Ok(Round { checks, missing, looked, tree, moved, beside })
    }

    async fn run_on(
        &self,
        env: &CheckEnv,
        prefix: String,
        start: &Start,
        evidence: &[ToolEvidence],
        before: &Before,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Ran, Error> {
        let tree = self.hash(env, &start.now).await?;
        let mut beside = UntrackedDigest::default();
        // Only where the same tree failed before does it matter what lay beside it then and now.
        if before.failed_on(&tree) {
            beside.before = self.beside().await?;
        }
        if let Some(failed) = &env.failed_setup {
            // Without it the checks say nothing; the agent may have broken what it installs.
            let checks = vec![CheckOutcome { passed: false, ..failed.clone() }];
            return Ok(Ran { checks, missing: Vec::new(), tree, moved: Vec::new(), beside });
        }
        let stamps = self.stamps(env, start.now.clone()).await?;
        let checks = self.check(env, prefix.clone(), stop.clone()).await?;
        let missing = self.missing(env, prefix, start, evidence, stop).await?;
        let look = if checks.iter().all(|check| check.passed) { Look::Complete } else { Look::Reported };
        // The stamps come last: what has its content now and was not touched had it all the time.
        let moved = with_touched(self.changed(env, tree.clone(), look).await?, &stamps);
        Ok(Ran { checks, missing, tree, moved, beside })
    }

    /// A command that the shell cannot execute will not get better by itself.
    fn warn_of_unusable(&self, check: &CheckOutcome) {
        let why = match check.ended {
            Ended::Exited { code: 126 } => "cannot be executed (exit code 126; chmod +x makes a script executable)",
            Ended::Exited { code: 127 } => "does not find a program that it starts (exit code 127)",
            _ => return,
        };
        self.services.warn(format!(
            "`{}` {why}; what the check names is protected, so that the agent cannot fix that",
            check.command
        ));
    }

    /// What is not as a verdict over `tree` needs it.
    pub(super) async fn look_at(&self, tree: TreeHash) -> Result<Looked, Error> {
        self.with_workspace(move |ground| ground.look(&tree)).await
    }

    pub(super) async fn check(
        &self,
        env: &CheckEnv,
        prefix: String,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Vec<CheckOutcome>, Error> {
        let mut progress = |progress: ralph_checks::Progress| {
            self.services.tell(match progress {
                ralph_checks::Progress::Started { command, .. } => Progress::CheckStarted { command },
                ralph_checks::Progress::Output(line) => Progress::Activity { line },
                ralph_checks::Progress::Finished(outcome) => Progress::CheckFinished { outcome },
            });
        };
        let logs = self.folder.logs();
        let request = self.request(env, &env.commands, &logs, prefix);
        Ok(self.checker().run(request, stop, &mut progress).await?)
    }

    pub(super) fn checker(&self) -> Checker {
        Checker::new(Arc::clone(&self.services.supervisor))
    }

    pub(super) fn request<'a>(
        &'a self,
        env: &'a CheckEnv,
        commands: &'a [String],
        logs: &'a std::path::Path,
        log_prefix: String,
    ) -> Request<'a> {
        Request {
            commands,
            directory: &env.directory,
            environment: env.environment.clone(),
            timeout: env.timeout,
            idle: self.config.idle_timeout,
            logs,
            log_prefix,
            log_root: self.folder.root(),
            log_limit: self.config.log_limit,
            junit: &env.junit,
            extra_reports: env.reports.clone(),
            retries: env.retries,
            sandbox: self.checks_sandbox(env),
            hold: self.hold.iter().cloned().chain(env.hold()).collect(),
        }
    }

    /// Expectations that are not met, each looked for since the loop's start.
    async fn missing(
        &self,
        env: &CheckEnv,
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
        let changed = self.with_workspace(move |ground| Ok(ground.workspace.changes(&from, &to)?)).await?;
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
        let observed = Observed {
            evidence,
            changed: &changed,
            new_commits,
            clean,
            root: &self.root,
            objective: &self.config.objective,
        };
        let logs = self.folder.logs();
        let request = self.request(env, &[], &logs, format!("{prefix}-expected"));
        Ok(self.checker().expectations(expects, &observed, request, stop, &mut |_| {}).await?)
    }

    /// What lies in the workspace besides the tree that was seen there last.
    async fn beside(&self) -> Result<String, Error> {
        self.with_workspace(|ground| Ok(ground.workspace.untracked_digest()?)).await
    }

    pub(super) async fn snapshot(&self, label: String) -> Result<TreeHash, Error> {
        let loop_id = self.loop_id;
        self.with_workspace(move |ground| Ok(ground.workspace.snapshot(loop_id, &label)?.tree)).await
    }

    /// The hash of what the checks are about to run on, given that of the work. Where nothing was put in place this is the
    /// work itself, which was recorded when the last process of the agent was gone: whatever changes from then on is seen
    /// when the checks have ended.
    async fn hash(&self, env: &CheckEnv, work: &TreeHash) -> Result<TreeHash, Error> {
        match &env.synced {
            Some(tree) => Ok(tree.clone()),
            None if env.is_the_work() => Ok(work.clone()),
            // A snapshot rather than a bare hash: this is the tree that a verdict names, and that may be committed.
            None => self.snapshot("checked".to_owned()).await,
        }
    }

    /// The stamps of the files that checks only read.
    async fn stamps(&self, env: &CheckEnv, tree: TreeHash) -> Result<Stamps, Error> {
        let (root, mut paths) = (env.directory.clone(), env.placed());
        self.with_workspace(move |ground| {
            if let Some(pinned) = &mut ground.pinned {
                paths.retain(|path| is_left_alone(path, pinned.pin(path)));
                paths.extend(pinned.left_alone(&ground.workspace, &tree)?);
            }
            Ok(Stamps::take(&root, paths))
        })
        .await
    }

    /// Files of the work that are not what they were when it had this hash.
    async fn changed(&self, env: &CheckEnv, from: TreeHash, look: Look) -> Result<Vec<String>, Error> {
        Ok(moved_work(self.changes_since(env, from, look).await?))
    }

    async fn changes_since(&self, env: &CheckEnv, from: TreeHash, look: Look) -> Result<Vec<Change>, Error> {
        let isolated = env.is_isolated();
        self.with_workspace(move |ground| match ground.checkout.as_ref().filter(|_| isolated) {
            Some(checkout) => Ok(checkout.changed()?),
            None => {
                let to = match look {
                    Look::Complete => ground.workspace.scan_tree()?,
                    Look::Reported => ground.workspace.scan_reported()?,
                };
                if from == to { Ok(Vec::new()) } else { Ok(ground.workspace.changes(&from, &to)?) }
            }
        })
        .await
    }
}

/// These files, and those that something touched.
fn with_touched(mut paths: Vec<String>, stamps: &Stamps) -> Vec<String> {
    let touched = stamps.touched();
    paths.extend(touched.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
    paths
}

impl WorkspaceState {
    /// The tests that the pinned files of the start define, by their files; none where commands or settings choose among them.
    /// What a runner listed was chosen by it.
    fn defined_tests(&self) -> Result<Vec<DefinedTests>, Error> {
        let Some(pinned) = &self.pinned else { return Ok(Vec::new()) };
        let mut defined = Vec::new();
        let mut chooses = pinned.texts().iter().any(|text| chooses_tests(&text.text));
        for path in self.workspace.list(pinned.start())? {
            let is_settings = SETTINGS.iter().any(|name| path.rsplit('/').next() == Some(name));
            if !is_settings && !holds_tests(&path, pinned.pin(&path)) {
                continue;
            }
            let content = self.workspace.file_at(pinned.start(), &path)?.unwrap_or_default();
            chooses |= is_settings && String::from_utf8_lossy(&content).lines().any(chooses_tests);
            let listed = pinned.listed(&path);
            let mut names = defined_tests(&path, &content);
            let is_listed = listed.is_some();
            let named = listed.filter(|listed| !listed.is_empty());
            if let Some(named) = &named {
                names.retain(|name| named.iter().any(|test| test.rsplit("::").next() == Some(name)));
            }
            if !names.is_empty() {
                defined.push((named.is_some(), DefinedTests { path, names, is_listed }));
            }
        }
        defined.retain(|(is_named, _)| *is_named || !chooses);
        Ok(defined.into_iter().map(|(_, file)| file).collect())
    }

    /// What is not as a verdict over `tree` needs it.
    pub(super) fn look(&mut self, tree: &TreeHash) -> Result<Looked, Error> {
        match &self.pinned {
            Some(pinned) => pinned.look(&mut self.workspace, tree),
            None => Ok(Looked::default()),
        }
    }
}
