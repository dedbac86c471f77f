//! A race in step with its journal: runs its candidates, each in a worktree of its own, stops those that lost and removes their
//! worktrees. Who wins is decided by [`ralph_engine::RaceRun`].

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use ralph_engine::text::Continuation;
use ralph_engine::{
    CandidateEnd, Machine as _, RaceCandidate, RaceEffect, RaceEvent, RaceOutcome, RaceRun, StopBy, StopWhen,
};
use ralph_model::{AbortReason, Isolation, LoopConfig, LoopId, Money, Outcome, Race, RunId, RunKind, ValidLoopConfig};
use ralph_store::{NewRun, RunStatus, RunSummary, StoreHandle};
use ralph_view::{CandidateView, OutcomeView, RaceResult, RunResult, RunView};
use ralph_workspace::Repository;
use tokio::task::{self, JoinSet};
use uuid::Uuid;

use crate::error::Error;
use crate::journaled::{End, Journaled, Listed, head_of, replay};
use crate::known::read_loop;
use crate::notify::{self, Ending, Notifying};
use crate::open::{Opened, Resume, begin_as, resume};
use crate::requests::Requests;
use crate::services::Services;
use crate::stops::{Stopper, Stops, stops};

/// How often a request to stop is looked for while candidates begin.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Listed for RaceRun {
    const FINISHED: &'static str = "raceFinished";

    fn summary(&self, _: RunId) -> RunSummary {
        let ends = || self.candidates().filter_map(|(_, standing)| standing.end());
        let counts = self.outcome().map(|outcome| {
            self.candidates().find(|(candidate, _)| Some(candidate.run) == outcome.counts).and_then(|(_, s)| s.end())
        });
        let (status, reason) = match counts {
            None => (RunStatus::Running, None),
            Some(Some(CandidateEnd { outcome: Outcome::Completed { .. }, .. })) => (RunStatus::Completed, None),
            Some(Some(CandidateEnd { outcome: Outcome::Aborted { cause }, .. })) => {
                (RunStatus::Aborted, Some(cause.reason().name().to_owned()))
            }
            Some(Some(CandidateEnd { outcome: Outcome::Error { .. }, .. }) | None) => (RunStatus::Error, None),
        };
        RunSummary {
            status,
            reason,
            iterations: ends().map(|end| end.iterations).sum(),
            cost: self.cost(),
            verified: self.winner().is_some(),
            grade: None,
            finished_at: self.outcome().map(|_| self.times().1),
        }
    }
}

pub struct OpenedRace {
    services: Services,
    race: Journaled<RaceRun>,
    effects: Vec<RaceEffect>,
    /// Candidates that hold their worktrees already.
    opened: HashMap<LoopId, (Opened, Stopper)>,
    /// Branches and tags from before it; empty where another process began it.
    refs: BTreeSet<String>,
    stops: Stops,
}

/// Records a race and opens its candidates. Every one begins with another agent, as far as there are several. Nothing runs yet.
///
/// # Errors
/// When a candidate cannot begin; then none does.
pub async fn begin_race(
    services: Services,
    config: ValidLoopConfig,
    candidates: u32,
    stops: Stops,
) -> Result<OpenedRace, Error> {
    let (id, config) = (LoopId::from_uuid(Uuid::now_v7()), config.into_inner());
    let config = LoopConfig { race: Some(Race { id: id.to_string(), candidates, cap: config.max_cost }), ..config };
    let configs = configs(&config);
    let listed = |own: &LoopConfig| RaceCandidate { run: LoopId::from_uuid(Uuid::now_v7()), agent: own.agent.title() };
    let candidates: Vec<RaceCandidate> = configs.iter().map(listed).collect();
    let new = NewRun {
        id,
        kind: RunKind::Race,
        parent: None,
        workspace: config.workspace.clone(),
        origin: None,
        objective: config.objective.clone(),
        agent: config.agent.name.clone(),
        skill: config.skill.as_ref().map(|skill| skill.name.clone()),
        holder: Some(services.lease_holder()),
        at: (services.now)(),
    };
    let first = RaceEvent::RaceStarted { config: Box::new(config), candidates: candidates.clone() };
    let (mut race, effects) = Journaled::<RaceRun>::create(&services, new, first).await?;
    let mut opened = HashMap::new();
    let refs = refs_of(&services, &race.run.config().workspace).await;
    // One after the other: they share a repository.
    for (number, (candidate, own)) in candidates.iter().zip(configs).enumerate() {
        let (stopper, own_stops) = self::stops();
        let mut beginning = pin!(begin_as(candidate.run, tagged(&services, number), own, own_stops));
        let begun = loop {
            tokio::select! {
                begun = &mut beginning => break begun,
                () = tokio::time::sleep(STOP_POLL_INTERVAL) => {
                    if stops.flag().is_requested() {
                        stopper.stop(StopWhen::Now, StopBy::Signal);
                    }
                }
            }
        };
        match begun {
            Ok(ready) => _ = opened.insert(candidate.run, (ready, stopper)),
            Err(error) => {
                withdraw(&services, &mut race, opened, &error).await;
                return Err(error);
            }
        }
    }
    Ok(OpenedRace { services, race, effects, opened, refs, stops })
}

