//! One task, from its claim to its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_api::Work;
use ralph_config::trust::{Asking, Question};
use ralph_config::{Dollars, Layer, OneOrMore, RepositoryFile, Resolved};
use ralph_crew::CrewResult;
use ralph_engine::{Limits, Loop, StopBy, StopWhen, find_claim};
use ralph_host::{Checkpoints, Claims, ForAgents, Host, Opened, RunRequest};
use ralph_model::{AgentRun, AgentSpec, Isolation, LoopConfig, LoopId, Outcome, Task, TaskId, TaskType};
use ralph_runtime::{AgentSignals, Claimed, Home, Moved, Resume, Stops, Watcher, read_loop, stops};
use ralph_store::{Epoch, StoreHandle, TaskLease};
use ralph_view::{Delta, OutcomeView, RunResult, RunStatus, RunView, Update, What, delta_line};
use tokio::sync::{mpsc, watch};

use crate::error::Error;
use crate::lease::{Interruption, Keeper};
use crate::place::Place;
use crate::prompt;
use crate::publish::{Publisher, Step};
use crate::report::WorkerEvent;
use crate::source::Source;
use crate::worker::Worker;

/// How long the journal waits for a server that is away.
const STORE_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a beginning that is interrupted may still take.
const START_TIMEOUT: Duration = Duration::from_millis(1500);
/// How long a process on this machine is waited for that still has the files of the task: a worker that lost it and ends.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How long the report of an end may still take when the worker was asked to end.
const REPORT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a push that is under way and the last one may still take when the worker was asked to end. What an iteration came to
/// was pushed when its agent ended; the rest stays here, and the next worker on this machine pushes it.
pub(crate) const PUSH_TIMEOUT: Duration = Duration::from_millis(300);
pub(crate) const LAST_PUSH_TIMEOUT: Duration = Duration::from_millis(1700);

pub(crate) struct Job<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) lease: TaskLease,
    pub(crate) claims: Claims,
    pub(crate) interrupt: watch::Sender<Option<Interruption>>,
    context_full: watch::Sender<u64>,
    iteration: watch::Sender<u32>,
    work: Work,
    pub(crate) store: StoreHandle,
    pub(crate) host: Host,
    checkpoints: Checkpoints,
}

pub(crate) enum Ended {
    Loop {
        result: Box<RunResult>,
        branch: Option<String>,
        /// Why the last state of the work is not on the branch.
        unpushed: Option<String>,
        /// Whether the server has all logs and patches.
        is_all_sent: bool,
    },
    Crew {
        result: Box<CrewResult>,
        branch: Option<String>,
        unpushed: Option<String>,
        /// Whether the checks of the task pass, where it has some.
        checks: Option<bool>,
    },
    /// It was interrupted before there was a result.
    Interrupted(Interruption),
}

struct Former {
    id: LoopId,
    run: Loop,
}

impl<'a> Job<'a> {
    pub(crate) fn new(worker: &'a Worker, work: Work) -> Self {
        let (interrupt, context_full, iteration) =
            (watch::Sender::new(None), watch::Sender::new(0), watch::Sender::new(0));
        let lease = TaskLease { task: work.task.id, epoch: Epoch(work.lease.epoch) };
        let folder = worker.options.host.dirs.state.join("tasks").join(work.task.id.to_string());
        let mut host = worker.options.host.clone();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let variables = vec![
            ("RALPH_TASK_ID".to_owned(), work.task.id.to_string()),
            ("RALPH_SERVER".to_owned(), worker.options.client.server().to_owned()),
            ("RALPH_TOKEN".to_owned(), work.token.clone()),
            ("RALPH_STATE_DIR".to_owned(), text(&folder)),
        ];
        let mcp_server = Some(host.mcp_server(variables.iter().map(|(name, _)| name.clone()).collect()));
        host.for_agents = ForAgents {
            variables,
            mcp_server,
            writable: vec![folder.clone()],
            signals: AgentSignals { claimed: None, context_full: Some(context_full.subscribe()) },
        };
        Self {
            store: worker.options.client.store(Some(lease), STORE_TIMEOUT),
            lease,
            host,
            checkpoints: Checkpoints::new(folder.clone()),
            claims: Claims::new(folder),
            worker,
            work,
            interrupt,
            context_full,
            iteration,
        }
    }

    pub(crate) fn task(&self) -> &Task {
        &self.work.task
    }

