//! The running loop: one ordered inbox, one journal, one effect at a time.

use std::collections::VecDeque;
use std::time::Instant;

use ralph_engine::{Effect, Event, JournalEvent as _, Stop, StopBy, StopWhen};
use ralph_model::{Attempt, ErrorCause, Iteration, Outcome};
use ralph_process::Stop as Cut;
use ralph_view::{Progress, RunResult};
use tokio::sync::watch;

use crate::attempts::Attempts;
use crate::error::Error;
use crate::journaled::End;
use crate::live::Live;
use crate::notify::{self, Ending, Notifying};
use crate::perform::{Answer, Context, Task};
use crate::project;
use crate::requests::Requests;
use crate::services::AgentSignals;
use crate::stops::Stops;

/// Where a loop waits for something that no effect does.
pub(crate) enum Pause {
    /// Nothing is left to do but to say so.
    Over { outcome: Outcome },
    /// An agent in a session of the user's own has to work.
    Session { iteration: Iteration, attempt: Attempt, prompt: String },
}

pub(crate) struct Driver {
    pub(crate) context: Context,
    pub(crate) live: Live,
    inbox: Inbox,
    notifying: Notifying,
}

impl Driver {
    pub(crate) fn new(context: Context, live: Live, stops: Stops) -> Self {
        let requests = Requests::new(&context.services, live.lease);
        Self { context, live, inbox: Inbox { stops, requests }, notifying: Notifying::new() }
    }

    pub(crate) async fn run(mut self, effects: Vec<Effect>) -> Result<RunResult, Error> {
        match self.advance(effects).await? {
            Pause::Over { outcome } => self.finish(outcome).await,
            // A loop of a session is never opened for this.
            Pause::Session { .. } => self.finish(Outcome::Error { cause: ErrorCause::Idle }).await,
        }
    }

    /// Drives the loop until it is over, or until an agent in a session has to work, which is not this process's to start.
    pub(crate) async fn advance(&mut self, effects: Vec<Effect>) -> Result<Pause, Error> {
        let mut queue = VecDeque::from(effects);
        self.write_ledger();
        while let Some(effect) = queue.pop_front() {
            match effect {
                Effect::Finish { outcome } => return Ok(Pause::Over { outcome }),
                Effect::RunAgent { iteration, attempt, agent, prompt, .. } if agent.is_in_session() => {
                    return Ok(Pause::Session { iteration, attempt, prompt });
                }
                Effect::RaiseAlert(alert) => {
                    notify::alert(&self.context, alert, &mut self.notifying);
                    queue.extend(self.live.record(&self.context.services, Event::AlertRaised { alert }).await?);
                }
                // Only an effect that is under way can be cut short, and none is.
                Effect::StopRunning { .. } => {}
                effect @ (Effect::RunBaseline { .. }
                | Effect::BeginIteration { .. }
                | Effect::RunAgent { .. }
                | Effect::RestoreProhibited { .. }
                | Effect::RunChecks { .. }
                | Effect::TripWire { .. }
                | Effect::RestorePinned { .. }
                | Effect::RestoreTree { .. }
                | Effect::CommitWork { .. }) => {
                    let facts = self.live.run.facts();
                    if matches!(effect, Effect::BeginIteration { .. }) && facts.next_agent().is_in_session() {
                        // That one is nobody's to start, and its checks are those of another process.
                        self.context.services.supervisor.release();
                    }
                    if let Some(task) = Task::of(effect, facts) {
                        queue.extend(self.carry_out(task).await?);
                    }
                }
            }
        }
        // The engine always ends with `Finish`; a journal that was just finished by another process lands here.
        let ended = self.live.run.outcome().cloned();
        Ok(Pause::Over { outcome: ended.unwrap_or(Outcome::Error { cause: ErrorCause::Idle }) })
    }