/// Continues a race whose process is gone: candidates that came to no end continue, the others keep their results.
pub async fn resume_race(services: Services, id: RunId, stops: Stops) -> Result<OpenedRace, Error> {
    services.ensure_not_elsewhere(&services.store.run(id).await?)?;
    let recorded = services.store.journal(id).await?;
    let (end, head) = (End::of::<RaceRun>(&recorded), head_of(id, &recorded));
    let run = replay::<RaceRun>(id, recorded)?;
    // Before the lease: taking it would end a race that is still running.
    ensure_not_running(&services, &run).await?;
    let lease = services.store.acquire(id, Some(services.lease_holder())).await?;
    let mut race = Journaled::reopened(lease, run, head, end);
    if race.end == End::Written {
        return Err(Error::AlreadyComplete(id));
    }
    let effects = match race.run.outcome().cloned() {
        // The former process decided and died before it could say so.
        Some(outcome) => vec![RaceEffect::Finish { outcome }],
        None => race.advance(&services, RaceEvent::Resumed).await?,
    };
    Ok(OpenedRace { services, race, effects, opened: HashMap::new(), refs: BTreeSet::new(), stops })
}

/// Refuses a race of which a living process holds a candidate's workspace.
async fn ensure_not_running(services: &Services, race: &RaceRun) -> Result<(), Error> {
    for (candidate, _) in race.candidates() {
        // A candidate that never began has no workspace.
        let Ok(entry) = services.store.run(candidate.run).await else { continue };
        let state = services.home.workspace(&PathBuf::from(entry.workspace));
        if let Some(holder) = ralph_workspace::holder(&state)? {
            return Err(ralph_workspace::LockError::Held { holder }.into());
        }
    }
    Ok(())
}

pub async fn read_race(store: &StoreHandle, id: RunId) -> Result<RaceRun, Error> {
    replay(id, store.journal(id).await?)
}

type Answer = (LoopId, Result<RunResult, Error>);

