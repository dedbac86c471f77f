//! A crew in step with its journal: asks models, calls tools, asks persons. What happens next is decided by [`ralph_crew::Crew`].

mod agent;
mod listed;
mod models;
mod person;
mod place;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use ralph_crew::{
    AskModel, Crew, CrewAbort, CrewConfig, CrewEffect, CrewEvent, CrewOutcome, CrewResult, FrameId, ModelAsk,
    ModelName, MovedCrew, Tell, ToolOutcome, Worker,
};
use ralph_engine::{Machine as _, Stop, StopBy, StopWhen};
use ralph_model::{Access, Attempt, ConfigError, Money, RunId, RunKind, Sandboxing, TreeHash};
use ralph_process::Stop as Cut;
use ralph_store::{Append, BoardHandle, NewRun, Reserve, Settlement, StoreHandle};
use ralph_tools::McpServer;
use ralph_workspace::{Lock, Repository};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::error::Error;
use crate::journaled::{End, Journaled, encode, head_of, replay};
use crate::notify::{About, Ending, Notifying};
use crate::open::{blocking, sandbox_in_words};
use crate::requests::Requests;
use crate::services::Services;
use crate::site::Site;
use crate::stops::Stops;
pub use listed::is_waiting;
pub use person::AskPerson;
use place::Place;

/// Runs a loop for a crew: its arguments, what it may cost, and what stops it. Answers with what came of it and what it cost.
pub type RunLoop = Arc<dyn Fn(Value, Money, Stops) -> BoxFuture<'static, (ToolOutcome, Money)> + Send + Sync>;

/// Adds to the tools of a workspace those that reach further.
pub type ExtendTools = Arc<dyn Fn(ralph_tools::Services) -> ralph_tools::Services + Send + Sync>;

/// Sends the files of a crew to where another machine finds them. An error means that they are not there.
pub type PushFiles = Arc<dyn Fn(TreeHash) -> BoxFuture<'static, Result<(), Unpushed>> + Send + Sync>;

/// Why the files of a crew could not be sent.
pub type Unpushed = Box<dyn std::error::Error + Send + Sync>;

