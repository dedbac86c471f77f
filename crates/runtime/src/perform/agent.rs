//! Runs the agent and looks at what it left behind.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_agents::{AgentServices, AgentTask, Observed, ProcessBase, Prohibited, StopSignal};
use ralph_engine::{DayBudget, Event};
use ralph_model::{
    AgentEvent, AgentRun, AgentSpec, Attempt, Change, Iteration, Money, OutputRef, TreeHash, Violation, shell_word,
};
use ralph_process::{Network, Sandbox};
use ralph_store::{Artifact, ArtifactKind};
use ralph_view::Progress;
use ralph_workspace::Repository;
use ralph_workspace::repository::Head;

use super::gateway::Line;
use super::restore::with_committed;
use super::settings::Runs;
use super::{Answer, Context, WorkspaceState};
use crate::attempts::CostSoFar;
use crate::error::Error;
use crate::home::Home;
use crate::live::settlement;
use crate::pinned::Pinned;
use crate::settings_snapshot::{Shared, Tree};

#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(super) iteration: Iteration,
    pub(super) attempt: Attempt,
    pub(super) agent: Box<AgentSpec>,
    pub(super) task: AgentTask,
    /// The tokens that it may use, where they are limited.
    pub(super) tokens: Option<u64>,
    pub(super) before: TreeHash,
}

/// A run that has ended, as far as it is known without its stream.
pub(super) struct Seen<'a> {
    pub(super) iteration: Iteration,
    pub(super) attempt: Attempt,
    pub(super) agent: &'a AgentSpec,
    pub(super) log: &'a Path,
    pub(super) before: TreeHash,
    /// The commit that was checked out before it; none where its commits are not counted.
    pub(super) head: Option<Head>,
    pub(super) budget: Option<Money>,
    /// What it was told, as a file.
    pub(super) prompt: Option<Artifact>,
    /// A look at the workspace that ended this recently is as good as a new one.
    pub(super) recent: Duration,
}

struct Left {
    tree: TreeHash,
    changed: Vec<Change>,
    violations: Vec<Violation>,
}

impl Context {
    pub(super) async fn run_agent(&self, pass: Pass, stop: StopSignal) -> Result<Answer, Error> {
        let Pass { iteration, attempt, agent, task, tokens, before } = pass;
        let safe = self.services.redactor.text(&task.prompt);
        let about = self.about(Some(iteration), attempt);
        let prompt = self.files.write(ArtifactKind::Prompt, &self.folder.prompt(iteration), about, safe.as_bytes())?;
        let mut base = self.process_base(iteration, attempt, &agent)?;
        let log = base.log.clone();
        let settings = self.use_settings(&agent, attempt).await?;
        // The commits are only a figure in the history, here and below; expectations look for themselves.
        let head = self.on_repository(|repository| repository.head().ok());
        let (repository, head, stocked) =
            tokio::join!(self.guard_repository(Runs::Agent, attempt), head, self.stock_up());
        if let Err(error) = stocked {
            self.services.warn(format!("builds for confirming runs could not be copied: {}", error.chain()));
        }
        let (repository, head) = (repository?, head?.flatten());
        base.hold.extend(settings.iter().chain(&repository.shared).map(Shared::hold));
        let line = self.wire().open(&agent, &mut base, task.budget, iteration, attempt).await?;
        let mut line = line.with_tokens(tokens);
        let mut observed = self.watch_agent(&agent, base, &task, attempt, stop, &mut line).await;
        self.wire().close(line, observed.as_mut().ok(), &agent).await;
        let tree = if observed.is_ok() { Tree::Gone } else { Tree::Unknown };
        tokio::join!(self.clear_attempt(attempt), self.restore_repository(repository, tree, attempt));
        self.put_settings_back(settings, tree, attempt).await;
        let (budget, prompt) = (task.budget, Some(prompt));
        self.seen(
            Seen { iteration, attempt, agent: &agent, log: &log, before, head, budget, prompt, recent: Duration::ZERO },
            observed?,
        )
        .await
    }