    /// Carries one task out while it listens for requests to stop. The task goes on while a request is written down: somebody
    /// has to watch the agent, however long the database is locked.
    pub(crate) async fn carry_out(&mut self, task: Task) -> Result<Vec<Effect>, Error> {
        let (name, started) = (task.name(), Instant::now());
        tracing::debug!(effect = name, phase = self.live.run.phase().name(), "effect started");
        let (cut, cuts) = watch::channel(None);
        let flag = self.inbox.stops.flag();
        let Self { context, live, inbox, .. } = self;
        let context = &*context;
        let mut extra = Vec::new();
        // Of this run of the agent alone.
        let mut full = context.services.signals.context_full.clone().filter(|_| matches!(task, Task::Agent(_)));
        full.iter_mut().for_each(tokio::sync::watch::Receiver::mark_unchanged);
        let hear = |stop: Stop| {
            tracing::info!(?stop, "a stop was requested");
            context.services.tell(Progress::StopHeard { stop });
            // Before it is written down: nothing is decided by it, and whatever is under way may cost money.
            if stop.when == StopWhen::Now {
                flag.request();
                cut.send_replace(Some(Cut::Requested));
            }
        };
        let answer = {
            let performing = context.perform(task, cuts);
            tokio::pin!(performing);
            let (mut answer, mut unwritten) = (None, None::<Stop>);
            loop {
                let Some(stop) = unwritten.take() else {
                    if let Some(answer) = answer {
                        break answer;
                    }
                    tokio::select! {
                        done = &mut performing => answer = Some(done),
                        () = AgentSignals::until_full(&mut full) => {
                            tracing::info!("the agent's context is full");
                            cut.send_replace(Some(Cut::Requested));
                        }
                        stop = inbox.next(context) => {
                            if live.run.facts().stop.is_none_or(|known| known.when < stop.when) {
                                hear(stop);
                                unwritten = Some(stop);
                            }
                        }
                    }
                    continue;
                };
                let was_answered = answer.is_some();
                let recorded = {
                    let recording = live.record(&context.services, Event::StopRequested { stop });
                    tokio::pin!(recording);
                    loop {
                        tokio::select! {
                            recorded = &mut recording => break recorded,
                            done = &mut performing, if answer.is_none() => answer = Some(done),
                            next = inbox.next(context) => {
                                if next.when > unwritten.unwrap_or(stop).when {
                                    hear(next);
                                    unwritten = Some(next);
                                }
                            }
                        }
                    }
                };
                match recorded {
                    Ok(effects) => {
                        let (cuts, others): (Vec<_>, Vec<_>) =
                            effects.into_iter().partition(|effect| matches!(effect, Effect::StopRunning { .. }));
                        if !cuts.is_empty() {
                            cut.send_replace(Some(Cut::Requested));
                        }
                        extra.extend(others);
                    }
                    // While the task is under way there is time to try again.
                    Err(Error::Store(ralph_store::Error::Busy { .. })) if !was_answered => {
                        unwritten = unwritten.or(Some(stop));
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) => fault(context, live, &error).await?,
        };
        if let Event::AgentFinished { run, claim, .. } = &mut answer.event {
            // Now, by the prompt that the agent was given: a later version may build another one from the same journal.
            *claim = live.run.claim(&run.final_message);
            if context.services.signals.claimed.as_ref().is_some_and(|claimed| claimed(run)) {
                claim.get_or_insert_default().done = true;
            }
        }
        if matches!(answer.event, Event::IterationStarted { .. }) {
            extra.extend(take_hints(context, live).await?);
        }
        tracing::debug!(effect = name, answer = answer.event.kind(), elapsed = ?started.elapsed(), "effect answered");
        extra.extend(live.record(&context.services, answer).await?);
        self.write_ledger();
        Ok(extra)
    }

    /// An iteration whose checks are still to come is not worth a page of its own.
    fn write_ledger(&self) {
        if !self.live.run.has_open_iteration() {
            project::ledger(&self.context, &self.live.view());
        }
    }

    /// Writes the record of the end and everything that people see of it.
    pub(crate) async fn finish(mut self, outcome: Outcome) -> Result<RunResult, Error> {
        let services = self.context.services.clone();
        if self.live.end == End::Unwritten {
            self.live.record(&services, Event::LoopFinished { outcome: outcome.clone() }).await?;
        }
        tracing::info!(?outcome, "the loop ended");
        self.context.clear_scratch().await;
        let view = self.live.view();
        let result = self.live.result(&view, &outcome, &self.context.folder);
        project::ledger(&self.context, &view);
        project::metrics(&self.context, &view, &result);
        // Last: a loop without its certificate has projections that were not written, and `resume` writes them.
        let certificate = project::certificate(&self.context, &view, &self.live.head);
        // Takes back what is of no use any more: a request to stop that came too late, money for a pass that never began.
        if let Err(error) = services.store.finish(self.live.lease, certificate.as_deref()).await {
            services.warn(format!("the end of the loop could not be recorded: {error}"));
        }
        // Nobody waits for a loop that lost a race.
        let is_urgent = |stop: &Stop| stop.when == StopWhen::Now && !matches!(stop.by, StopBy::Race { .. });
        let is_stopped = self.live.run.facts().stop.as_ref().is_some_and(is_urgent);
        let ending = Ending { is_stopped, stops: &mut self.inbox.stops };
        notify::finished(&self.context, &result, self.notifying, ending).await;
        Ok(result)
    }
}

/// Everybody who can ask a running loop to stop.
struct Inbox {
    stops: Stops,
    requests: Requests,
}

impl Inbox {
    /// The next request, which may be known already. Loses nothing when it is dropped.
    async fn next(&mut self, context: &Context) -> Stop {
        tokio::select! {
            // The keyboard does not wait for a look at the database.
            stop = self.stops.next() => stop,
            stop = self.requests.next(&context.services) => stop,
        }
    }
}

/// Takes what users told the loop into the journal, before the prompt that it is for is made.
async fn take_hints(context: &Context, live: &mut Live) -> Result<Vec<Effect>, Error> {
    let services = &context.services;
    let known = live.run.facts().hints.last().map_or(0, |hint| hint.number);
    let hints = match services.store.hints_after(live.lease.run, known).await {
        Ok(hints) => hints,
        // They stay in the store for the next iteration.
        Err(error) => {
            services.warn(format!("messages to the loop cannot be read: {error}"));
            return Ok(Vec::new());
        }
    };
    let mut effects = Vec::new();
    for hint in hints {
        let text = services.redactor.text(&hint.text).into_owned();
        effects.extend(live.record(services, Event::HintGiven { number: hint.number, text }).await?);
    }
    Ok(effects)
}

/// Ralph's own machinery failed: the loop ends for now, and an agent that ran is charged for as if Ralph had died.
async fn fault(context: &Context, live: &Live, error: &Error) -> Result<Answer, Error> {
    tracing::warn!(error = error.chain(), "an effect failed");
    let (lost, money) = live.lost(&Attempts::read(&context.services, live.lease).await?).unzip();
    let stopped = matches!(error, Error::Workspace(ralph_workspace::Error::Stopped));
    let event = Event::Faulted { error: error.chain(), lost, stopped };
    Ok(Answer { money: money.flatten(), ..event.into() })
}