/// What a crew needs besides the services of every run.
#[derive(Clone)]
pub struct CrewParts {
    pub board: BoardHandle,
    pub ask: AskModel,
    pub model_name: ModelName,
    pub extend_tools: ExtendTools,
    /// Whether tools and agents run in a sandbox.
    pub sandbox: Sandboxing,
    pub mcp_servers: Vec<McpServer>,
    /// Somebody who can be asked right now.
    pub person: Option<AskPerson>,
    pub run_loop: Option<RunLoop>,
    /// Is given the files whenever a delegation ended, before the journal says so: what it says is done is never missing elsewhere.
    /// Where it fails, the journal does not say so.
    pub push: Option<PushFiles>,
    pub tell: Tell,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrewLimits {
    pub max_cost: Option<Money>,
    pub max_rounds: Option<u32>,
}

/// A crew that holds its workspace.
pub struct OpenedCrew {
    services: Services,
    parts: CrewParts,
    crew: Journaled<Crew>,
    effects: Vec<CrewEffect>,
    place: Arc<Place>,
    worker: Worker,
    stops: Stops,
    cut: watch::Sender<Option<Cut>>,
    lock: Option<Lock>,
    /// A request to stop that came while a loop of the crew ran.
    stopped: Option<Stop>,
    notifying: Notifying,
    /// How tools and agents are kept inside.
    sandbox: String,
    /// The round, for the list of requests.
    round: Arc<AtomicU32>,
    /// A person is there and sees the end of each turn.
    is_conversation: bool,
}

pub async fn read_crew(store: &StoreHandle, id: RunId) -> Result<Crew, Error> {
    replay(id, store.journal(id).await?)
}

/// Takes the workspace and records a crew. Nothing runs yet.
///
/// # Errors
/// When another run works there, or the state cannot be written.
pub async fn begin_crew(
    services: Services,
    config: CrewConfig,
    request: Option<String>,
    parts: CrewParts,
    stops: Stops,
) -> Result<OpenedCrew, Error> {
    let id = RunId::from_uuid(Uuid::now_v7());
    let root = PathBuf::from(&config.workspace);
    let site = take(&services, &parts, &config.access, id, &root, &stops).await?;
    let config = site.equip(config, &parts);
    let new = NewRun {
        id,
        kind: RunKind::Crew,
        parent: None,
        workspace: config.workspace.clone(),
        origin: None,
        objective: request.clone().unwrap_or_else(|| "(conversation)".to_owned()),
        agent: config.root.clone(),
        skill: None,
        holder: Some(services.lease_holder()),
        at: (services.now)(),
    };
    let first = CrewEvent::CrewStarted { config: Box::new(config), request };
    let (crew, effects) = Journaled::create(&services, new, first).await?;
    Ok(OpenedCrew::new(services, parts, crew, effects, site, stops))
}

/// Continues a crew whose process is gone, or that waits for a person or for another limit. With a configuration it continues on
/// this machine although its files were on another one; the workspace has what of them could be had. Only the holder of another
/// lease that fences all writes to the run does so, such as that of a task.
///
/// # Errors
/// When the crew answered, still runs, or its journal cannot be followed.
pub async fn resume_crew(
    services: Services,
    id: RunId,
    limits: CrewLimits,
    moved: Option<CrewConfig>,
    parts: CrewParts,
    stops: Stops,
) -> Result<OpenedCrew, Error> {
    if moved.is_none() {
        services.ensure_not_elsewhere(&services.store.run(id).await?)?;
    }
    let recorded = services.store.journal(id).await?;
    let (end, head) = (End::of::<Crew>(&recorded), head_of(id, &recorded));
    let run = replay::<Crew>(id, recorded)?;
    let config = moved.as_ref().unwrap_or_else(|| run.config());
    let unknown = run.agents_at_work().find(|name| config.agent(name).is_none());
    if let Some(name) = unknown {
        return Err(ConfigError::new("agents", format!("no `{name}`"), "the agents that the crew began with").into());
    }
    let root = PathBuf::from(&config.workspace);
    let site = take(&services, &parts, &config.access, id, &root, &stops).await?;
    let moved = match moved {
        Some(config) => {
            let (config, place) = (site.equip(config, &parts), Arc::clone(&site.place));
            let base = blocking(move || place.look(FrameId::ROOT)).await?;
            Some(Box::new(MovedCrew { config, base }))
        }
        None => None,
    };
    let lease = services.store.acquire(id, Some(services.lease_holder())).await?;
    services.store.clear_stop(lease).await?;
    let mut crew = Journaled::reopened(lease, run, head, end);
    let outcome = crew.run.outcome().cloned();
    let effects = match (outcome, crew.end) {
        (Some(CrewOutcome::Answered { .. }), End::Written) => return Err(Error::AlreadyComplete(id)),
        // The former process decided and died before it could say so.
        (Some(outcome @ CrewOutcome::Answered { .. }), End::Unwritten) => {
            vec![CrewEffect::Finish { outcome: Box::new(outcome) }]
        }
        _ => {
            // A request that was on its way when the process died may have cost what was reserved for it.
            let mut lost = Money::ZERO;
            for open in services.store.open_reservations(id).await? {
                let settlement = Settlement { attempt: open.attempt, amount: open.amount };
                services.store.settle(lease, settlement).await?;
                lost += open.amount;
            }
            let CrewLimits { max_cost, max_rounds } = limits;
            crew.advance(&services, CrewEvent::Resumed { lost, max_cost, max_rounds, moved }).await?
        }
    };
    Ok(OpenedCrew::new(services, parts, crew, effects, site, stops))
}

/// A workspace that a crew holds.
struct Taken {
    place: Arc<Place>,
    lock: Lock,
    sandbox: String,
}

impl Taken {
    /// The configuration with the tools that there are here.
    fn equip(&self, config: CrewConfig, parts: &CrewParts) -> CrewConfig {
        let mut tools = self.place.effects();
        if parts.run_loop.is_some() {
            tools.insert("ralph_loop".to_owned(), ralph_crew::ToolEffect::Runs);
        }
        CrewConfig { tools, ..config }
    }
}

async fn take(
    services: &Services,
    parts: &CrewParts,
    access: &Access,
    id: RunId,
    root: &std::path::Path,
    stops: &Stops,
) -> Result<Taken, Error> {
    let mut sandbox = sandbox_in_words(services, parts.sandbox, std::iter::empty())?;
    let own = std::iter::once(root.to_owned());
    sandbox.push_str(&crate::hidden::ensure_possible(services, access, parts.sandbox, own)?);
    let Site { lock, workspace, repository } = Site::take(services, id, root, stops.flag()).await?;
    let folders = repository.as_ref().map(Repository::folders).unwrap_or_default();
    let access = access.clone();
    let place =
        Place::new(services.clone(), parts, access, id, root.to_owned(), workspace, repository, folders, &lock).await?;
    Ok(Taken { place: Arc::new(place), lock, sandbox })
}

/// What a task answers with: an event, and what a request to a model cost.
type Answer = (CrewEvent, Option<Settlement>);

impl OpenedCrew {
    fn new(
        services: Services,
        parts: CrewParts,
        crew: Journaled<Crew>,
        effects: Vec<CrewEffect>,
        site: Taken,
        stops: Stops,
    ) -> Self {
        let Taken { place, lock, sandbox } = site;
        let (cut, cuts) = watch::channel(None);
        let round = Arc::new(AtomicU32::new(0));
        let worker = Worker {
            ask: models::listed(&parts, &services, &place.folder, &round),
            model_name: Arc::clone(&parts.model_name),
            call: place.calls(cuts),
            specs: place.specs(),
            prices: Arc::clone(&services.prices),
            tell: Arc::clone(&parts.tell),
            key: crew.lease.run.to_string(),
        };
        Self {
            services,
            parts,
            crew,
            effects,
            place,
            worker,
            stops,
            cut,
            lock: Some(lock),
            stopped: None,
            notifying: Notifying::new(),
            sandbox,
            round,
            is_conversation: false,
        }
    }

