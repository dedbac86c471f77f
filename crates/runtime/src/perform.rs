//! Carries effects out and answers each with an event. Decides nothing.

mod agent;
mod begin;
mod builds;
mod checks;
mod gateway;
mod network;
mod place;
mod restore;
mod session;
mod settings;
mod stamps;
mod tripwire;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_agents::AgentTask;
use ralph_engine::{DayBudget, Effect, Event, Facts};
use ralph_model::{
    Access, AgentSpec, Attempt, Iteration, LoopConfig, LoopId, Runner, Sandboxing, TestListing, TreeHash, Verify,
};
use ralph_process::{Network, Sandbox, Stop};
use ralph_store::{Artifact, Lease, Settlement};
use ralph_workspace::repository::CommitWatch;
use ralph_workspace::{Baseline, Checkout, Guard, Lock, Repository, StopFlag, Workspace};
use tokio::sync::watch;

use crate::artifacts::{About, ArtifactFiles};
use crate::error::Error;
use crate::home::LoopFolder;
use crate::pinned::Pinned;
use crate::services::Services;
use crate::settings_snapshot::Tree;
pub use builds::{builds_before, disk_size};
pub(crate) use checks::Before;
pub(crate) use gateway::Wire;
pub use place::remove_tree;
pub(crate) use session::{Pass as SessionPass, Turn};
use settings::{Runs, Steering};
pub(crate) use tripwire::Claimed;

/// Files that one warning names.
const MAX_NAMED: usize = 5;

/// What the effects of one loop work with.
pub(crate) struct Context {
    pub(crate) services: Services,
    pub(crate) loop_id: LoopId,
    /// What this process may write to the run with.
    pub(crate) lease: Lease,
    pub(crate) folder: LoopFolder,
    pub(crate) files: ArtifactFiles,
    pub(crate) config: LoopConfig,
    access: Access,
    pub(crate) root: PathBuf,
    pub(crate) repository: Option<Repository>,
    pub(crate) ground: Arc<Mutex<WorkspaceState>>,
    /// What the agent may not write.
    pub(crate) guard: Arc<Guard>,
    /// What every process of the loop may write besides what it works on, as far as it is there.
    writable: Vec<PathBuf>,
    /// What no process of the loop sees: the state, unless it lies where everybody may write, which is said at the start.
    hidden: Vec<PathBuf>,
    /// Test runners that the checks lead to.
    pub(crate) runners: Vec<Runner>,
    /// How many tests the runners listed before the first iteration.
    pub(crate) listed_tests: usize,
    /// The workspace's lock, which every process tree of the loop holds too.
    pub(crate) hold: Vec<Arc<OwnedFd>>,
    /// How far the records of a session were read.
    pub(crate) read_until: Mutex<ralph_agents::Offsets>,
    /// Settings of agents that cannot be put back, and files that are too large, as far as the user knows of them.
    told: Mutex<BTreeSet<String>>,
    steering: Mutex<Steering>,
    /// Builds for the next confirming runs, from the start of an agent until they are used.
    supply: Mutex<Option<builds::Supply>>,
}

/// What is read and put back in the workspace, one at a time.
pub(crate) struct WorkspaceState {
    pub(crate) workspace: Workspace,
    pub(crate) guard: Arc<Guard>,
    pub(crate) baseline: Baseline,
    /// What is committed while the loop runs.
    pub(crate) commits: CommitWatch,
    /// What verdicts depend on; none in a loop that began before that was known, or that has nothing to check.
    pub(crate) pinned: Option<Pinned>,
    /// Where isolated checks run.
    pub(crate) checkout: Option<Checkout>,
}

