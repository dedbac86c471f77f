//! The running loop: one ordered inbox, one journal, one effect at a time.

use std::collections::VecDeque;
use std::time::Duration;

use ralph_engine::{Effect, Event, Stop, StopBy, StopWhen};
use ralph_model::{ErrorCause, Outcome};
use ralph_process::Stop as Cut;
use ralph_store::StopMode;
use ralph_view::{Progress, RunResult};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};

use crate::error::Error;
use crate::journaled::End;
use crate::live::Live;
use crate::notify::{self, Notifying};
use crate::perform::{Answer, Context, Task};
use crate::project;
use crate::stops::Stops;

/// How often another process's request to stop is looked for.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(400);

/// A loop, from here to its end.
pub(crate) struct Driver {
    context: Context,
    pub(crate) live: Live,
    inbox: Inbox,
    notifying: Notifying,
}

impl Driver {
    pub(crate) fn new(context: Context, live: Live, stops: Stops) -> Self {
        Self { context, live, inbox: Inbox::new(stops), notifying: Notifying::new() }
    }

    pub(crate) async fn run(mut self, effects: Vec<Effect>) -> Result<RunResult, Error> {
        let mut queue = VecDeque::from(effects);
        project::ledger(&self.context, &self.live.view());
        while let Some(effect) = queue.pop_front() {
            match effect {
                Effect::Finish { outcome } => return self.finish(outcome).await,
                Effect::RaiseAlert(alert) => {
                    notify::alert(&self.context, alert, &mut self.notifying);
                    queue.extend(self.live.record(&self.context.services, Event::AlertRaised { alert }, None).await?);
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
                    if let Some(task) = Task::of(effect, self.live.run.facts()) {
                        queue.extend(self.carry_out(task).await?);
                    }
                }
            }
        }
        // The engine always ends with `Finish`; a journal that was just finished by another process lands here.
        let ended = self.live.run.outcome().cloned();
        self.finish(ended.unwrap_or(Outcome::Error { cause: ErrorCause::Idle })).await
    }

    /// Carries one task out while it listens for requests to stop. The task goes on while a request is written down: somebody
    /// has to watch the agent, however long the database is locked.
    async fn carry_out(&mut self, task: Task) -> Result<Vec<Effect>, Error> {
        let (cut, cuts) = watch::channel(None);
        let flag = self.inbox.stops.flag();
        let Self { context, live, inbox, .. } = self;
        let context = &*context;
        let mut extra = Vec::new();
        let hear = |stop: Stop| {
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
                    let recording = live.record(&context.services, Event::StopRequested { stop }, None);
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
        let Answer { mut event, money } = match answer {
            Ok(answer) => answer,
            Err(error) => fault(context, live, &error),
        };
        if let Event::AgentFinished { run, claim, .. } = &mut event {
            // Now, by the prompt that the agent was given: a later version may build another one from the same journal.
            *claim = live.run.claim(&run.final_message);
        }
        extra.extend(live.record(&context.services, event, money).await?);
        // An iteration whose checks are still to come is not worth a page of its own.
        if !self.live.run.has_open_iteration() {
            project::ledger(&self.context, &self.live.view());
        }
        Ok(extra)
    }

    /// Writes the record of the end and everything that people see of it.
    async fn finish(mut self, outcome: Outcome) -> Result<RunResult, Error> {
        let services = self.context.services.clone();
        if self.live.end == End::Unwritten {
            self.live.record(&services, Event::LoopFinished { outcome: outcome.clone() }, None).await?;
        }
        self.tidy().await;
        let view = self.live.view();
        let result = self.live.result(&view, &outcome, &self.context.folder);
        project::ledger(&self.context, &view);
        project::metrics(&self.context, &view, &result);
        // Last: a loop without its certificate was not told to its end, and `resume` makes up for that.
        project::certificate(&self.context, &view, &self.live.head);
        notify::finished(&self.context, &result, self.notifying).await;
        Ok(result)
    }

    /// Takes back what nobody will use: a request to stop that came too late, money for a pass that never began.
    async fn tidy(&self) {
        self.context.clear_scratch().await;
        if let Err(error) = self.context.services.store.finish(self.live.lease, None).await {
            self.context.services.warn(format!("the end of the loop could not be tidied up: {error}"));
        }
    }
}

/// Everybody who can ask a running loop to stop.
struct Inbox {
    stops: Stops,
    /// One rhythm over all effects: a loop of quick ones would never come to look otherwise.
    look: Interval,
    sight: Sight,
}

/// Whether requests of other processes can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Clear,
    Blind,
}

impl Inbox {
    fn new(stops: Stops) -> Self {
        let mut look = tokio::time::interval(STOP_POLL_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { stops, look, sight: Sight::Clear }
    }

    /// The next request, which may be known already. Loses nothing when it is dropped.
    async fn next(&mut self, context: &Context) -> Stop {
        let Self { stops, look, sight } = self;
        let requested = async {
            loop {
                look.tick().await;
                if let Some(stop) = requested(context, sight).await {
                    return stop;
                }
            }
        };
        tokio::select! {
            // The keyboard does not wait for a look at the database.
            stop = stops.next() => stop,
            stop = requested => stop,
        }
    }
}

/// What another process asked for.
async fn requested(context: &Context, sight: &mut Sight) -> Option<Stop> {
    let asked = context.services.store.stop_requested(context.loop_id).await;
    let before = std::mem::replace(sight, if asked.is_ok() { Sight::Clear } else { Sight::Blind });
    match asked {
        Ok(how) => {
            let when = match how? {
                StopMode::AfterIteration => StopWhen::AfterIteration,
                StopMode::Now => StopWhen::Now,
            };
            Some(Stop { when, by: StopBy::Request })
        }
        Err(error) => {
            if before == Sight::Clear {
                context.services.warn(format!("requests to stop cannot be seen: {error}"));
            }
            None
        }
    }
}

/// Ralph's own machinery failed: the loop ends for now, and an agent that ran is charged for as if Ralph had died.
fn fault(context: &Context, live: &Live, error: &Error) -> Answer {
    let (lost, money) = live.lost(&context.folder).unzip();
    let stopped = matches!(error, Error::Workspace(ralph_workspace::Error::Stopped));
    Answer { event: Event::Faulted { error: error.chain(), lost, stopped }, money: money.flatten() }
}