    pub const fn run_id(&self) -> RunId {
        self.crew.lease.run
    }

    /// How tools and agents are kept inside, in words.
    pub fn sandbox(&self) -> &str {
        &self.sandbox
    }

    /// What was wrong with servers of tools, so that they are not used.
    pub fn problems(&self) -> Vec<String> {
        self.place.problems()
    }

    /// What the crew has to show for itself so far.
    pub fn result(&self) -> CrewResult {
        CrewResult::new(self.run_id(), &self.crew.run)
    }

    /// The next request of a conversation.
    pub async fn say(&mut self, text: String) -> Result<CrewResult, Error> {
        // Ctrl-C between two turns was meant for none of them.
        self.stops.clear();
        self.is_conversation = true;
        let effects = self.record(CrewEvent::UserSpoke { text }, None).await?;
        self.effects.extend(effects);
        self.turn().await
    }

    /// Runs the crew until it answered, was ended, or waits for a person who cannot be asked here.
    ///
    /// # Errors
    /// When the journal can no longer be written; the crew can be resumed.
    pub async fn turn(&mut self) -> Result<CrewResult, Error> {
        let mut queue = VecDeque::from(std::mem::take(&mut self.effects));
        let mut tasks: JoinSet<Answer> = JoinSet::new();
        let mut requests = Requests::new(&self.services, self.crew.lease);
        loop {
            while let Some(effect) = queue.pop_front() {
                match effect {
                    CrewEffect::Tell(told) => (self.parts.tell)(told),
                    CrewEffect::Finish { .. } => {}
                    CrewEffect::StopRunning => self.drain(&mut tasks).await?,
                    CrewEffect::BeginAction { call, key } => {
                        let event = CrewEvent::ActionStarted { call, key };
                        queue.extend(self.record(event, None).await?);
                    }
                    effect => {
                        if let Some(event) = self.begin(effect, &mut tasks, &mut requests).await? {
                            queue.extend(self.record(event, None).await?);
                        }
                        if let Some(stop) = self.stopped.take() {
                            let event = CrewEvent::StopRequested { stop };
                            queue.extend(self.record(event, None).await?);
                        }
                    }
                }
            }
            if tasks.is_empty() {
                match self.decided_meanwhile().await? {
                    Some(event) => queue.extend(self.record(event, None).await?),
                    None => return Ok(self.result()),
                }
                continue;
            }
            let (event, settle) = tokio::select! {
                Some(ended) = tasks.join_next() => ended.map_err(|_| Error::Vanished("a task of the crew"))?,
                stop = next_stop(&mut self.stops, &mut requests, &self.services) => {
                    (CrewEvent::StopRequested { stop }, None)
                }
            };
            queue.extend(self.record(event, settle).await?);
        }
    }