    /// Works on the task and reports its end.
    pub(crate) async fn run(mut self) {
        let (task, epoch) = (self.task().id, self.lease.epoch.0);
        self.worker.tell(WorkerEvent::Claimed { task, epoch });
        let keeper = Keeper::new(
            (self.worker.options.client.clone(), self.worker.options.lease_seconds),
            &self.work,
            self.checkpoints.clone(),
            self.interrupt.clone(),
            self.context_full.clone(),
            self.iteration.subscribe(),
        );
        let (stop, interrupt) = (self.worker.options.stop.clone(), self.interrupt.clone());
        let stopping = async move {
            stop.cancelled().await;
            interrupt.send_if_modified(|known| known.is_none() && known.replace(Interruption::Stopping).is_none());
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = async {
                let ended = self.work().await;
                // A server that is away gets the task back when the lease expires.
                self.unless_stopping(REPORT_TIMEOUT, self.finish(ended)).await;
            } => {}
            () = keeper.keep() => {}
            () = stopping => {}
        }
    }

    async fn work(&mut self) -> Result<Ended, Error> {
        if self.task().task_type == TaskType::Crew {
            return self.work_as_crew().await;
        }
        let mut interruption = self.interrupt.subscribe();
        let prepared = tokio::select! {
            prepared = self.prepare() => prepared?,
            why = next(&mut interruption) => return Ok(Ended::Interrupted(why)),
        };
        let Ready { place, resolved, former, moved } = prepared;
        if let Some(former) = former.as_ref().filter(|former| former.is_complete()) {
            return self.conclude(place, former.id).await;
        }
        let (sender, updates) = mpsc::unbounded_channel();
        let watcher: Watcher = Arc::new(move |update: Update| {
            let _ = sender.send(update);
        });
        let (mut stopper, mut requests) = stops();
        let began = tokio::time::Instant::now();
        let opened = loop {
            let opening = self.open(&resolved, former.as_ref(), moved.clone(), Arc::clone(&watcher), requests);
            let interrupted = async {
                let why = next(&mut interruption).await;
                stopper.stop(StopWhen::Now, StopBy::Request);
                tokio::time::sleep(START_TIMEOUT).await;
                why
            };
            let opened = tokio::select! {
                biased;
                opened = opening => opened,
                why = interrupted => return Ok(Ended::Interrupted(why)),
            };
            match opened {
                Err(Error::Host(ralph_host::Error::Runtime(ralph_runtime::Error::Lock(_))))
                    if began.elapsed() < LOCK_TIMEOUT =>
                {
                    tokio::time::sleep(RETRY_INTERVAL).await;
                    (stopper, requests) = stops();
                }
                Err(Error::Host(ralph_host::Error::Runtime(
                    ralph_runtime::Error::AlreadyComplete(id) | ralph_runtime::Error::LimitStands { loop_id: id, .. },
                ))) => return self.conclude(place, id).await,
                opened => break opened?,
            }
        };
        drop(watcher);
        place.finish().await?;
        let run = opened.loop_id().ok_or_else(|| Error::Task("a task runs one loop".to_owned()))?;
        let (steps, publishing) = mpsc::unbounded_channel();
        let mut publisher = Publisher::new(self.worker, &self.work, self.lease, Arc::clone(&self.store), run, place);
        let driving = async {
            let mut running = std::pin::pin!(opened.run());
            let (mut updates, mut is_stopped) = (updates, false);
            loop {
                tokio::select! {
                    biased;
                    Some(update) = updates.recv() => self.observe(update, &steps),
                    ended = &mut running => {
                        while let Ok(update) = updates.try_recv() {
                            self.observe(update, &steps);
                        }
                        drop(steps);
                        return ended;
                    }
                    _ = next(&mut interruption), if !is_stopped => {
                        is_stopped = true;
                        stopper.stop(StopWhen::Now, StopBy::Request);
                    }
                }
            }
        };
        let (ended, _) = tokio::join!(driving, self.unless_stopping(PUSH_TIMEOUT, publisher.follow(publishing)));
        let result = Box::new(ended?.result);
        let (run, _) = read_loop(&self.store, result.loop_id).await?;
        let Some(pushed) = self.unless_stopping(LAST_PUSH_TIMEOUT, publisher.finish(run.facts())).await else {
            return Ok(Ended::Interrupted(Interruption::Stopping));
        };
        let unpushed = pushed.err().map(|error| error.to_string());
        Ok(Ended::Loop { branch: publisher.branch(), result, unpushed, is_all_sent: publisher.is_all_sent() })
    }