impl OpenedRace {
    pub async fn run(mut self) -> Result<RaceResult, Error> {
        let (mut tasks, mut names) = (JoinSet::<Answer>::new(), HashMap::<task::Id, LoopId>::new());
        let mut stoppers: HashMap<LoopId, Stopper> = HashMap::new();
        let mut results: HashMap<LoopId, RunResult> = HashMap::new();
        let mut failure = None;
        let mut queue = VecDeque::from(std::mem::take(&mut self.effects));
        let mut requests = Requests::new(&self.services, self.race.lease);
        loop {
            let Some(effect) = queue.pop_front() else {
                let event = tokio::select! {
                    Some(ended) = tasks.join_next_with_id() => {
                        let (run, result) = match ended {
                            Ok((_, answer)) => answer,
                            Err(error) => {
                                let Some(run) = names.get(&error.id()) else { continue };
                                (*run, Err(Error::Vanished("a candidate of the race")))
                            }
                        };
                        match self.concluded(run, result).await {
                            (event, Ok(result)) => {
                                results.insert(run, result);
                                event
                            }
                            (event, Err(error)) => {
                                failure = Some(error);
                                event
                            }
                        }
                    }
                    stop = self.stops.next() => RaceEvent::StopRequested { stop },
                    stop = requests.next(&self.services) => RaceEvent::StopRequested { stop },
                };
                queue.extend(self.race.advance(&self.services, event).await?);
                continue;
            };
            match effect {
                RaceEffect::RunCandidate { run } => {
                    let (stopper, task) = match self.opened.remove(&run) {
                        Some((opened, stopper)) => (stopper, tasks.spawn(async move { (run, opened.run().await) })),
                        None => {
                            let (stopper, own_stops) = self::stops();
                            let (services, config) = (self.services_of(run), self.config_of(run));
                            let task = tasks.spawn(async move { (run, again(services, run, config, own_stops).await) });
                            (stopper, task)
                        }
                    };
                    names.insert(task.id(), run);
                    stoppers.insert(run, stopper);
                }
                RaceEffect::StopCandidates { stop } => {
                    stoppers.values().for_each(|stopper| stopper.stop(stop.when, stop.by));
                }
                RaceEffect::ClearWorktrees { runs } => {
                    let problems = clear_worktrees(
                        &self.services,
                        &self.race.run.config().workspace,
                        &runs,
                        std::mem::take(&mut self.refs),
                    )
                    .await;
                    queue.extend(self.race.advance(&self.services, RaceEvent::LosersCleared { problems }).await?);
                }
                RaceEffect::Finish { outcome } => return self.finish(outcome, results, failure).await,
            }
        }
    }

    /// The end of a candidate, as the race records it.
    async fn concluded(&self, run: LoopId, result: Result<RunResult, Error>) -> (RaceEvent, Result<RunResult, Error>) {
        let ended = match result {
            Ok(result) => end_of(&self.services, run).await.map(|end| (end, result)),
            Err(error) => Err(error),
        };
        match ended {
            Ok((end, result)) => (RaceEvent::CandidateEnded { run, end }, Ok(result)),
            Err(error) => {
                let (number, error_text) = (self.number_of(run), error.chain());
                let agent = self.race.run.candidates().nth(number).map(|(candidate, _)| candidate.agent.clone());
                self.services.warn(format!(
                    "candidate {} ({}) broke off: {error_text}; to continue it: ralph resume {}",
                    number + 1,
                    agent.unwrap_or_default(),
                    run.short()
                ));
                (RaceEvent::CandidateBroke { run, error: error_text }, Err(error))
            }
        }
    }

    /// Which candidate it is, counted from 0.
    fn number_of(&self, run: LoopId) -> usize {
        self.race.run.candidates().position(|(candidate, _)| candidate.run == run).unwrap_or_default()
    }

    fn services_of(&self, run: LoopId) -> Services {
        tagged(&self.services, self.number_of(run))
    }

    fn config_of(&self, run: LoopId) -> LoopConfig {
        configs(self.race.run.config()).swap_remove(self.number_of(run))
    }

    /// Writes the record of the end, and puts the result together. Candidates that ended under an earlier process are read from
    /// their journals.
    async fn finish(
        mut self,
        outcome: RaceOutcome,
        mut results: HashMap<LoopId, RunResult>,
        failure: Option<Error>,
    ) -> Result<RaceResult, Error> {
        let services = self.services.clone();
        let RaceOutcome { winner, counts } = outcome.clone();
        self.race.advance(&services, RaceEvent::RaceFinished { outcome }).await?;
        services.store.finish(self.race.lease, None).await?;
        let mut race = Vec::new();
        for (candidate, standing) in self.race.run.candidates() {
            if standing.end().is_none() {
                continue;
            }
            let result = match results.remove(&candidate.run) {
                Some(result) => result,
                None => read_result(&services, candidate.run).await?,
            };
            race.push(candidate_view(&candidate.agent, &result, Some(candidate.run) == winner));
            results.insert(candidate.run, result);
        }
        let Some(mut best) = counts.and_then(|run| results.remove(&run)) else {
            return Err(failure.unwrap_or(Error::Vanished("every candidate of the race")));
        };
        // A candidate whose end could not be written down has its cost in the books, or what was held for it.
        let totals = services.store.pool_totals(&self.race.lease.run.to_string()).await;
        let booked = totals.map(|totals| totals.settled + totals.reserved).unwrap_or_default();
        let spent: Money = self.race.run.cost().max(booked);
        if winner.is_none() && best.is_unchanged {
            best = of_nothing(best);
        }
        let result = RunResult { cost: spent, ..best };
        let mut notifying = Notifying::new();
        notifying.spawn(notify::to_channels(services.clone(), self.race.lease.run, "finished", result.headline()));
        let is_stopped = result.reason == Some(AbortReason::Cancelled);
        notify::all_sent(&services, notifying, Ending { is_stopped, stops: &mut self.stops }).await;
        Ok(RaceResult { result, race })
    }
}