    /// Writes the record of the end, unless the crew waits for a person.
    pub async fn close(mut self) -> Result<CrewResult, Error> {
        if self.crew.run.is_unasked() {
            let stop = Stop { when: StopWhen::Now, by: StopBy::Keyboard };
            self.crew.advance(&self.services, CrewEvent::StopRequested { stop }).await?;
        }
        let result = self.result();
        if let Some(outcome) = self.crew.run.outcome().cloned() {
            let event = CrewEvent::CrewFinished { outcome: Box::new(outcome) };
            self.crew.advance(&self.services, event).await?;
            self.services.store.finish(self.crew.lease, None).await?;
            if self.crew.run.rounds() > 0 {
                crate::project::crew_metrics(&self.services, &self.crew.run, &result);
            }
            if !self.is_conversation {
                self.notify("finished", &result.headline());
            }
        }
        let is_stopped =
            matches!(self.crew.run.outcome(), Some(CrewOutcome::Aborted { cause: CrewAbort::Stopped { .. } }));
        let ending = Ending { is_stopped, stops: &mut self.stops };
        crate::notify::all_sent(&self.services, self.notifying, ending).await;
        Ok(result)
    }

    /// The files of the workspace as they are now, as a snapshot.
    pub async fn tree(&self) -> Result<TreeHash, Error> {
        let place = Arc::clone(&self.place);
        blocking(move || place.snapshot("delegations")).await
    }

    /// Notifies people in the background.
    fn notify(&mut self, kind: &'static str, text: &str) {
        let about = About {
            services: &self.services,
            run: self.crew.lease.run,
            folder: &self.place.folder,
            workspace: &self.crew.run.config().workspace,
        };
        crate::notify::begin(&about, kind, text, &mut self.notifying);
    }

    /// Begins an effect: most are tasks of their own, some are answered at once.
    async fn begin(
        &mut self,
        effect: CrewEffect,
        tasks: &mut JoinSet<Answer>,
        requests: &mut Requests,
    ) -> Result<Option<CrewEvent>, Error> {
        let (worker, place, cuts) = (self.worker.clone(), Arc::clone(&self.place), self.cut.subscribe());
        let crew = &self.crew.run;
        match effect {
            CrewEffect::Ask { frame, attempt, most } => {
                let Some(ask) = worker.asks(crew, frame) else { return Ok(None) };
                return self.ask(tasks, frame, attempt, ask, most, Kind::Answer).await;
            }
            CrewEffect::Compact { frame, attempt, most } => {
                let Some(ask) = worker.asks_summary(crew, frame) else { return Ok(None) };
                return self.ask(tasks, frame, attempt, ask, most, Kind::Summary).await;
            }
            CrewEffect::Review { attempt, most } => {
                let Some(ask) = worker.asks_review(crew) else { return Ok(None) };
                return self.ask(tasks, FrameId::ROOT, attempt, ask, most, Kind::Review).await;
            }
            CrewEffect::CallTool { frame, call, tool } => {
                let folder = crew.folder(frame).map(str::to_owned);
                tasks.spawn(async move { (worker.call(folder, call, tool).await, None) });
            }
            CrewEffect::OpenDelegation { frame, isolate } => {
                tasks.spawn(async move { (place.open(frame, isolate).await, None) });
            }
            CrewEffect::CheckDelegation { frame, base, expects, evidence } => {
                tasks.spawn(async move { (place.check(frame, base, &expects, evidence, cuts).await, None) });
            }
            CrewEffect::RunAgent { call, delegation, most } => {
                let (round, attempt) = (crew.rounds(), agent::attempt(call));
                let granted = match self.reserve(attempt, most.unwrap_or_default()).await? {
                    Ok(granted) => granted,
                    Err((spent, cap)) => {
                        let why = format!("not done: {spent} of the {cap} that may be spent in a day is spent");
                        return Ok(Some(CrewEvent::tool_finished(call, ToolOutcome::failed(why))));
                    }
                };
                tasks.spawn(async move {
                    let event = place.run_agent(call, round, *delegation, granted, cuts).await;
                    let amount = if let CrewEvent::ToolFinished { cost, .. } = &event { *cost } else { granted };
                    (event, Some(Settlement { attempt, amount }))
                });
            }
            CrewEffect::RunLoop { call, arguments, most } => {
                let Some(run_loop) = self.parts.run_loop.clone() else {
                    let outcome = ToolOutcome::failed("loops cannot be run here");
                    return Ok(Some(CrewEvent::tool_finished(call, outcome)));
                };
                // The loop takes the workspace for itself.
                self.lock = None;
                self.place.holds(None).await;
                let (stopper, stops) = crate::stops::stops();
                let mut running = run_loop(arguments, most.unwrap_or_default(), stops);
                let (outcome, cost) = loop {
                    tokio::select! {
                        ended = &mut running => break ended,
                        stop = next_stop(&mut self.stops, requests, &self.services) => {
                            stopper.stop(StopWhen::Now, stop.by);
                            self.stopped = Some(stop);
                        }
                    }
                };
                let root = PathBuf::from(&self.crew.run.config().workspace);
                let site = Site::take(&self.services, self.run_id(), &root, self.stops.flag()).await?;
                self.place.holds(Some(&site.lock)).await;
                self.lock = Some(site.lock);
                return Ok(Some(CrewEvent::ToolFinished { call, outcome, cost, result: None }));
            }
            CrewEffect::AskPerson { question } => return self.ask_person(question, tasks).await,
            CrewEffect::BeginAction { .. }
            | CrewEffect::StopRunning
            | CrewEffect::Tell(_)
            | CrewEffect::Finish { .. } => {}
        }
        Ok(None)
    }

