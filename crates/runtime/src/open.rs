//! Begins a loop, or goes on with one whose process is gone.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_agents::redact_report;
use ralph_engine::text::undo_commits;
use ralph_engine::{BEHAVIOUR, Effect, Event, Limits, Loop, Phase, StartPoint};
use ralph_model::{
    AbortReason, ConfigError, Cost, Expectation, Isolation, LoopConfig, LoopId, Money, Outcome, RunKind, Sandboxing,
    TreeHash, ValidLoopConfig, Verify,
};
use ralph_process::{Files, Network, Sandbox};
use ralph_store::{Head, NewRun, Recorded, Seq, Settlement};
use ralph_view::RunResult;
use ralph_workspace::repository::{self, CommitId, CommitWatch, Need};
use ralph_workspace::{Baseline, Checkout, Guard, Lock, Repository, StopFlag, Workspace};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::attempts::Attempts;
use crate::drive::Driver;
use crate::environments::as_confined;
use crate::error::Error;
use crate::home::{Home, LoopFolder};
use crate::journaled::{End, head_of};
use crate::known::KnownLoop;
use crate::live::Live;
use crate::moved::Moved;
use crate::perform::{Answer, Context, WorkspaceState};
use crate::pinned::Pinned;
use crate::project;
use crate::services::Services;
use crate::session::SessionRecord;
use crate::site::{Site, SiteOptions, TakenSite};
use crate::stops::Stops;
use crate::worktree;

/// A loop that holds its workspace and waits to be run.
pub struct Opened {
    pub(crate) driver: Driver,
    pub(crate) effects: Vec<Effect>,
    // Released when the loop is over and every process of it is gone.
    pub(crate) _lock: Lock,
}

