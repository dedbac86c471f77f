//! Runs the agent and looks at what it left behind.

use std::path::Path;
use std::sync::Arc;

use ralph_agents::{Activity, Request};
use ralph_engine::{DayBudget, Event};
use ralph_model::{AgentRun, Attempt, Change, Iteration, Millis, Money, OutputRef, TreeHash, Violation};
use ralph_process::{Network, Sandbox, Stop};
use ralph_workspace::Repository;
use tokio::sync::watch;

use super::{Answer, Context};
use crate::clock;
use crate::error::Error;
use crate::home::Home;
use crate::live::settlement;
use crate::notice::Notice;

/// One run of the agent.
pub(super) struct Errand {
    pub(super) iteration: Iteration,
    pub(super) attempt: Attempt,
    pub(super) prompt: String,
    pub(super) budget: Option<Money>,
    pub(super) timeout: Millis,
    pub(super) before: TreeHash,
}

struct Left {
    tree: TreeHash,
    changed: Vec<Change>,
    violations: Vec<Violation>,
}

impl Context {
    pub(super) async fn run_agent(&self, run: Errand, stop: watch::Receiver<Option<Stop>>) -> Result<Answer, Error> {
        let Errand { iteration, attempt, prompt, budget, timeout, before } = run;
        self.machinery.tell(Notice::IterationStarted { iteration });
        let kept = self.folder.prompt(iteration);
        let safe = self.machinery.redactor.text(&prompt);
        Home::write_private(&kept, safe.as_bytes())?;
        let scratch = self.folder.attempt(attempt);
        Home::make_private(&scratch)?;
        let mut environment = self.environment();
        environment.push(("RALPH_ITERATION".into(), iteration.to_string().into()));
        let log = self.folder.agent_log(iteration, attempt);
        let sandbox = self.agent_sandbox(&scratch);
        let request = Request {
            prompt: &prompt,
            directory: self.root.clone(),
            environment,
            scratch,
            log: log.clone(),
            log_limit: self.config.log_limit,
            budget,
            timeout,
            idle: self.config.idle_timeout,
            marker: Some(self.folder.marker(attempt)),
            sandbox,
            hold: self.hold.clone(),
            redactor: Arc::clone(&self.machinery.redactor),
        };
        // Only a figure in the history, here and below; expectations look for themselves.
        let head = self.on_repository(|repository| repository.head().ok()).await?.flatten();
        let mut lines = LastLine::default();
        let mut observe = |activity: Activity| {
            if let Activity::Text(text) = activity
                && let Some(line) = lines.push(&text)
            {
                self.machinery.tell(Notice::Activity { line });
            }
        };
        let observed =
            ralph_agents::run(&self.machinery.supervisor, &self.config.agent, request, stop, &mut observe).await?;
        let left = self.look(iteration, before).await?;
        let since = move |repository: &Repository| {
            head.and_then(|head| repository.commits_since(head.commit.as_ref()).ok()).unwrap_or(0)
        };
        let commits = self.on_repository(since).await?.unwrap_or(0);
        let reserved = budget.unwrap_or(Money::ZERO);
        let charged = observed.cost.charge(reserved);
        self.machinery.tell(Notice::AgentFinished {
            iteration,
            ended: observed.ended.clone(),
            changed: left.changed.len(),
            charged,
            duration: observed.duration,
        });
        let day = self.day_after(attempt, budget.is_some(), charged).await?;
        let output = OutputRef {
            file: self.relative_log(&log),
            bytes: observed.output.bytes,
            sha256: observed.output.sha256,
            cut: observed.output.cut,
        };
        let run = AgentRun {
            agent: self.config.agent.name().to_owned(),
            ended: observed.ended,
            evidence: observed.evidence,
            opaque: observed.opaque,
            final_message: observed.final_message,
            escalation: observed.escalation,
            usage: observed.usage,
            cost: observed.cost,
            duration: observed.duration,
            output,
            tree: left.tree,
            changed: left.changed,
            commits,
            violations: left.violations,
        };
        let money = settlement(attempt, reserved, charged);
        Ok(Answer { event: Event::AgentFinished { attempt, run: Box::new(run), day }, money })
    }

    /// How the agent is kept inside: it writes the workspace, its repository, and its own scratch folder.
    fn agent_sandbox(&self, scratch: &Path) -> Option<Sandbox> {
        let mut writable = vec![self.root.clone(), scratch.to_owned()];
        writable.extend(self.repository.iter().flat_map(Repository::folders));
        writable.extend(self.machinery.settings.iter().cloned());
        self.sandbox(writable, Network::Allowed)
    }

    async fn look(&self, iteration: Iteration, before: TreeHash) -> Result<Left, Error> {
        let loop_id = self.loop_id;
        self.on_ground(move |ground| {
            // Pinned files are looked at when the checks are about to run.
            let violations = ground.workspace.guard_check(&ground.guard, &ground.baseline)?;
            let tree = ground.workspace.snapshot(loop_id, &format!("iteration-{iteration}"))?.tree;
            let changed = ground.workspace.changes(&before, &tree)?;
            Ok(Left { tree, changed, violations })
        })
        .await
    }

    /// The day's money with this run in it. A run over midnight counts on the day that its money was reserved on.
    async fn day_after(&self, attempt: Attempt, metered: bool, charged: Money) -> Result<DayBudget, Error> {
        if !metered {
            return Ok(DayBudget { spent: Money::ZERO, cap: self.machinery.caps.daily_cost });
        }
        let open = self.machinery.store.open_reservations(self.loop_id).await?;
        let reserved_on = open.into_iter().find(|open| open.attempt == attempt).map(|open| open.day);
        let day = self.day(&reserved_on.unwrap_or_else(|| clock::now().utc_date())).await?;
        Ok(DayBudget { spent: day.spent + charged, ..day })
    }
}

/// The last whole line of a stream of pieces, bounded: what a live view shows.
#[derive(Default)]
pub(super) struct LastLine {
    open: String,
}

impl LastLine {
    const MOST: usize = 240;

    /// Takes a piece; gives the last line that is worth showing, if one ended in it.
    pub(super) fn push(&mut self, piece: &str) -> Option<String> {
        let Some((lines, rest)) = piece.rsplit_once('\n') else {
            let room = Self::MOST.saturating_sub(self.open.len());
            self.open.extend(piece.chars().take(room));
            return None;
        };
        let last = lines.rsplit('\n').find(|line| !line.trim().is_empty()).unwrap_or("");
        let whole = if lines.contains('\n') { last.to_owned() } else { format!("{}{last}", self.open) };
        self.open = rest.chars().take(Self::MOST).collect();
        let line: String = whole.trim().chars().take(Self::MOST).collect();
        (!line.is_empty()).then_some(line)
    }
}
