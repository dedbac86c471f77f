//! Several loops with one objective and one budget: each works in a worktree of its own, the first that is verified wins, and
//! the others are stopped.

use std::collections::HashMap;

use ralph_engine::text::{self, Continuation};
use ralph_engine::{StopBy, StopWhen};
use ralph_model::{Isolation, LoopConfig, LoopId, Money, Race, ValidLoopConfig};
use ralph_view::{CandidateView, CauseView, RaceResult, RunResult};
use ralph_workspace::Repository;
use tokio::task::{self, JoinSet};
use uuid::Uuid;

use crate::error::Error;
use crate::open::{Opened, open};
use crate::services::Services;
use crate::stops::{Stopper, Stops, stops};

/// A race whose candidates hold their worktrees and wait to be run.
pub struct OpenedRace {
    services: Services,
    workspace: String,
    pool: String,
    titles: Vec<String>,
    opened: Vec<Opened>,
    stoppers: Vec<Stopper>,
    stops: Stops,
}

/// Makes the candidates of a race. Every one begins with another agent, as far as there are several. Nothing runs yet.
///
/// # Errors
/// When a candidate cannot begin; then none does.
pub async fn begin_race(
    services: Services,
    config: ValidLoopConfig,
    candidates: u32,
    stops: Stops,
) -> Result<OpenedRace, Error> {
    let pool = Uuid::now_v7().to_string();
    let configs = configs(&config, &pool, candidates);
    let titles: Vec<String> = configs.iter().map(|config| config.agent.title()).collect();
    let (mut opened, mut stoppers) = (Vec::new(), Vec::new());
    // One after the other: they share a repository.
    for (number, own) in configs.into_iter().enumerate() {
        let (stopper, own_stops) = self::stops();
        let candidate = u32::try_from(number + 1).ok();
        let tagged = services.clone().tagged(move |update| update.candidate = candidate);
        match open(tagged, own, own_stops).await {
            Ok(ready) => opened.push(ready),
            Err(error) => {
                let withdrawn = withdraw(opened, &stoppers).await;
                clear_losers(&services, &config.workspace, &withdrawn, None).await;
                return Err(error);
            }
        }
        stoppers.push(stopper);
    }
    Ok(OpenedRace { services, workspace: config.workspace.clone(), pool, titles, opened, stoppers, stops })
}

impl OpenedRace {
    /// Runs it to its end.
    ///
    /// # Errors
    /// When no candidate could be brought to its end.
    pub async fn run(self) -> Result<RaceResult, Error> {
        let Self { services, workspace, pool, titles, opened, stoppers, stops } = self;
        let mut running = Running { services: &services, tasks: JoinSet::new(), candidates: HashMap::new() };
        for (number, opened) in opened.into_iter().enumerate() {
            let (loop_id, agent) = (opened.loop_id(), titles[number].clone());
            let task = running.tasks.spawn(async move { (number, opened.run().await) });
            running.candidates.insert(task.id(), Runner { number: number + 1, agent, loop_id });
        }
        let mut results = referee(running, &stoppers, stops).await?;
        // In the order in which they came: one that was about to verify when it was stopped may have done so all the same.
        let first = results.iter().find(|(_, result)| result.verified).map(|(number, _)| *number);
        results.sort_by_key(|(number, _)| *number);
        let winner = results.iter().position(|(number, _)| Some(*number) == first);
        if winner.is_some() {
            clear_losers(&services, &workspace, &results, winner).await;
        } else {
            // Of whoever changed nothing there is nothing to keep.
            let idle: Vec<_> = results.iter().filter(|(_, result)| result.is_unchanged).cloned().collect();
            clear_losers(&services, &workspace, &idle, None).await;
        }
        let counts = winner.unwrap_or_else(|| furthest(&results));
        let told: Money = results.iter().map(|(_, result)| result.cost).sum();
        // A candidate whose end could not be written down has its cost in the books, or what was held for it.
        let totals = services.store.pool_totals(&pool).await;
        let booked = totals.map(|totals| totals.settled + totals.reserved).unwrap_or_default();
        let spent = told.max(booked);
        let race = results
            .iter()
            .enumerate()
            .map(|(place, (number, result))| candidate(&titles[*number], result, Some(place) == winner))
            .collect();
        let (_, mut best) = results.swap_remove(counts);
        if winner.is_none() && best.is_unchanged {
            best = of_nothing(best);
        }
        Ok(RaceResult { result: RunResult { cost: spent, ..best }, race })
    }
}

/// Ends candidates that began in vain, so that nobody takes them for loops that were interrupted.
async fn withdraw(opened: Vec<Opened>, stoppers: &[Stopper]) -> Vec<(usize, RunResult)> {
    stoppers.iter().for_each(|stopper| stopper.stop(StopWhen::Now, StopBy::Request));
    let mut results = Vec::new();
    for (number, opened) in opened.into_iter().enumerate() {
        // Whoever started the race is told why it cannot be run; a fault here adds nothing.
        results.extend(opened.run().await.ok().map(|result| (number, result)));
    }
    results
}