impl Opened {
    pub const fn loop_id(&self) -> LoopId {
        self.driver.live.lease.run
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When the journal can no longer be written; the loop can be resumed.
    pub async fn run(self) -> Result<RunResult, Error> {
        let span = tracing::info_span!("loop", id = %self.loop_id().short());
        self.driver.run(self.effects).instrument(span).await
    }
}

#[derive(Debug, Clone, Default)]
pub struct Resume {
    pub limits: Limits,
    /// Where its files are now, where that is not where it was recorded.
    pub moved: Option<Moved>,
}

/// What is left to do of a loop.
enum ResumeMode {
    Continue,
    Finish(Outcome),
}

/// Takes the workspace, records its start and the loop. Nothing runs yet.
///
/// # Errors
/// When another loop works there, or the state cannot be written.
pub async fn begin(services: Services, config: ValidLoopConfig, stops: Stops) -> Result<Opened, Error> {
    begin_as(LoopId::from_uuid(Uuid::now_v7()), services, config.into_inner(), stops).await
}

/// As [`begin`], for a loop whose id is recorded elsewhere already, with a configuration that was made from a valid one.
pub(crate) async fn begin_as(
    loop_id: LoopId,
    services: Services,
    mut config: LoopConfig,
    stops: Stops,
) -> Result<Opened, Error> {
    let mut sandbox = sandbox_in_words(&services, config.sandbox, config.writable.iter().map(PathBuf::from))?;
    let own = [&config.workspace].into_iter().chain(&config.writable).map(PathBuf::from);
    sandbox.push_str(&crate::hidden::ensure_possible(&services, &config.access, config.sandbox, own)?);
    if config.agent.is_in_session() {
        sandbox.insert_str(0, "the checks only: ");
    }
    let guard = Arc::new(Guard::new(&config.prohibited_paths)?);
    let services = services.of_run(loop_id);
    Home::make_private(services.home.root())?;
    let origin = PathBuf::from(&config.workspace);
    let scratch = services.home.workspace(&origin);
    if config.commit {
        Repository::require(&origin, &services.git, &scratch, Need::Commit)?;
    }
    let mut made = None;
    if config.isolation == Isolation::Worktree {
        let repository = Repository::require(&origin, &services.git, &scratch, Need::Worktree)?;
        let path = worktree::make(&services, &repository, loop_id, &origin, stops.flag()).await?;
        made = Some(repository);
        config.origin = Some(std::mem::replace(&mut config.workspace, path.to_string_lossy().into_owned()));
    }
    let opened = record_start(loop_id, services.clone(), config, stops, (sandbox, guard)).await;
    if let (Err(_), Some(repository)) = (&opened, made) {
        // No loop came of it, so nothing else would ever clean up there.
        worktree::discard(&services, &repository, loop_id).await;
    }
    opened
}

/// Takes the workspace, records how it is now, and with that the start of the loop.
async fn record_start(
    loop_id: LoopId,
    services: Services,
    config: LoopConfig,
    stops: Stops,
    (sandbox, guard): (String, Arc<Guard>),
) -> Result<Opened, Error> {
    let root = PathBuf::from(&config.workspace);
    let site = Site::take(&services, loop_id, &root, stops.flag()).await?;
    let Site { lock, mut workspace, repository } = site;
    workspace.set_max_file(config.max_file_size);
    let head = repository.as_ref().map(Repository::head).transpose()?;
    let commits = CommitWatch::since(head.clone().unwrap_or_default());
    let folder = services.home.loop_folder(loop_id);
    folder.make()?;
    if config.agent.is_in_session() {
        // Before the loop exists: without its record a loop could not be continued.
        SessionRecord::new(loop_id, &config, (services.now)()).save(&services.home)?;
    }
    let listings = crate::ask::ask_runners(&services, &config, &folder.logs(), &stops.flag()).await;
    let (folders, environment) = (folder.clone(), services.environment.clone());
    let asked = as_confined(&config, &services.level);
    let told = listings.clone();
    let looked = blocking(move || {
        let tree = workspace.snapshot(loop_id, "start")?.tree;
        workspace.set_start(&tree)?;
        let baseline = workspace.guard_baseline(&guard, &folders.guard())?;
        let pinned = if has_commands(&asked) {
            Some(Pinned::take(&mut workspace, &tree, &asked, &environment, &told, &folders.pins())?)
        } else {
            None
        };
        let checkout = checkout(&asked, &folders)?;
        Ok((WorkspaceState { workspace, guard, baseline, commits, pinned, checkout }, tree))
    });
    let (ground, tree) = looked.await.inspect_err(|_| {
        // No loop came of it, so nothing else would ever clean up there.
        if let Err(error) = fs::remove_dir_all(folder.root()) {
            tracing::warn!(%error, folder = ?folder.root(), "the folder of a loop that did not begin stays");
        }
        SessionRecord::remove(&services.home, &root, loop_id);
    })?;
    let pins = ground.pinned.as_ref().map(|pinned| pinned.list().to_vec()).unwrap_or_default();
    let (runners, computed) = ground.pinned.as_ref().map(Pinned::of_checks).unwrap_or_default();
    let runners = Some(runners);
    let start = StartPoint {
        tree,
        pins,
        runners,
        computed,
        listings,
        sandbox,
        head: head.as_ref().and_then(|head| head.commit.as_ref()).map(ToString::to_string),
        branch: head.and_then(|head| head.branch),
        ralph: services.version.clone(),
        behaviour: BEHAVIOUR,
    };
    let new = NewRun {
        id: loop_id,
        kind: RunKind::Loop,
        parent: config.race.as_ref().and_then(|race| race.id.parse().ok()),
        workspace: config.workspace.clone(),
        origin: config.origin.clone(),
        objective: config.objective.clone(),
        agent: config.agent.name.clone(),
        skill: config.skill.as_ref().map(|skill| skill.name.clone()),
        holder: Some(services.lease_holder()),
        at: (services.now)(),
    };
    let first = Event::LoopStarted { config: Box::new(config.clone()), start };
    let (live, effects) = Live::begin(&services, new, first).await?;
    let context = Context::new(services, live.lease, config, ground, repository, &lock);
    context.recover_settings().await;
    warn_of_unwatched(&context);
    Ok(Opened { driver: Driver::new(context, live, stops), effects, _lock: lock })
}

/// Links to more than can be watched leave what is behind them unprotected, which is for the user to know.
fn warn_of_unwatched(context: &Context) {
    for path in context.unwatched() {
        context
            .services
            .warn(format!("{path} leads to more files than can be watched: what is behind it is not protected"));
    }
}

/// Whether anything is run to judge the work.
pub(crate) fn has_commands(config: &LoopConfig) -> bool {
    !config.verification_commands.is_empty()
        || config.expects.iter().any(|expectation| matches!(expectation, Expectation::Command(_)))
}

/// How agent and checks will be kept inside, or why the loop does not start.
pub(crate) fn sandbox_in_words(
    services: &Services,
    wanted: Sandboxing,
    more: impl Iterator<Item = PathBuf>,
) -> Result<String, Error> {
    let level = &services.level;
    let refuse = |problem: String, allowed: &str| {
        Err(ConfigError::new("sandbox", format!("`require`: {problem}"), allowed).into())
    };
    let state = services.home.root().to_owned();
    let mut writable = services.writable.clone();
    writable.extend(more);
    let sandbox = Sandbox { writable, hidden: vec![state], network: Network::Loopback, level: level.clone() };
    let exposed = sandbox.check().err();
    match (wanted, &level.files, exposed) {
        (Sandboxing::Off, _, _) => Ok("off".to_owned()),
        (Sandboxing::Require, Files::Open { why }, _) => refuse(
            format!("this machine has none: {why}"),
            "a kernel with Landlock (5.13 or later), or bubblewrap (Debian: apt-get install bubblewrap); @sandbox on goes \
             without where there is none",
        ),
        (Sandboxing::Require, _, Some(problem)) => {
            refuse(problem.to_string(), "Ralph's state outside of every folder that agents write: set RALPH_HOME")
        }
        (Sandboxing::On | Sandboxing::Require, _, None) => Ok(level.to_string()),
        (Sandboxing::On, _, Some(problem)) => Ok(format!("{level}; {problem}")),
    }
}

/// The folder of isolated checks, where they are asked for.
fn checkout(config: &LoopConfig, folder: &LoopFolder) -> Result<Option<Checkout>, Error> {
    if config.verify != Verify::Isolated {
        return Ok(None);
    }
    Ok(Some(Checkout::open(&folder.checkout(), &folder.checkout_state())?))
}

/// Goes on with a loop whose process is gone, or that hit a limit.
///
/// # Errors
/// When the loop is complete, still runs, or would hit its limit again at once.
pub async fn resume(services: Services, loop_id: LoopId, wanted: Resume, stops: Stops) -> Result<Opened, Error> {
    let Resume { limits, moved } = wanted;
    let found = Found::find(services, loop_id, moved, stops.flag()).await?;
    if found.run.facts().config.agent.is_in_session() {
        refuse_session(&found, &limits)?;
    }
    let is_certified = found.is_certified().await?;
    let untold = found.run.outcome().filter(|_| !is_certified).cloned();
    let way = match (ensure_resumable(&found.services, loop_id, &found.run, &limits), untold) {
        (Ok(()), _) => ResumeMode::Continue,
        // The former process decided and died before it could say so: nothing is left to do but that.
        (Err(Error::AlreadyComplete(_) | Error::LimitStands { .. }), Some(outcome)) => ResumeMode::Finish(outcome),
        (Err(error), _) => return Err(error),
    };
    let Reopened { mut context, mut live, as_found, lock } = found.reopen(Look::Now).await?;
    let effects = match way {
        ResumeMode::Continue => go_on(&context, &mut live, as_found, limits).await?,
        ResumeMode::Finish(outcome) => vec![Effect::Finish { outcome }],
    };
    context.recover_settings().await;
    // With the new limits in it.
    let workspace = std::mem::take(&mut context.config.workspace);
    context.config = LoopConfig { workspace, ..live.run.facts().config.clone() };
    Ok(Opened { driver: Driver::new(context, live, stops), effects, _lock: lock })
}

/// Only hooks continue a loop in a session, and only another agent continues one that is over.
fn refuse_session(found: &Found, limits: &Limits) -> Result<(), Error> {
    let loop_id = found.loop_id;
    if found.run.outcome().is_none() {
        return Err(Error::InSession { loop_id, workspace: found.run.facts().config.workspace.clone() });
    }
    if limits.agents.is_empty() { Err(Error::SessionOver { loop_id }) } else { Ok(()) }
}

/// A loop whose process is gone, with its workspace taken.
pub(crate) struct Found {
    pub(crate) services: Services,
    pub(crate) loop_id: LoopId,
    pub(crate) run: Loop,
    pub(crate) recorded: Vec<Recorded>,
    head: Head,
    lock: Lock,
    repository: Option<Repository>,
    workspace: Opening,
    moved: Option<Moved>,
}

/// A workspace that was taken.
enum Opening {
    Taken(Box<Workspace>),
    /// It is looked at, on a thread of its own: its start is set.
    Looking(JoinHandle<Result<Workspace, Error>>),
}

impl Opening {
    /// On a thread that may block.
    fn wait(self) -> Result<Workspace, Error> {
        match self {
            Self::Taken(workspace) => Ok(*workspace),
            Self::Looking(looking) => {
                Handle::current().block_on(looking).map_err(|_| Error::Vanished("looking at the workspace"))?
            }
        }
    }
}

/// A loop that this process may write to again.
pub(crate) struct Reopened {
    pub(crate) context: Context,
    pub(crate) live: Live,
    pub(crate) as_found: Option<AsFound>,
    pub(crate) lock: Lock,
}

/// When the workspace is recorded: later is with the end of the agent's run.
pub(crate) enum Look {
    Now,
    Later,
}

pub(crate) struct AsFound {
    tree: TreeHash,
    /// The user restored another state than that of the last iteration.
    rewound: bool,
}

/// What a snapshot is called that `ralph rewind` takes of a state that it restored, when the journal ends here: what is appended
/// later is not about that state.
pub fn rewound_label(end: Seq) -> String {
    format!("rewound-{end}")
}

impl Found {
    pub(crate) async fn find(
        services: Services,
        loop_id: LoopId,
        moved: Option<Moved>,
        stop: StopFlag,
    ) -> Result<Self, Error> {
        let services = services.of_run(loop_id);
        let entry = services.store.run(loop_id).await?;
        if moved.is_none() {
            services.ensure_not_elsewhere(&entry)?;
        }
        let root = moved.as_ref().map_or_else(|| PathBuf::from(&entry.workspace), |moved| moved.workspace.clone());
        if !root.is_dir() {
            return Err(Error::Gone { loop_id, workspace: entry.workspace });
        }
        let site = TakenSite::start(SiteOptions::of(&services), loop_id, root, stop);
        Self::at(services, loop_id, moved, None, site).await
    }