    /// Carries out what pushes. A remote that hangs does not keep a worker that is asked to end; none then.
    pub(crate) async fn unless_stopping<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut interruption = self.interrupt.subscribe();
        let stopping = async {
            // A sender is in `self`.
            let _ = interruption.wait_for(|why| *why == Some(Interruption::Stopping)).await;
            tokio::time::sleep(time).await;
        };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = stopping => None,
        }
    }

    fn observe(&self, update: Update, steps: &mpsc::UnboundedSender<Step>) {
        let task = self.task().id;
        match update.what {
            What::Recorded { state, deltas, .. } => {
                for delta in &deltas {
                    if let Delta::IterationStarted { iteration, .. } = delta {
                        self.iteration.send_replace(iteration.0);
                        // What an earlier iteration claimed is of no use any more.
                        let _ = self.claims.clear(task);
                    }
                    if let Delta::AgentFinished { iteration } | Delta::IterationDecided { iteration } = delta
                        && let Some(run) = &iteration.run
                    {
                        let (before, tree) = (iteration.tree_before.clone(), run.tree.clone());
                        let is_decided = matches!(delta, Delta::IterationDecided { .. });
                        let _ = steps.send(Step::Tree { iteration: iteration.iteration, before, tree, is_decided });
                    }
                    // The end of the task tells a failure.
                    let is_told =
                        matches!(delta, Delta::Finished { outcome } if outcome.status != RunStatus::Completed);
                    if let Some(message) = delta_line(&state, delta).filter(|_| !is_told) {
                        self.worker.tell(WorkerEvent::Progress { task, message: message.clone() });
                        let _ = steps.send(Step::Progress { counted: state.counted, cost: state.cost, message });
                    }
                }
            }
            What::Progress { progress: ralph_view::Progress::Warning { text } } => {
                self.worker.tell(WorkerEvent::Warning { task: Some(task), message: text });
            }
            What::Progress { .. } => {}
        }
    }

    /// The result of a loop whose end is recorded and was not reported.
    async fn conclude(&self, place: Place, id: LoopId) -> Result<Ended, Error> {
        let (run, head) = read_loop(&self.store, id).await?;
        let outcome = run.outcome().cloned().ok_or_else(|| Error::Task(format!("loop {id} has no end")))?;
        let view = OutcomeView::new(id, &outcome, &run);
        let folder = self.host.home().loop_folder(id).root().to_string_lossy().into_owned();
        let result = Box::new(RunResult::new(&RunView::new(id, &run), view, folder, head.hash.to_string()));
        let tree = run.facts().tree.clone();
        let is_here = place.has(&tree).await;
        let mut publisher = Publisher::new(self.worker, &self.work, self.lease, Arc::clone(&self.store), id, place);
        let unpushed = match is_here || publisher.has_pushed(&tree) {
            true => match self.unless_stopping(LAST_PUSH_TIMEOUT, publisher.finish(run.facts())).await {
                Some(pushed) => pushed.err().map(|error| error.to_string()),
                None => return Ok(Ended::Interrupted(Interruption::Stopping)),
            },
            false => Some("the machine that has the last state of the work is gone".to_owned()),
        };
        Ok(Ended::Loop { branch: publisher.branch(), result, unpushed, is_all_sent: publisher.is_all_sent() })
    }

    /// Removes checkpoint and claim of an earlier worker: they are about work that is over.
    pub(crate) async fn clear_leftovers(&self) -> Result<(), Error> {
        let task = self.task().id;
        let folder = self.host.dirs.state.join("tasks").join(task.to_string());
        Home::make_private(&folder)?;
        self.checkpoints.clear(task).map_err(Error::file(&folder))?;
        self.claims.clear(task).map_err(Error::file(&folder))?;
        if self.task().ralph_last_checkpoint.is_some() {
            self.worker.options.client.clear_checkpoint(task, Some(self.lease.epoch.0)).await?;
        }
        Ok(())
    }

    /// Makes the files of the task and its configuration. Starts nothing.
    async fn prepare(&mut self) -> Result<Ready, Error> {
        self.clear_leftovers().await?;
        let former = self.former().await?;
        let ready = self.prepare_after(former).await?;
        let config = ready.resolved.as_ref().map(|resolved| &*resolved.config);
        let foreign = ready.former.as_ref().zip(config).filter(|(former, config)| !former.is_of(config));
        let Some((former, _)) = foreign else { return Ok(ready) };
        // Another worker wrote the journal, and what is in it would run here.
        let message = format!(
            "loop {} was begun with other checks or protections than this task has here: a new loop begins",
            former.id.short()
        );
        self.worker.tell(WorkerEvent::Warning { task: Some(self.task().id), message });
        self.prepare_after(None).await
    }

    async fn prepare_after(&mut self, former: Option<Former>) -> Result<Ready, Error> {
        let (task, git) = (self.work.task.clone(), &self.worker.git);
        let source = self.source().await?;
        let base = match former.as_ref().and_then(|former| former.run.facts().start.head.clone()) {
            Some(head) => source.base(git, Some(&head)).await?,
            None => source.base(git, task.base_ref.as_deref()).await?,
        };
        let redactor = self.worker.redactor.clone();
        let mut place = Place::find(&self.host, git, source, self.lease, &base, redactor).await?;
        let is_complete = former.as_ref().is_some_and(Former::is_complete);
        let is_here = match &former {
            Some(former) => place.has(&former.run.facts().tree).await,
            None => false,
        };
        let mut moved = former.as_ref().map(|_| Moved { workspace: place.root.clone(), rebuild: false, tree: None });
        if !is_here && !is_complete {
            place.make(&base).await?;
            if let (Some(former), Some(moved)) = (&former, &mut moved) {
                (moved.rebuild, moved.tree) = (true, place.bring_pushed().await?);
                place.adopt();
                self.tell(format!(
                    "continues loop {} from {}",
                    former.id.short(),
                    place.branch().unwrap_or("its start")
                ));
            }
        }
        self.check_plan(&place)?;
        let resolved = self.resolve(&place, is_complete).await?;
        Ok(Ready { place, resolved, former, moved })
    }

    /// Where the commits of the task come from and go to.
    pub(crate) async fn source(&self) -> Result<Source, Error> {
        let task = self.task();
        // Nobody has pushed the work of a task that was never claimed before.
        let own = (self.lease.epoch.0 > 1).then_some(task.id);
        let tasks: Vec<TaskId> = own.into_iter().chain(task.depends_on.iter().copied()).collect();
        match (&task.repo, &self.worker.options.workspace) {
            (Some(address), _) => Source::of_address(&self.host, &self.worker.git, address, &tasks).await,
            (None, Some(workspace)) => Source::of_workspace(&self.host, &self.worker.git, workspace).await,
            (None, None) => Err(Error::Task("the task has no repository and the worker no workspace".to_owned())),
        }
    }

    /// The loop that a worker before this one began.
    async fn former(&self) -> Result<Option<Former>, Error> {
        let Some(id) = self.task().run_id else { return Ok(None) };
        match read_loop(&self.store, id).await {
            Ok((run, _)) => Ok(Some(Former { id, run })),
            // It died before the loop was recorded.
            Err(ralph_runtime::Error::Store(ralph_store::Error::UnknownRun { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A link may lead out of the workspace.
    pub(crate) fn check_plan(&self, place: &Place) -> Result<(), Error> {
        let Some(plan) = &self.task().ralph_plan_path else { return Ok(()) };
        match place.root.join(plan).canonicalize() {
            Ok(real) if !real.starts_with(&place.root) => {
                Err(Error::Task(format!("ralphPlanPath `{}` leads out of the workspace", plan.escape_debug())))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The configuration of the task's loop.
    async fn resolve(&mut self, place: &Place, is_complete: bool) -> Result<Option<Resolved>, Error> {
        if is_complete {
            return Ok(None);
        }
        let task = self.work.task.clone();
        let tag = prompt::promise_tag(&task);
        let objective = prompt::objective(&task, &tag).map_err(Error::Task)?;
        let caps = self.host.caps().map_err(ralph_host::Error::from)?;
        let is_single = task.task_type == TaskType::Single;
        let iterations = if is_single { 1 } else { task.ralph_max_iterations.clamp(1, caps.iterations) };
        let command = task.verification_command.clone();
        let settings = Layer {
            max_iterations: Some(iterations),
            max_cost_usd: Some(Dollars(task.max_cost_usd.min(caps.loop_cost))),
            // With a command its checks decide; a promise of the caller's own would be asked for besides.
            completion_promise: command.is_none().then(|| tag.clone()),
            verification_command: command.map(|command| OneOrMore(vec![command])),
            // The files are the task's own already, and the work goes to its branch.
            isolation: Some(Isolation::InPlace),
            commit: Some(false),
            ..self.worker.options.settings.clone()
        };
        self.host.for_agents.signals.claimed = Some(self.claimed(is_single, objective.clone(), tag));
        let request = RunRequest { settings, objective, workspace: Some(place.root.clone()), ..RunRequest::default() };
        self.approve_copy(place).await?;
        // There is no user to ask, so what needs approval is refused.
        let prepared = self.host.prepare(request, Asking::Nobody).await?;
        for message in prepared.warnings {
            self.worker.tell(WorkerEvent::Warning { task: Some(task.id), message });
        }
        Ok(Some(prepared.resolved))
    }

    /// What the user approved in the worker's own workspace is approved in the copy of it too, as long as it says the same.
    async fn approve_copy(&self, place: &Place) -> Result<(), Error> {
        let Some(workspace) = self.worker.options.workspace.as_ref().filter(|_| self.task().repo.is_none()) else {
            return Ok(());
        };
        let file = RepositoryFile::read(&place.root).map_err(ralph_host::Error::from)?;
        let about = |folder: &Path| file.as_ref().and_then(|file| Question::about_file(file, folder));
        if let (Some(original), Some(copy)) = (about(workspace), about(&place.root)) {
            let store = self.host.store().await?;
            if original.is_approved(&store).await.map_err(ralph_host::Error::from)? {
                copy.approve(&store, (self.worker.options.now)()).await.map_err(ralph_host::Error::from)?;
            }
        }
        Ok(())
    }

    /// Whether the agent claimed that it is done: with `ralph-complete`, or with the promise. A task of one pass needs no claim.
    fn claimed(&self, is_single: bool, objective: String, tag: String) -> Claimed {
        let (claims, task) = (self.claims.clone(), self.task().id);
        Arc::new(move |run: &AgentRun| {
            let is_done = is_single && run.ended.is_success() && run.faults.is_empty();
            is_done || matches!(claims.read(task), Ok(Some(_))) || find_claim(&run.final_message, &objective, &tag)
        })
    }

    /// Begins the loop, or continues the one of a worker before this one.
    async fn open(
        &self,
        resolved: &Option<Resolved>,
        former: Option<&Former>,
        moved: Option<Moved>,
        watcher: Watcher,
        stops: Stops,
    ) -> Result<Opened, Error> {
        let Some(resolved) = resolved.clone() else { return Err(Error::Task("the loop has ended".to_owned())) };
        let store = Arc::clone(&self.store);
        let Some((former, moved)) = former.zip(moved) else {
            return Ok(self.host.start(resolved, store, watcher, stops).await?);
        };
        let mut config: LoopConfig = former.run.facts().config.clone();
        config.workspace = moved.workspace.to_string_lossy().into_owned();
        let here: Vec<AgentSpec> = resolved.config.usual_agents().cloned().collect();
        let is_same = config.usual_agents().eq(here.iter());
        let limits = Limits { agents: if is_same { Vec::new() } else { here.clone() }, ..Limits::default() };
        if let (false, [first, more @ ..]) = (is_same, here.as_slice()) {
            (config.agent, config.more_agents) = (first.clone(), more.to_vec());
        }
        let user = self.host.user_settings().map_err(ralph_host::Error::from)?;
        let wanted = Resume { limits, moved: Some(moved) };
        Ok(self.host.resume(former.id, wanted, &config, &user, store, watcher, stops).await?)
    }

    pub(crate) fn tell(&self, message: String) {
        self.worker.tell(WorkerEvent::Progress { task: self.task().id, message });
    }
}

struct Ready {
    place: Place,
    resolved: Option<Resolved>,
    former: Option<Former>,
    moved: Option<Moved>,
}

impl Former {
    /// Whether it runs what a loop of the task would run here, and protects as much.
    fn is_of(&self, here: &LoopConfig) -> bool {
        let found = &self.run.facts().config;
        let within = |some: &[String], all: &[String]| some.iter().all(|one| all.contains(one));
        found.objective == here.objective
            && found.completion_promise == here.completion_promise
            && found.verification_commands == here.verification_commands
            && found.expects == here.expects
            && found.junit == here.junit
            && found.setup == here.setup
            && (found.verify, found.tripwire, found.require) == (here.verify, here.tripwire, here.require)
            && (found.sandbox, found.allow_network) == (here.sandbox, here.allow_network)
            && within(&here.prohibited_paths, &found.prohibited_paths)
            && within(&here.protected_paths, &found.protected_paths)
            && within(&found.allowed_test_changes, &here.allowed_test_changes)
            && within(&found.writable, &here.writable)
            && within(&found.env, &here.env)
            && found.max_cost <= here.max_cost
            && found.max_iterations <= here.max_iterations
    }

    fn is_complete(&self) -> bool {
        matches!(self.run.outcome(), Some(Outcome::Completed { .. }))
    }
}

/// The next interruption; never returns once none can come.
pub(crate) async fn next(interruption: &mut watch::Receiver<Option<Interruption>>) -> Interruption {
    loop {
        if let Some(why) = *interruption.borrow_and_update() {
            return why;
        }
        if interruption.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