/// The candidates while they run.
struct Running<'a> {
    services: &'a Services,
    tasks: JoinSet<(usize, Result<RunResult, Error>)>,
    candidates: HashMap<task::Id, Runner>,
}

/// Who is meant by a task.
struct Runner {
    number: usize,
    agent: String,
    loop_id: LoopId,
}

impl Running<'_> {
    /// Says that a candidate came to no end; the others go on, and it can later.
    fn broke_off(&self, task: task::Id, error: Error) -> Error {
        if let Some(Runner { number, agent, loop_id }) = self.candidates.get(&task) {
            self.services.warn(format!(
                "candidate {number} ({agent}) broke off: {}; `ralph resume {}` goes on with it",
                error.chain(),
                loop_id.short()
            ));
        }
        error
    }
}

/// Waits for all candidates; stops the others when one is verified, and all when somebody asks.
async fn referee(
    mut running: Running<'_>,
    stoppers: &[Stopper],
    mut stops: Stops,
) -> Result<Vec<(usize, RunResult)>, Error> {
    let mut results = Vec::new();
    let mut failure = None;
    loop {
        tokio::select! {
            ended = running.tasks.join_next_with_id() => match ended {
                None => break,
                Some(Ok((_, (number, Ok(result))))) => {
                    if result.verified {
                        // The winner is over and does not mind.
                        let by = StopBy::Race { winner: result.loop_id };
                        stoppers.iter().for_each(|stopper| stopper.stop(StopWhen::Now, by));
                    }
                    results.push((number, result));
                }
                Some(Ok((task, (_, Err(error))))) => failure = Some(running.broke_off(task, error)),
                Some(Err(error)) => {
                    failure = Some(running.broke_off(error.id(), Error::Vanished("a candidate of the race")));
                }
            },
            stop = stops.next() => stoppers.iter().for_each(|stopper| stopper.stop(stop.when, stop.by)),
        }
    }
    match failure {
        Some(error) if results.is_empty() => Err(error),
        Some(_) | None => Ok(results),
    }
}

/// A configuration for each candidate.
fn configs(config: &LoopConfig, pool: &str, candidates: u32) -> Vec<LoopConfig> {
    let race = Race { id: pool.to_owned(), candidates, cap: config.max_cost };
    let mut agents: Vec<_> = config.agents().cloned().collect();
    let mut configs = Vec::new();
    for _ in 0..candidates {
        let mut own = LoopConfig { isolation: Isolation::Worktree, race: Some(race.clone()), ..config.clone() };
        own.agent.clone_from(&agents[0]);
        own.more_agents = agents[1..].to_vec();
        configs.push(own);
        agents.rotate_left(1);
    }
    configs
}

/// The result of a candidate that is not kept, because it did nothing: it cannot go on.
fn of_nothing(result: RunResult) -> RunResult {
    let details = match &result.cause {
        Some(CauseView::Abort(cause)) => text::aborted(cause, Continuation::NewRun),
        Some(CauseView::Error(cause)) => text::failed(cause, Continuation::NewRun),
        None => result.details.clone(),
    };
    let details = format!("{details}; it changed nothing, so its worktree was removed");
    RunResult { details, best: None, branch: None, ..result }
}

/// Of those that did not make it, the place of the one with the fewest failures; of equals, of one that did something.
fn furthest(results: &[(usize, RunResult)]) -> usize {
    let failing = |result: &RunResult| result.best.as_ref().map_or(u32::MAX, |best| best.failing);
    let places = results.iter().enumerate();
    places.min_by_key(|(_, (_, result))| (failing(result), result.is_unchanged)).map_or(0, |(place, _)| place)
}

fn candidate(agent: &str, result: &RunResult, won: bool) -> CandidateView {
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

/// Removes the worktrees and branches of those that lost. Their snapshots stay with Ralph: `ralph diff` shows them.
async fn clear_losers(services: &Services, workspace: &str, results: &[(usize, RunResult)], winner: Option<usize>) {
    let origin = std::path::PathBuf::from(workspace);
    let scratch = services.home.workspace(&origin);
    let git = services.git.clone();
    let losers: Vec<_> = results
        .iter()
        .enumerate()
        .filter(|(place, _)| Some(*place) != winner)
        .map(|(_, (_, result))| (services.home.worktree(result.loop_id), format!("ralph/{}", result.loop_id.short())))
        .collect();
    let cleared = tokio::task::spawn_blocking(move || {
        let Some(repository) = Repository::find(&origin, &git, &scratch) else { return Vec::new() };
        let removed = losers.iter().map(|(worktree, branch)| repository.discard_worktree(worktree, branch));
        removed.filter_map(Result::err).map(|error| error.to_string()).collect::<Vec<_>>()
    });
    for problem in cleared.await.unwrap_or_default() {
        services.warn(format!("a candidate's worktree could not be removed: {problem}"));
    }
}