    /// Takes the workspace before it believes what is known: while another process works on the loop its journal moves.
    pub(crate) async fn at(
        services: Services,
        loop_id: LoopId,
        moved: Option<Moved>,
        known: Option<KnownLoop>,
        site: TakenSite,
    ) -> Result<Self, Error> {
        let Site { lock, mut workspace, repository } = site.finish(&services).await?;
        let agent_worked = |known: &KnownLoop| matches!(known.run.phase(), Phase::Working(_));
        let workspace = match known.as_ref().filter(|known| agent_worked(known)) {
            None => Opening::Taken(Box::new(workspace)),
            Some(known) => {
                // Of these no later event says anything else.
                let (start, max_file) = (known.run.facts().start.tree.clone(), known.config().max_file_size);
                Opening::Looking(start_blocking(move || {
                    workspace.set_max_file(max_file);
                    workspace.set_start(&start)?;
                    workspace.scan_tree()?;
                    Ok(workspace)
                }))
            }
        };
        let KnownLoop { run, recorded } = match known {
            Some(known) if known.is_newest(&services.store, loop_id).await? => known,
            _ => KnownLoop::read(&services.store, loop_id).await?,
        };
        let head = head_of(loop_id, &recorded);
        Ok(Self { services, loop_id, run, recorded, head, lock, repository, workspace, moved })
    }