/// An effect that is answered, with all that it needs to know of the loop.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    Baseline {
        attempt: Attempt,
        tree: TreeHash,
    },
    Begin(begin::Beginning),
    Agent(agent::Pass),
    /// A turn of an agent in a session of the user's own, which is over.
    Turn(session::Pass),
    RestoreProhibited {
        attempt: Attempt,
    },
    Checks {
        iteration: Iteration,
        attempt: Attempt,
        start: Start,
        evidence: Vec<ralph_model::ToolEvidence>,
        before: Box<Before>,
    },
    Tripwire {
        iteration: Iteration,
        attempt: Attempt,
        claimed: Box<Claimed>,
    },
    RestorePinned {
        attempt: Attempt,
        now: TreeHash,
        verified: TreeHash,
        written: Vec<String>,
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

pub(crate) struct Answer {
    pub(crate) event: Event,
    pub(crate) money: Option<Settlement>,
    /// Files that were written for it, besides the outputs that the event names.
    pub(crate) artifacts: Vec<Artifact>,
}

impl From<Event> for Answer {
    fn from(event: Event) -> Self {
        Self { event, money: None, artifacts: Vec::new() }
    }
}

impl Task {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Baseline { .. } => "RunBaseline",
            Self::Begin(_) => "BeginIteration",
            Self::Agent(_) | Self::Turn(_) => "RunAgent",
            Self::RestoreProhibited { .. } => "RestoreProhibited",
            Self::Checks { .. } => "RunChecks",
            Self::Tripwire { .. } => "TripWire",
            Self::RestorePinned { .. } => "RestorePinned",
            Self::RestoreTree { .. } => "RestoreTree",
            Self::Commit { .. } => "CommitWork",
        }
    }

    /// The task behind an effect; none for effects without an answer.
    pub(crate) fn of(effect: Effect, facts: &Facts) -> Option<Self> {
        Some(match effect {
            Effect::RunBaseline { attempt } => Self::Baseline { attempt, tree: facts.tree.clone() },
            Effect::BeginIteration { iteration, attempt, pause, wait, reserve } => {
                Self::Begin(begin::Beginning { iteration, attempt, pause, wait, reserve })
            }
            Effect::RunAgent { iteration, attempt, agent, prompt, budget, tokens, timeout } => {
                let delegation = ralph_engine::delegation(&facts.config, &agent);
                let task = AgentTask { delegation, prompt, budget, timeout };
                Self::Agent(agent::Pass { iteration, attempt, agent, task, tokens, before: facts.tree.clone() })
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
                    before: Box::new(Before {
                        baseline: facts.baseline.clone(),
                        failed_on: facts
                            .iterations
                            .iter()
                            .filter_map(|record| record.verdict.as_ref())
                            .filter(|verdict| !verdict.passed())
                            .map(|verdict| verdict.tree.clone())
                            .collect(),
                    }),
                }
            }
            Effect::TripWire { iteration, attempt } => Self::Tripwire {
                iteration,
                attempt,
                claimed: Box::new(Claimed {
                    now: facts.tree.clone(),
                    verdict: facts.last_verdict()?.clone(),
                    baseline: facts.baseline.clone(),
                }),
            },
            Effect::RestorePinned { attempt } => Self::RestorePinned {
                attempt,
                now: facts.tree.clone(),
                verified: facts.last_verdict()?.tree.clone(),
                written: facts.baseline.as_ref().map(|baseline| baseline.written.clone()).unwrap_or_default(),
            },
            Effect::RestoreTree { attempt, to } => Self::RestoreTree { attempt, tree: to.tree },
            Effect::CommitWork { attempt } => Self::Commit {
                attempt,
                from: facts.start.tree.clone(),
                // What was verified, whatever the checks or anybody else left beside it.
                to: verified_tree(facts),
                message: commit_message(facts),
            },
            Effect::StopRunning { .. } | Effect::RaiseAlert(_) | Effect::Finish { .. } => return None,
        })
    }
}

type Work<T> = Box<dyn FnOnce(&mut WorkspaceState) -> Result<T, Error> + Send>;

impl Context {
    pub(crate) fn new(
        services: Services,
        lease: Lease,
        config: LoopConfig,
        ground: WorkspaceState,
        repository: Option<Repository>,
        lock: &Lock,
    ) -> Self {
        let (writable, hidden) = kept_inside(&services, &config);
        let loop_id = lease.run;
        let folder = services.home.loop_folder(loop_id);
        Self {
            lease,
            writable,
            hidden,
            runners: ground.pinned.as_ref().map(|pinned| pinned.runners().to_vec()).unwrap_or_default(),
            listed_tests: ground
                .pinned
                .as_ref()
                .map_or(0, |pinned| pinned.listings().iter().map(TestListing::count).sum()),
            files: ArtifactFiles::new(&folder),
            folder,
            root: ground.workspace.root().to_owned(),
            guard: Arc::clone(&ground.guard),
            ground: Arc::new(Mutex::new(ground)),
            hold: lock.descriptors(),
            read_until: Mutex::default(),
            told: Mutex::default(),
            steering: Mutex::default(),
            supply: Mutex::default(),
            services,
            loop_id,
            access: config.access.clone(),
            config,
            repository,
        }
    }