/// Continues a candidate of a race whose process died: it may never have begun, and it may be over.
async fn again(services: Services, run: LoopId, config: LoopConfig, stops: Stops) -> Result<RunResult, Error> {
    match services.store.run(run).await {
        Ok(_) => {}
        Err(ralph_store::Error::UnknownRun { .. }) => return begin_as(run, services, config, stops).await?.run().await,
        Err(error) => return Err(error.into()),
    }
    match resume(services.clone(), run, Resume::default(), stops).await {
        Ok(opened) => opened.run().await,
        // It came to its end, and the race did not hear of it.
        Err(Error::AlreadyComplete(_) | Error::LimitStands { .. } | Error::Gone { .. }) => {
            read_result(&services, run).await
        }
        Err(error) => Err(error),
    }
}

/// The result of a loop that is over, from its journal.
async fn read_result(services: &Services, run: LoopId) -> Result<RunResult, Error> {
    let (machine, head) = read_loop(&services.store, run).await?;
    let outcome = machine.outcome().ok_or(Error::Vanished("a candidate of the race"))?;
    let folder = services.home.loop_folder(run).root().to_string_lossy().into_owned();
    let (view, outcome) = (RunView::new(run, &machine), OutcomeView::new(run, outcome, &machine));
    Ok(RunResult::new(&view, outcome, folder, head.hash.to_string()))
}

async fn end_of(services: &Services, run: LoopId) -> Result<CandidateEnd, Error> {
    let (machine, _) = read_loop(&services.store, run).await?;
    let outcome = machine.outcome().cloned().ok_or(Error::Vanished("a candidate of the race"))?;
    let facts = machine.facts();
    Ok(CandidateEnd {
        outcome,
        iterations: facts.counted(),
        cost: facts.spent,
        failing: facts.best().map(|best| best.failing),
        unchanged: facts.tree == facts.start.tree,
    })
}

/// Ends candidates of a race that cannot begin, so that they are not taken for loops that were interrupted.
async fn withdraw(
    services: &Services,
    race: &mut Journaled<RaceRun>,
    opened: HashMap<LoopId, (Opened, Stopper)>,
    error: &Error,
) {
    let mut withdrawn = Vec::new();
    for (run, (opened, stopper)) in opened {
        stopper.stop(StopWhen::Now, StopBy::Request);
        // The caller is told why the race cannot begin; a fault here adds nothing.
        match opened.run().await {
            Ok(_) => withdrawn.push(run),
            Err(error) => {
                tracing::warn!(error = error.chain(), run = %run.short(), "a candidate could not be withdrawn")
            }
        }
    }
    let workspace = race.run.config().workspace.clone();
    clear_worktrees(services, &workspace, &withdrawn, BTreeSet::new()).await;
    let runs: Vec<LoopId> = race.run.candidates().map(|(candidate, _)| candidate.run).collect();
    for run in runs {
        let event = RaceEvent::CandidateBroke { run, error: error.chain() };
        if let Err(error) = race.advance(services, event).await {
            tracing::warn!(error = error.chain(), "the end of the race could not be recorded");
            return;
        }
    }
    if let Some(outcome) = race.run.outcome().cloned() {
        let recorded = race.advance(services, RaceEvent::RaceFinished { outcome }).await;
        if recorded.is_ok()
            && let Err(error) = services.store.finish(race.lease, None).await
        {
            tracing::warn!(%error, "the lease of the race could not be ended");
        }
    }
}