    /// Reserves money of the day; else what of it is spent or reserved, and its cap.
    async fn reserve(&self, attempt: Attempt, want: Money) -> Result<Result<Money, (Money, Money)>, Error> {
        let (day, cap) = ((self.services.now)().utc_date(), self.services.caps.daily_cost);
        let reserve = Reserve { day, attempt, want, day_cap: cap, pool: None };
        let reservation = self.services.store.reserve(self.crew.lease, reserve).await?;
        if reservation.granted == Money::ZERO && want > Money::ZERO {
            self.services.store.release(self.crew.lease, attempt).await?;
            return Ok(Err((reservation.day.settled + reservation.day.reserved, cap)));
        }
        Ok(Ok(reservation.granted))
    }

    async fn ask(
        &self,
        tasks: &mut JoinSet<Answer>,
        frame: FrameId,
        attempt: Attempt,
        ask: ModelAsk,
        most: Option<Money>,
        kind: Kind,
    ) -> Result<Option<CrewEvent>, Error> {
        let (worker, mut cuts) = (self.worker.clone(), self.cut.subscribe());
        let reserved = match self.reserve(attempt, worker.reservation(&ask, most)).await? {
            Ok(reserved) => reserved,
            Err((spent, cap)) => return Ok(Some(CrewEvent::BudgetRefused { frame, attempt, spent, cap })),
        };
        self.round.store(self.crew.run.rounds(), Ordering::Relaxed);
        tasks.spawn(async move {
            let asking = async {
                match kind {
                    Kind::Answer => worker.ask(frame, attempt, ask, reserved).await,
                    Kind::Summary => worker.compact(frame, attempt, ask, reserved).await,
                    Kind::Review => worker.review(attempt, ask, reserved).await,
                }
            };
            let event = tokio::select! {
                event = asking => event,
                _ = cuts.wait_for(Option::is_some) => CrewEvent::cut_off(frame, attempt, reserved),
            };
            let amount = match &event {
                CrewEvent::ModelAnswered { cost, .. }
                | CrewEvent::ModelFailed { cost, .. }
                | CrewEvent::Compacted { cost, .. }
                | CrewEvent::Reviewed { cost, .. } => *cost,
                _ => Money::ZERO,
            };
            (event, Some(Settlement { attempt, amount }))
        });
        Ok(None)
    }

    async fn record(&mut self, event: CrewEvent, settle: Option<Settlement>) -> Result<Vec<CrewEffect>, Error> {
        let at = (self.services.now)();
        let encoded = encode(at, &event)?;
        let mut next = self.crew.run.clone();
        let effects = next.step(at, event);
        let ended = |crew: &Crew| crew.delegations().iter().filter(|record| record.result.is_some()).count();
        if let Some(push) = self.parts.push.as_ref().filter(|_| ended(&next) > ended(&self.crew.run)) {
            push(self.tree().await?).await.map_err(Error::Unpushed)?;
        }
        self.crew.commit(&self.services, encoded, next, Append { settle, ..Append::default() }).await?;
        Ok(effects)
    }

    /// Ends what is under way, and writes down what it cost.
    async fn drain(&mut self, tasks: &mut JoinSet<Answer>) -> Result<(), Error> {
        self.cut.send_replace(Some(Cut::Requested));
        while let Some(ended) = tasks.join_next().await {
            if let Ok((event, settle)) = ended
                && !matches!(event, CrewEvent::Decided { .. })
            {
                self.record(event, settle).await?;
            }
        }
        self.cut.send_replace(None);
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Answer,
    Summary,
    Review,
}

async fn next_stop(stops: &mut Stops, requests: &mut Requests, services: &Services) -> Stop {
    tokio::select! {
        stop = stops.next() => stop,
        stop = requests.next(services) => stop,
    }
}
