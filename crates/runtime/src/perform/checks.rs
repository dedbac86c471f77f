//! Runs the checks and looks for what was expected.

use std::sync::Arc;

use ralph_checks::{Checker, Observed, Progress, Request};
use ralph_engine::Event;
use ralph_model::{Attempt, CheckOutcome, Expectation, Iteration, Missing, ToolEvidence, Verdict};
use ralph_process::Stop;
use ralph_workspace::repository::CommitId;
use tokio::sync::watch;

use super::{Answer, Context, Start};
use crate::error::Error;
use crate::notice::Notice;

impl Context {
    pub(super) async fn run_baseline(
        &self,
        attempt: Attempt,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Answer, Error> {
        let checks = self.check(format!("baseline-{attempt}"), stop).await?;
        let tree = self.current_tree("baseline").await?;
        let verdict = Verdict::new(tree, checks);
        let needs_claim = verdict.passed() || self.config.promise_is_explicit;
        self.machinery.tell(Notice::BaselineFinished { verdict: Some(verdict.clone()), needs_claim });
        Ok(Event::BaselineFinished { attempt, verdict }.into())
    }

    pub(super) async fn run_checks(
        &self,
        iteration: Iteration,
        attempt: Attempt,
        start: Start,
        evidence: Vec<ToolEvidence>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Answer, Error> {
        let prefix = format!("iteration-{iteration}-{attempt}");
        let checks = self.check(prefix.clone(), stop.clone()).await?;
        let tree = start.now.clone();
        let missing = self.missing(prefix, start, evidence, stop).await?;
        Ok(Event::ChecksFinished { attempt, verdict: Verdict { missing, ..Verdict::new(tree, checks) } }.into())
    }

    async fn check(&self, prefix: String, stop: watch::Receiver<Option<Stop>>) -> Result<Vec<CheckOutcome>, Error> {
        let mut progress = |progress: Progress| match progress {
            Progress::Started { command, .. } => self.machinery.tell(Notice::CheckStarted { command }),
            Progress::Output(line) => self.machinery.tell(Notice::Activity { line }),
            Progress::Finished(outcome) => self.machinery.tell(Notice::CheckFinished { outcome }),
        };
        let commands = self.config.verification_commands.as_slice();
        let logs = self.folder.logs();
        let request = self.request(commands, &logs, prefix);
        Ok(self.checker().run(request, stop, &mut progress).await?)
    }

    fn checker(&self) -> Checker {
        Checker::new(Arc::clone(&self.machinery.supervisor))
    }

    fn request<'a>(&'a self, commands: &'a [String], logs: &'a std::path::Path, log_prefix: String) -> Request<'a> {
        Request {
            commands,
            directory: &self.root,
            environment: self.environment(),
            timeout: self.config.verification_timeout,
            idle: self.config.idle_timeout,
            logs,
            log_prefix,
            log_root: self.folder.root(),
            log_limit: self.config.log_limit,
            junit: &self.config.junit,
            hold: self.hold.clone(),
        }
    }

    /// Expectations that are not met, each looked for since the loop's start.
    async fn missing(
        &self,
        prefix: String,
        start: Start,
        evidence: Vec<ToolEvidence>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Vec<Missing>, Error> {
        let expects = &self.config.expects;
        if expects.is_empty() {
            return Ok(Vec::new());
        }
        let (from, to) = (start.tree, start.now);
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
        let observed = Observed { evidence: &evidence, changed: &changed, new_commits, clean };
        let logs = self.folder.logs();
        let request = self.request(&[], &logs, format!("{prefix}-expected"));
        Ok(self.checker().expectations(expects, &observed, request, stop, &mut |_| {}).await?)
    }

    async fn current_tree(&self, label: &'static str) -> Result<ralph_model::TreeHash, Error> {
        let loop_id = self.loop_id;
        self.on_ground(move |ground| Ok(ground.workspace.snapshot(loop_id, label)?.tree)).await
    }
}