/// The services of one candidate: updates say which one they are about.
fn tagged(services: &Services, number: usize) -> Services {
    let candidate = u32::try_from(number + 1).ok();
    services.clone().tagged(move |update| update.candidate = candidate)
}

/// A configuration for each candidate of the race.
fn configs(config: &LoopConfig) -> Vec<LoopConfig> {
    let candidates = config.race.as_ref().map_or(0, |race| race.candidates);
    let mut agents: Vec<_> = config.usual_agents().cloned().collect();
    let mut configs = Vec::new();
    for _ in 0..candidates {
        let mut own = LoopConfig { isolation: Isolation::Worktree, ..config.clone() };
        own.agent.clone_from(&agents[0]);
        own.more_agents = agents[1..].to_vec();
        configs.push(own);
        agents.rotate_left(1);
    }
    configs
}

/// The result of a candidate that is not kept, because it did nothing: it cannot go on.
fn of_nothing(result: RunResult) -> RunResult {
    let result = result.continued_by(Continuation::NewRun);
    let details = format!("{}; it changed nothing, so its worktree was removed", result.details);
    RunResult { details, best: None, branch: None, ..result }
}

fn candidate_view(agent: &str, result: &RunResult, won: bool) -> CandidateView {
    CandidateView {
        loop_id: result.loop_id,
        agent: agent.to_owned(),
        status: result.status,
        won,
        iterations: result.iterations,
        cost: result.cost,
        workspace: result.workspace.clone(),
    }
}

/// The branches and tags of a repository.
async fn refs_of(services: &Services, workspace: &str) -> BTreeSet<String> {
    let origin = PathBuf::from(workspace);
    let (scratch, git) = (services.home.workspace(&origin), services.git.clone());
    let listed = task::spawn_blocking(move || {
        let refs = Repository::find(&origin, &git, &scratch)?.branches_and_tags().ok()?;
        Some(refs.into_keys().collect())
    });
    listed.await.ok().flatten().unwrap_or_default()
}

/// Removes the worktrees and branches of candidates that lost, and returns what could not be removed. Their snapshots stay with
/// Ralph: `ralph diff` shows them. Where it is known which branches and tags are older than the race, those that losers made go too.
async fn clear_worktrees(
    services: &Services,
    workspace: &str,
    runs: &[LoopId],
    older: BTreeSet<String>,
) -> Vec<String> {
    let origin = PathBuf::from(workspace);
    let scratch = services.home.workspace(&origin);
    let git = services.git.clone();
    let losers: Vec<_> =
        runs.iter().map(|run| (services.home.worktree(*run), format!("ralph/{}", run.short()))).collect();
    let cleared = task::spawn_blocking(move || {
        let Some(repository) = Repository::find(&origin, &git, &scratch) else { return Default::default() };
        let made = losers.iter().filter_map(|(worktree, _)| repository.commits_made_in(worktree).ok());
        let made: BTreeSet<String> = made.flatten().collect();
        let removed = losers.iter().map(|(worktree, branch)| repository.discard_worktree(worktree, branch));
        let mut problems: Vec<String> = removed.filter_map(Result::err).map(|error| error.to_string()).collect();
        let mut gone = Vec::new();
        let refs = if older.is_empty() { BTreeMap::new() } else { repository.branches_and_tags().unwrap_or_default() };
        for (name, commit) in refs.into_iter().filter(|(name, commit)| !older.contains(name) && made.contains(commit)) {
            match repository.remove_ref(&name, &commit) {
                Ok(()) => gone.push((name, commit)),
                Err(error) => problems.push(error.to_string()),
            }
        }
        (problems, gone)
    });
    let (problems, gone) = cleared.await.unwrap_or_default();
    for (name, commit) in gone {
        services.warn(format!(
            "removed {name}, which a candidate that lost made; to restore it: git update-ref {name} {commit}"
        ));
    }
    for problem in &problems {
        services.warn(format!("could not remove the worktree of a candidate: {problem}"));
    }
    problems
}