    /// Looks at what an agent left behind that has ended, and puts everything together.
    pub(super) async fn seen(&self, seen: Seen<'_>, observed: Observed) -> Result<Answer, Error> {
        let Seen { iteration, attempt, agent, log, before, head, budget, prompt, recent } = seen;
        if budget.is_some() {
            self.warn_of_unpriced(&observed.unpriced);
        }
        let since = move |repository: &Repository| {
            head.and_then(|head| repository.commits_since(head.commit.as_ref()).ok()).unwrap_or(0)
        };
        let (left, commits) = tokio::join!(self.look(iteration, before.clone(), recent), self.on_repository(since));
        let left = match left {
            // What the run cost counts all the same. A resume records the workspace as it is then.
            Err(Error::Workspace(ralph_workspace::Error::Stopped)) => {
                Left { tree: before, changed: Vec::new(), violations: Vec::new() }
            }
            left => left?,
        };
        let commits = commits?.unwrap_or(0);
        let reserved = budget.unwrap_or(Money::ZERO);
        let charged = observed.cost.charge(reserved);
        let day = self.day_after(attempt, budget.is_some(), charged).await?;
        let output = OutputRef {
            file: self.relative_log(log),
            bytes: observed.output.bytes,
            sha256: observed.output.sha256,
            cut: observed.output.cut,
        };
        let run = AgentRun {
            agent: agent.title(),
            ended: observed.ended,
            evidence: observed.evidence,
            opaque: observed.opaque,
            final_message: observed.final_message,
            escalation: observed.escalation,
            faults: observed.faults,
            trouble: observed.trouble,
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
        let event = Event::AgentFinished { attempt, run: Box::new(run), day, claim: None };
        Ok(Answer { event, money, artifacts: prompt.into_iter().collect() })
    }

    fn process_base(&self, iteration: Iteration, attempt: Attempt, agent: &AgentSpec) -> Result<ProcessBase, Error> {
        let scratch = self.folder.attempt(attempt);
        Home::make_private(&scratch)?;
        let mut environment = self.environment();
        environment.push(("RALPH_ITERATION".into(), iteration.to_string().into()));
        environment.extend((self.services.agent_variables)(agent));
        Ok(ProcessBase {
            directory: self.root.clone(),
            sandbox: self.agent_sandbox(agent, &environment, &scratch),
            environment,
            log: self.folder.agent_log(iteration, attempt),
            log_limit: self.config.log_limit,
            idle: self.config.idle_timeout,
            hold: self.hold.clone(),
            redactor: Arc::clone(&self.services.redactor),
            prices: Arc::clone(&self.services.prices),
            prohibited: self.prohibited(&scratch)?,
            mcp_server: self.services.mcp_server.clone(),
            counted: Arc::default(),
            scratch,
            now: self.services.now,
        })
    }

    /// Runs the agent from its start until nothing of it is left, and passes on what it does. What it costs so far is recorded
    /// for a resume, unless the agent writes a report of its own.
    async fn watch_agent(
        &self,
        agent: &AgentSpec,
        base: ProcessBase,
        task: &AgentTask,
        attempt: Attempt,
        stop: StopSignal,
        line: &mut Line,
    ) -> Result<Observed, Error> {
        let usual = base.prices.usual_request(agent.model.as_deref());
        let services = AgentServices { supervisor: Arc::clone(&self.services.supervisor), base };
        let agent = (self.services.build_agent)(agent, services)?;
        let (store, lease) = (&self.services.store, self.lease);
        store.note_began(lease, attempt, Some((self.services.now)())).await?;
        let so_far = CostSoFar::new(usual);
        let recording = so_far.record(store.clone(), lease, attempt);
        let running = async {
            let is_watched = !agent.capabilities().writes_report;
            let mut lines = LastLine::default();
            let so_far = Mutex::new(so_far);
            let cost = || so_far.lock().unwrap_or_else(PoisonError::into_inner);
            let mut events = |event: AgentEvent| {
                match &event {
                    AgentEvent::Usage { cost: so_far, .. } | AgentEvent::Estimate { cost: so_far } if is_watched => {
                        cost().spent(*so_far);
                    }
                    AgentEvent::Uncounted if is_watched => cost().incomplete(),
                    AgentEvent::Output { text } => {
                        if let Some(line) = lines.push(text) {
                            self.services.tell(Progress::Activity { line });
                        }
                        return;
                    }
                    _ => {}
                }
                self.services.tell(Progress::Agent { event });
            };
            let spent = |amount: Money| cost().spent(amount);
            let observed = self.wire().drive(agent.as_ref(), task, stop, line, &mut events, &spent).await;
            if let (Ok(observed), true, false) = (&observed, is_watched, line.is_counted()) {
                cost().settled(observed.cost);
            }
            drop(so_far);
            observed
        };
        let (observed, ()) = tokio::join!(running, recording);
        if observed.as_ref().is_err_and(ralph_agents::Error::is_before_start) {
            store.note_began(lease, attempt, None).await?;
        }
        Ok(observed?)
    }

    /// What the agent may not write, for one that asks first.
    fn prohibited(&self, scratch: &Path) -> Result<Prohibited, Error> {
        let guard = Arc::clone(&self.guard);
        let hook = match &self.services.hook {
            Some(hook) if !self.config.prohibited_paths.is_empty() => {
                let list = scratch.join("prohibited.json");
                let content =
                    serde_json::json!({ "root": self.config.workspace, "globs": self.config.prohibited_paths });
                Home::write_private(&list, content.to_string().as_bytes())?;
                let words = hook.iter().map(|word| word.to_string_lossy()).chain([list.to_string_lossy()]);
                Some(words.map(|word| shell_word(&word)).collect::<Vec<_>>().join(" "))
            }
            Some(_) | None => None,
        };
        let root = self.root.clone();
        let globs = self.config.prohibited_paths.clone();
        Ok(Prohibited { matches: Arc::new(move |path| guard.forbids(&root, path)), globs, hook })
    }

    /// Removes what the program kept for itself in the run's folder. It has nothing to do with what the run gave.
    async fn clear_attempt(&self, attempt: Attempt) {
        let folder = self.folder.clone();
        let cleared = tokio::task::spawn_blocking(move || folder.clear_attempt(attempt)).await;
        if let Ok(Err(error)) = cleared {
            self.services.warn(format!("files of the agent run could not be removed: {}", error.chain()));
        }
    }

    fn warn_of_unpriced(&self, models: &[String]) {
        for model in models {
            self.services.warn(format!(
                "there is no price for {model}: the whole reservation is charged; add [prices.\"{model}\"] with `input` and \
                 `output` in dollars per million tokens to your configuration, or declare the agent with --unmetered"
            ));
        }
    }

    /// How the agent is kept inside: it writes the workspace, its repository, and its own scratch folder.
    fn agent_sandbox(
        &self,
        agent: &AgentSpec,
        environment: &[(OsString, OsString)],
        scratch: &Path,
    ) -> Option<Sandbox> {
        let mut writable = vec![self.root.clone(), scratch.to_owned()];
        writable.extend(self.repository.iter().flat_map(Repository::folders));
        writable.extend((self.services.settings)(agent));
        self.sandbox(Some(agent), environment, writable, Network::Allowed)
    }

    async fn look(&self, iteration: Iteration, before: TreeHash, recent: Duration) -> Result<Left, Error> {
        let (loop_id, services, repository) = (self.loop_id, self.services.clone(), self.repository.clone());
        self.with_workspace(move |ground| {
            let committed = ground.committed(&services, repository.as_ref())?;
            // The checks that follow ask what it found of pinned files.
            let label = format!("iteration-{iteration}");
            let WorkspaceState { workspace, guard, baseline, pinned, .. } = ground;
            let pinned = pinned.as_ref().map(Pinned::watched);
            let (snapshot, violations) =
                workspace.snapshot_guarded((loop_id, &label), recent, guard, baseline, pinned)?;
            let (tree, violations) = (snapshot.tree, with_committed(violations, committed));
            let changed = ground.workspace.changes(&before, &tree)?;
            Ok(Left { tree, changed, violations })
        })
        .await
    }

    /// The day's money with this run in it. A run over midnight counts on the day that its money was reserved on.
    async fn day_after(&self, attempt: Attempt, metered: bool, charged: Money) -> Result<DayBudget, Error> {
        if !metered {
            return Ok(DayBudget { spent: Money::ZERO, cap: self.services.caps.daily_cost });
        }
        let open = self.services.store.open_reservations(self.loop_id).await?;
        let reserved_on = open.into_iter().find(|open| open.attempt == attempt).map(|open| open.day);
        let day = self.day(&reserved_on.unwrap_or_else(|| (self.services.now)().utc_date())).await?;
        Ok(DayBudget { spent: day.spent + charged, ..day })
    }
}

/// Characters of a line that are shown.
const MAX_SHOWN: usize = 240;

/// The last whole line of a stream of pieces, bounded: what a live view shows.
#[derive(Default)]
pub(super) struct LastLine {
    open: String,
}

impl LastLine {
    /// Takes a piece; gives the last line that is worth showing, if one ended in it.
    pub(super) fn push(&mut self, piece: &str) -> Option<String> {
        let Some((lines, rest)) = piece.rsplit_once('\n') else {
            let room = MAX_SHOWN.saturating_sub(self.open.len());
            self.open.extend(piece.chars().take(room));
            return None;
        };
        let last = lines.rsplit('\n').find(|line| !line.trim().is_empty()).unwrap_or("");
        let whole = if lines.contains('\n') { last.to_owned() } else { format!("{}{last}", self.open) };
        self.open = rest.chars().take(MAX_SHOWN).collect();
        let line: String = whole.trim().chars().take(MAX_SHOWN).collect();
        (!line.is_empty()).then_some(line)
    }
}