    /// Carries one task out. `stop` cuts it short; it is answered all the same.
    pub(crate) async fn perform(&self, task: Task, stop: watch::Receiver<Option<Stop>>) -> Result<Answer, Error> {
        if let Task::Baseline { attempt, .. } | Task::Checks { attempt, .. } | Task::Tripwire { attempt, .. } = &task {
            let attempt = *attempt;
            let guard = self.guard_repository(Runs::Checks, attempt).await?;
            let answer = Box::pin(self.carry_out(task, stop)).await;
            let tree = if answer.is_ok() { Tree::Gone } else { Tree::Unknown };
            self.restore_repository(guard, tree, attempt).await;
            return answer;
        }
        Box::pin(self.carry_out(task, stop)).await
    }

    async fn carry_out(&self, task: Task, stop: watch::Receiver<Option<Stop>>) -> Result<Answer, Error> {
        match task {
            Task::Baseline { attempt, tree } => self.run_baseline(attempt, tree, stop).await,
            Task::Begin(beginning) => self.begin_iteration(beginning, stop).await,
            Task::Agent(pass) => self.run_agent(pass, stop).await,
            Task::Turn(pass) => self.finish_turn(pass).await,
            Task::RestoreProhibited { attempt } => self.restore_prohibited(attempt).await,
            Task::Checks { iteration, attempt, start, evidence, before } => {
                self.run_checks(iteration, attempt, start, evidence, *before, stop).await
            }
            Task::Tripwire { iteration, attempt, claimed } => self.trip_wire(iteration, attempt, *claimed, stop).await,
            Task::RestorePinned { attempt, now, verified, written } => {
                self.restore_pinned(attempt, now, verified, written).await
            }
            Task::RestoreTree { attempt, tree } => self.restore_tree(attempt, tree).await,
            Task::Commit { attempt, from, to, message } => self.commit_work(attempt, from, to, message).await,
        }
    }

    /// Links of the start that lead to more than can be watched.
    pub(crate) fn unwatched(&self) -> Vec<String> {
        lock(&self.ground).pinned.as_ref().map(Pinned::unwatched).unwrap_or_default()
    }

    /// Removes what only checks needed: their folder, their caches. A resumed loop makes them anew.
    pub(crate) async fn clear_scratch(&self) {
        if let Some(supply) = self.take_supply() {
            self.close(supply).await;
        }
        let folder = self.folder.clone();
        let cleared = self
            .with_workspace(move |ground| {
                ground.checkout = None;
                for path in [folder.checkout(), folder.checkout_state(), folder.checks(), folder.set_up()] {
                    place::remove_tree(&path)?;
                }
                Ok(())
            })
            .await;
        if let Err(error) = cleared {
            self.services.warn(format!("temporary files of the checks could not be removed: {}", error.chain()));
        }
    }

