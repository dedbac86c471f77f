//! Carries effects out and answers each with an event. Decides nothing.

mod agent;
mod begin;
mod checks;
mod restore;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_engine::{DayBudget, Effect, Event, Facts};
use ralph_model::{Attempt, Iteration, LoopConfig, LoopId, Millis, Money, TreeHash};
use ralph_process::Stop;
use ralph_store::MoneyChange;
use ralph_workspace::{Baseline, Guard, Lock, Repository, Workspace};
use tokio::sync::watch;

use crate::error::Error;
use crate::home::LoopFolder;
use crate::machinery::Machinery;

/// What the effects of one loop work with.
pub(crate) struct Context {
    pub(crate) machinery: Machinery,
    pub(crate) loop_id: LoopId,
    pub(crate) folder: LoopFolder,
    pub(crate) config: LoopConfig,
    pub(crate) root: PathBuf,
    pub(crate) repository: Option<Repository>,
    pub(crate) ground: Arc<Mutex<Ground>>,
    /// The workspace's lock, which every process tree of the loop holds too.
    pub(crate) hold: Vec<Arc<OwnedFd>>,
}

/// What is read and put back in the workspace, one at a time.
pub(crate) struct Ground {
    pub(crate) workspace: Workspace,
    pub(crate) guard: Guard,
    pub(crate) baseline: Baseline,
}

/// An effect that is answered, with all that it needs to know of the loop.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    Baseline {
        attempt: Attempt,
    },
    Begin {
        iteration: Iteration,
        attempt: Attempt,
        pause: Millis,
        reserve: Money,
    },
    Agent {
        iteration: Iteration,
        attempt: Attempt,
        prompt: String,
        budget: Option<Money>,
        timeout: Millis,
        before: TreeHash,
    },
    RestoreProhibited {
        attempt: Attempt,
    },
    Checks {
        iteration: Iteration,
        attempt: Attempt,
        start: Start,
        evidence: Vec<ralph_model::ToolEvidence>,
    },
    RestoreTree {
        attempt: Attempt,
        tree: TreeHash,
    },
    Commit {
        attempt: Attempt,
        from: TreeHash,
        to: TreeHash,
        message: String,
    },
}

/// Where the loop began, for what is expected to have changed since.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) tree: TreeHash,
    pub(crate) head: Option<String>,
    pub(crate) now: TreeHash,
}

/// An answer, and what it does to the money.
pub(crate) struct Answer {
    pub(crate) event: Event,
    pub(crate) money: Option<MoneyChange>,
}

impl From<Event> for Answer {
    fn from(event: Event) -> Self {
        Self { event, money: None }
    }
}

impl Task {
    /// The task behind an effect; none for effects that nobody answers.
    pub(crate) fn of(effect: Effect, facts: &Facts) -> Option<Self> {
        Some(match effect {
            Effect::RunBaseline { attempt } => Self::Baseline { attempt },
            Effect::BeginIteration { iteration, attempt, pause, reserve } => {
                Self::Begin { iteration, attempt, pause, reserve }
            }
            Effect::RunAgent { iteration, attempt, prompt, budget, timeout } => {
                Self::Agent { iteration, attempt, prompt, budget, timeout, before: facts.tree.clone() }
            }
            Effect::RestoreProhibited { attempt } => Self::RestoreProhibited { attempt },
            Effect::RunChecks { iteration, attempt } => {
                let start =
                    Start { tree: facts.start.tree.clone(), head: facts.start.head.clone(), now: facts.tree.clone() };
                let runs = facts.iterations.iter().filter_map(|record| record.run.as_ref());
                Self::Checks {
                    iteration,
                    attempt,
                    start,
                    evidence: runs.flat_map(|run| run.evidence.clone()).collect(),
                }
            }
            Effect::RestoreTree { attempt, to } => Self::RestoreTree { attempt, tree: to.tree },
            Effect::CommitWork { attempt } => Self::Commit {
                attempt,
                from: facts.start.tree.clone(),
                to: facts.tree.clone(),
                message: commit_message(facts),
            },
            Effect::StopRunning { .. }
            | Effect::RaiseAlert(_)
            | Effect::AnnounceEscalation { .. }
            | Effect::Finish { .. } => return None,
        })
    }
}