    /// Whether its end was reported in full.
    pub(crate) async fn is_certified(&self) -> Result<bool, Error> {
        let folder = self.services.home.loop_folder(self.loop_id);
        Ok(project::is_certified(&self.services.store, self.loop_id, &folder, &self.head).await?)
    }

    /// Looks at the workspace and acquires the loop: from here on whatever another process still writes to it is refused.
    pub(crate) async fn reopen(self, look: Look) -> Result<Reopened, Error> {
        let Self { services, loop_id, run, recorded, head, lock, repository, workspace, moved } = self;
        let folder = services.home.loop_folder(loop_id);
        folder.make()?;
        let mut config = run.facts().config.clone();
        if let Some(moved) = &moved {
            config.workspace = moved.workspace.to_string_lossy().into_owned();
        }
        let guard = Arc::new(Guard::new(&config.prohibited_paths)?);
        let run_start = run.facts().start.clone();
        let commits = CommitWatch::since(repository::Head {
            commit: run.facts().start.head.as_deref().and_then(CommitId::parse),
            branch: run.facts().start.branch.clone(),
        });
        let (folders, environment) = (folder.clone(), services.environment.clone());
        let asked = as_confined(&config, &services.level);
        let seq = head.seq;
        let last = run.facts().last_iteration().and_then(|last| Some(last.run.as_ref()?.tree.clone()));
        let looked = blocking(move || {
            let (workspace, is_started) = match (moved.filter(|moved| moved.rebuild), workspace) {
                (None, looking @ Opening::Looking(_)) => (looking, true),
                (rebuild, taken) => {
                    let mut workspace = taken.wait()?;
                    workspace.set_max_file(asked.max_file_size);
                    if let Some(moved) = rebuild {
                        moved.rebuild(&mut workspace, &run_start, &guard, (&asked, &environment), &folders)?;
                    }
                    (Opening::Taken(Box::new(workspace)), false)
                }
            };
            let baseline = Baseline::load(&folders.guard())?;
            let pinned = if run_start.pins.is_empty() {
                None
            } else {
                Some(Pinned::load(&run_start, &asked, &environment, &folders.pins())?)
            };
            let checkout = checkout(&asked, &folders)?;
            let mut workspace = workspace.wait()?;
            if !is_started {
                workspace.set_start(&run_start.tree)?;
            }
            let as_found = match look {
                Look::Now => {
                    let restored = workspace.labelled(loop_id, &rewound_label(seq))?;
                    let rewound = restored.is_some_and(|restored| Some(restored) != last);
                    Some(AsFound { tree: workspace.snapshot(loop_id, &format!("resumed-{seq}"))?.tree, rewound })
                }
                Look::Later => None,
            };
            Ok((WorkspaceState { workspace, guard, baseline, commits, pinned, checkout }, as_found))
        });
        let acquired = services.store.acquire(loop_id, Some(services.lease_holder()));
        let (looked, acquired) = tokio::join!(looked, acquired);
        let ((ground, as_found), lease) = (looked?, acquired?);
        let context = Context::new(services, lease, config, ground, repository, &lock);
        let live = Live::reopened(lease, run, head, End::of::<Loop>(&recorded));
        Ok(Reopened { context, live, as_found, lock })
    }
}

/// Declares what the former process left unanswered lost, and goes on.
pub(crate) async fn go_on(
    context: &Context,
    live: &mut Live,
    as_found: Option<AsFound>,
    limits: Limits,
) -> Result<Vec<Effect>, Error> {
    if live.run.outcome().is_some() {
        refuse_committed(context, live).await?;
    }
    let services = &context.services;
    let attempts = Attempts::read(services, live.lease).await?;
    let (mut lost, money) = live.lost(&attempts).unzip();
    let mut money = money.flatten();
    let unanswered = lost.as_ref().map(|lost| lost.attempt);
    if let Some(attempt) = unanswered {
        // The process that would have done it is gone. What the report says is read.
        if let Err(error) = redact_report(&context.folder.attempt(attempt).join("result.json"), &services.redactor) {
            tracing::warn!(%error, %attempt, "the report of a lost attempt could not be redacted");
        }
    }
    for open in services.store.open_reservations(live.lease.run).await? {
        if Some(open.attempt) == unanswered {
            continue;
        }
        if attempts.may_have_run(open.attempt) {
            // Its events were set aside, and it ran all the same.
            let amount = attempts.cost(open.attempt).charge(open.amount);
            services.store.settle(live.lease, Settlement { attempt: open.attempt, amount }).await?;
        } else {
            // Money held for a pass that never began is free again.
            services.store.release(live.lease, open.attempt).await?;
        }
    }
    let mut settled = Money::ZERO;
    for booked in services.store.settlements(live.lease.run).await? {
        match lost.as_mut().filter(|lost| lost.attempt == booked.attempt) {
            // Only its answer was set aside: what it cost is known.
            Some(lost) => {
                lost.cost = Cost::Known { amount: booked.amount };
                money = None;
            }
            None => settled += booked.amount,
        }
    }
    services.store.clear_stop(live.lease).await?;
    let (tree, rewound) = as_found.map_or((None, false), |found| (Some(found.tree), found.rewound));
    let resumed = Event::Resumed { lost, limits, attempts: attempts.highest(), tree, rewound, settled };
    live.record(services, Answer { money, ..resumed.into() }).await
}

/// Files were put back at the end, but history is the user's: work on top of a commit that must not be there cannot be used.
async fn refuse_committed(context: &Context, live: &Live) -> Result<(), Error> {
    let committed = context.committed().await?;
    let Some((path, commit)) = committed.iter().find_map(|found| Some((&found.path, found.commit.as_ref()?))) else {
        return Ok(());
    };
    let undo = undo_commits(live.run.facts().start.head.as_deref());
    let hint = format!("commit {commit} has {path}, which is prohibited; remove it from the history first: {undo}");
    Err(Error::LimitStands { loop_id: live.lease.run, reason: AbortReason::ProhibitedPath, hint })
}

/// A loop that would end at once for the same reason is not worth a start; what would help is said.
fn ensure_resumable(services: &Services, loop_id: LoopId, run: &Loop, limits: &Limits) -> Result<(), Error> {
    if matches!(run.outcome(), Some(Outcome::Completed { .. })) {
        return Err(Error::AlreadyComplete(loop_id));
    }
    let facts = run.facts();
    let mut config = facts.config.clone();
    config.max_iterations = limits.max_iterations.unwrap_or(config.max_iterations);
    config.max_cost = limits.max_cost.unwrap_or(config.max_cost);
    config.max_duration = limits.max_duration.or(config.max_duration);
    config.validate_limits(&services.caps)?;
    let done = facts.counted();
    let stands = |reason, hint: String| Err(Error::LimitStands { loop_id, reason, hint });
    // Work that was never looked at is looked at first, whatever is left.
    if run.outcome().is_none() || facts.has_unseen_work() || run.is_only_to_be_closed() {
        return Ok(());
    }
    if done >= config.max_iterations {
        let hint = format!("{done} iterations used; to continue: ralph resume {} --max {}", loop_id.short(), done + 5);
        return stands(AbortReason::MaxIterations, hint);
    }
    if facts.needs_money_for(facts.next_agent()) && !limits.unmetered && facts.spent >= config.max_cost {
        let hint = format!("{} spent; to continue: ralph resume {} --max-cost USD", facts.spent, loop_id.short());
        return stands(AbortReason::CostLimit, hint);
    }
    if let Some(limit) = limits.max_tokens.or(config.max_tokens).filter(|limit| facts.tokens >= *limit) {
        let (used, short) = (facts.tokens, loop_id.short());
        let hint = format!("{used} of {limit} tokens used; to continue: ralph resume {short} --max-tokens N");
        return stands(AbortReason::UsageLimit, hint);
    }
    if let Some(limit) = config.max_duration.filter(|limit| facts.active >= *limit) {
        let (active, short) = (facts.active, loop_id.short());
        let hint =
            format!("it worked for {active} of {limit}; to continue: ralph resume {short} --max-duration DURATION");
        return stands(AbortReason::MaxDuration, hint);
    }
    Ok(())
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    start_blocking(work).await.map_err(|_| Error::Vanished("reading the workspace"))?
}

pub(crate) fn start_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> JoinHandle<Result<T, Error>> {
    let span = tracing::Span::current();
    // In a box: what a task needs is compiled for each kind of result, not for each piece of work.
    let work: Box<dyn FnOnce() -> Result<T, Error> + Send> = Box::new(move || span.in_scope(work));
    tokio::task::spawn_blocking(work)
}