    /// Works on the workspace on a thread where waiting for the disk blocks no other task.
    pub(crate) fn with_workspace<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WorkspaceState) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> {
        // In a box: a task is compiled for each kind of result, not for each piece of work.
        self.with_workspace_boxed(Box::new(work))
    }

    async fn with_workspace_boxed<T: Send + 'static>(&self, work: Work<T>) -> Result<T, Error> {
        let ground = Arc::clone(&self.ground);
        let span = tracing::Span::current();
        let work = tokio::task::spawn_blocking(move || {
            let _in_loop = span.entered();
            let mut ground = lock(&ground);
            let done = work(&mut ground);
            (done, ground.workspace.large_files(), ground.workspace.closed_files())
        });
        let (done, large, closed) = work.await.map_err(|_| Error::Vanished("the work on the workspace"))?;
        let max = match self.config.max_file_size >> 20 {
            1024.. => "1 GiB".to_owned(),
            mebibytes => format!("{mebibytes} MiB"),
        };
        self.warn_of_left_out(large, &format!("larger than {max} (--max-file-size)"));
        self.warn_of_left_out(closed, "not readable");
        done
    }

    /// The request to stop that long steps look for.
    async fn stop_flag(&self) -> Result<StopFlag, Error> {
        self.with_workspace(|ground| Ok(ground.workspace.stop_flag())).await
    }

    /// Says once of every file that snapshots leave out what that means.
    fn warn_of_left_out(&self, mut files: Vec<String>, why: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|file| told.insert(file.clone()));
        let (is, it) = match files.len() {
            0 => return,
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        let more = files.len().saturating_sub(MAX_NAMED);
        files.truncate(MAX_NAMED);
        files.extend((more > 0).then(|| format!("{more} more")));
        self.services.warn(format!(
            "{} {is} {why}: snapshots leave {it} out, so the content is neither kept nor restored",
            files.join(", ")
        ));
    }

    /// Asks the user's repository, where there is one, on such a thread: git may have to be started for it.
    pub(crate) async fn on_repository<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Repository) -> T + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let Some(repository) = self.repository.clone() else { return Ok(None) };
        let asked = tokio::task::spawn_blocking(move || ask(&repository)).await;
        asked.map(Some).map_err(|_| Error::Vanished("reading the repository"))
    }

    fn wire(&self) -> Wire<'_> {
        Wire { services: &self.services, folder: &self.folder, access: &self.access }
    }

    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = self.services.environment.clone();
        environment.push(("RALPH_LOOP_ID".into(), self.loop_id.to_string().into()));
        environment
    }

    /// How a process is kept inside, where it is: it may write what is given and what every process of a loop may.
    pub(crate) fn sandbox(
        &self,
        who: Option<&AgentSpec>,
        environment: &[(OsString, OsString)],
        mut writable: Vec<PathBuf>,
        network: Network,
    ) -> Option<Sandbox> {
        if self.config.sandbox == Sandboxing::Off {
            return None;
        }
        writable.extend(self.writable.iter().cloned());
        let mut hidden = self.hidden.clone();
        hidden.extend(crate::hidden::hidden(&self.services, who, environment, &self.access, &writable));
        Some(Sandbox { writable, hidden, network, level: self.services.level.clone() })
    }

    /// The day's money as it is now.
    pub(crate) async fn day(&self, day: &str) -> Result<DayBudget, Error> {
        let totals = self.services.store.day_totals(day).await?;
        Ok(DayBudget { spent: totals.settled, cap: self.services.caps.daily_cost })
    }

    pub(crate) fn about(&self, iteration: Option<Iteration>, attempt: Attempt) -> About {
        About { iteration, attempt, at: (self.services.now)() }
    }

    pub(crate) fn relative_log(&self, log: &std::path::Path) -> String {
        log.strip_prefix(self.folder.root()).unwrap_or(log).to_string_lossy().into_owned()
    }
}

/// A thread that panicked while it held the workspace left no half-made value behind: every method of it rewrites what
/// it caches.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What processes may write and what they do not see. Looked up once: a path that does not exist cannot be allowed, and most
/// of the usual ones do not.
fn kept_inside(services: &Services, config: &LoopConfig) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let all = services.writable.iter().cloned().chain(config.writable.iter().map(PathBuf::from));
    let writable: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
    let hidden = vec![services.home.root().to_owned()];
    let (network, level) = (Network::Allowed, services.level.clone());
    let sandbox = Sandbox { writable, hidden, network, level };
    let can_hide = sandbox.check().is_ok();
    (sandbox.writable, if can_hide { sandbox.hidden } else { Vec::new() })
}

/// How checks are kept inside that run in the workspace.
pub(crate) fn sandbox_of_checks(services: &Services, config: &LoopConfig) -> Option<Sandbox> {
    if config.sandbox == Sandboxing::Off {
        return None;
    }
    let (mut writable, mut hidden) = kept_inside(services, config);
    writable.push(PathBuf::from(&config.workspace));
    hidden.extend(crate::hidden::hidden(services, None, &services.environment, &config.access, &writable));
    let network = if config.allow_network { Network::Allowed } else { Network::Loopback };
    Some(Sandbox { writable, hidden, network, level: services.level.clone() })
}

/// The tree that was verified. Of isolated checks with pinned files in place it is known by its hash alone, and is what the
/// workspace holds since those files were put back.
fn verified_tree(facts: &Facts) -> TreeHash {
    let is_elsewhere = facts.config.verify == Verify::Isolated && facts.pinned_patch.is_some();
    match facts.last_verdict().filter(|_| !is_elsewhere) {
        Some(verdict) => verdict.tree.clone(),
        None => facts.tree.clone(),
    }
}

fn commit_message(facts: &Facts) -> String {
    let first_line =
        facts.config.objective.lines().find(|line| !line.trim().is_empty()).unwrap_or("Work by Ralph").trim();
    let mut subject: String = first_line.chars().take(72).collect();
    if subject.len() < first_line.len() {
        subject.push('…');
    }
    let checks = facts.config.verification_commands.join("\n  ");
    format!("{subject}\n\nVerified by Ralph after {} iterations:\n  {checks}\n", facts.counted())
}