impl Context {
    pub(crate) fn new(
        machinery: Machinery,
        loop_id: LoopId,
        config: LoopConfig,
        ground: Ground,
        repository: Option<Repository>,
        lock: &Lock,
    ) -> Self {
        Self {
            folder: machinery.home.loop_folder(loop_id),
            root: ground.workspace.root().to_owned(),
            ground: Arc::new(Mutex::new(ground)),
            hold: lock.descriptors(),
            machinery,
            loop_id,
            config,
            repository,
        }
    }

    /// Carries one task out. `stop` cuts it short; it is answered all the same.
    pub(crate) async fn perform(&self, task: Task, stop: watch::Receiver<Option<Stop>>) -> Result<Answer, Error> {
        match task {
            Task::Baseline { attempt } => self.run_baseline(attempt, stop).await,
            Task::Begin { iteration, attempt, pause, reserve } => {
                self.begin_iteration(iteration, attempt, pause, reserve, stop).await
            }
            Task::Agent { iteration, attempt, prompt, budget, timeout, before } => {
                let run = agent::Errand { iteration, attempt, prompt, budget, timeout, before };
                self.run_agent(run, stop).await
            }
            Task::RestoreProhibited { attempt } => self.restore_prohibited(attempt).await,
            Task::Checks { iteration, attempt, start, evidence } => {
                self.run_checks(iteration, attempt, start, evidence, stop).await
            }
            Task::RestoreTree { attempt, tree } => self.restore_tree(attempt, tree).await,
            Task::Commit { attempt, from, to, message } => self.commit_work(attempt, from, to, message).await,
        }
    }

    /// Works on the workspace on a thread where waiting for the disk holds nobody up.
    pub(crate) async fn on_ground<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Ground) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let ground = Arc::clone(&self.ground);
        let work = tokio::task::spawn_blocking(move || work(&mut lock(&ground)));
        work.await.map_err(|_| Error::Vanished("the work on the workspace"))?
    }

    /// Asks the user's repository, where there is one, on such a thread: git may have to be started for it.
    pub(crate) async fn on_repository<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Repository) -> T + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let Some(repository) = self.repository.clone() else { return Ok(None) };
        let asked = tokio::task::spawn_blocking(move || ask(&repository)).await;
        asked.map(Some).map_err(|_| Error::Vanished("the look at the repository"))
    }

    /// The environment of agent and checks.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = self.machinery.environment.clone();
        environment.push(("RALPH_LOOP_ID".into(), self.loop_id.to_string().into()));
        environment
    }

    /// The day's money as it is now.
    pub(crate) async fn day(&self, day: &str) -> Result<DayBudget, Error> {
        let totals = self.machinery.store.day_totals(day).await?;
        Ok(DayBudget { spent: totals.settled, cap: self.machinery.caps.daily_cost })
    }

    pub(crate) fn relative_log(&self, log: &std::path::Path) -> String {
        log.strip_prefix(self.folder.root()).unwrap_or(log).to_string_lossy().into_owned()
    }
}

/// A thread that panicked while it held the workspace left no half-made value behind: every method of it rewrites what
/// it caches.
fn lock(ground: &Mutex<Ground>) -> MutexGuard<'_, Ground> {
    ground.lock().unwrap_or_else(PoisonError::into_inner)
}

fn commit_message(facts: &Facts) -> String {
    let first_line =
        facts.config.objective.lines().find(|line| !line.trim().is_empty()).unwrap_or("Work by Ralph").trim();
    let mut subject: String = first_line.chars().take(72).collect();
    if subject.len() < first_line.len() {
        subject.push('…');
    }
    let checks = facts.config.verification_commands.join("\n  ");
    format!("{subject}\n\nVerified by Ralph after {} iterations:\n  {checks}\n", facts.iterations.len())
}
