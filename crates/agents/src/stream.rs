//! Runs a program that tells what it does line by line, and ends it when its money is spent or nothing can come of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_model::{AgentSpec, Cost, Ended, FaultKind, Millis, Money};
use ralph_process::{Finished, Stop, Stream, Supervisor};
use tokio::sync::watch;

use crate::adapter::{Invocation, Parser};
use crate::agent::{Capabilities, EventSink, ReportsCost, StopSignal};
use crate::lines::Lines;
use crate::request::{Counted, Error, Observed, Request};
use crate::transcript::Transcript;

/// A spent budget has to end the run within two seconds, and ending takes one of them.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a program that was refused may be silent. Those that try again by themselves say so more often.
const SILENT_WAIT: Duration = Duration::from_secs(45);

/// Runs the program once, from its start until nothing of it is left.
pub(crate) async fn run(
    supervisor: &Supervisor,
    invocation: Invocation,
    request: Request<'_>,
    agent: &AgentSpec,
    capabilities: Capabilities,
    stop: StopSignal,
    observe: EventSink<'_>,
) -> Result<Observed, Error> {
    let Invocation { program, environment, stdin, pieces, parser } = invocation;
    let (redactor, prices) = (Arc::clone(&request.base.redactor), Arc::clone(&request.base.prices));
    let transcript = Transcript::new(redactor, prices, agent.model.clone(), (request.base.now)())
        .prompted(request.prompt.len())
        .confined(request.base.is_confined());
    let (idle, budget, now) = (request.base.idle, request.budget, request.base.now);
    let counted = Arc::clone(&request.base.counted);
    let environment = merged(request.base.environment.clone(), environment);
    let spec = request.into_spec(program, environment, stdin, pieces);
    let (ended_by, stops) = watch::channel(*stop.borrow());
    let reading = std::sync::Mutex::new(Reading {
        parser,
        transcript,
        stdout: Lines::default(),
        stderr: Lines::default(),
        heard: false,
        capabilities,
        last: Instant::now(),
        idle,
        budget,
        counted,
        now,
        cost_told: None,
        observe,
    });
    let finished = {
        let mut on_text = |stream: Stream, text: &str| {
            let wanted = lock(&reading).read(stream, text);
            ask(&ended_by, wanted);
        };
        let look = async {
            let mut beat = tokio::time::interval(POLL_INTERVAL);
            loop {
                beat.tick().await;
                let wanted = lock(&reading).look();
                ask(&ended_by, wanted);
            }
        };
        tokio::select! {
            // Neither of these two ever ends by itself; first, so that output does not keep them waiting.
            biased;
            never = pass_on(stop, &ended_by) => match never {},
            never = look => match never {},
            finished = supervisor.run(spec, stops, &mut on_text) => finished?,
        }
    };
    let reading = reading.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(reading.finish(finished, agent.unmetered))
}

/// What reads a program's outputs, and for whom.
struct Reading<'a> {
    parser: Box<dyn Parser>,
    transcript: Transcript,
    stdout: Lines,
    stderr: Lines,
    heard: bool,
    capabilities: Capabilities,
    /// When the program last told anything.
    last: Instant,
    idle: Option<Millis>,
    budget: Option<Money>,
    counted: Arc<Counted>,
    now: fn() -> ralph_model::Timestamp,
    /// When the last usage was passed on.
    cost_told: Option<Instant>,
    observe: EventSink<'a>,
}

impl Reading<'_> {
    /// What a program writes beside its stream is a sign of life too, where it means something.
    fn note_life(&mut self, before: u64) {
        if self.transcript.pulse() != before {
            self.last = Instant::now();
        }
    }

    fn read(&mut self, stream: Stream, text: &str) -> Option<Stop> {
        self.transcript.tick((self.now)());
        let before = self.transcript.pulse();
        let now = Instant::now();
        let Self { parser, transcript, heard, last, .. } = self;
        match stream {
            Stream::Stdout => self.stdout.push(text, |line| match line {
                Some(line) => {
                    (*heard, *last) = (true, now);
                    parser.stdout(line, transcript);
                }
                None => transcript.overlong(),
            }),
            Stream::Stderr => self.stderr.push(text, |line| match line {
                Some(line) => parser.stderr(line, transcript),
                None => transcript.overlong(),
            }),
        }
        self.note_life(before);
        self.show();
        self.wanted()
    }

    fn look(&mut self) -> Option<Stop> {
        self.transcript.tick((self.now)());
        let before = self.transcript.pulse();
        self.parser.look(&mut self.transcript);
        self.transcript.admit_uncounted();
        self.transcript.tell_stake();
        self.note_life(before);
        self.show();
        self.wanted()
    }

    fn show(&mut self) {
        for event in self.transcript.take_events() {
            (self.observe)(event);
        }
        // The observer writes it to disk, and it changes with every other line.
        if self.cost_told.is_none_or(|at| at.elapsed() >= POLL_INTERVAL) {
            self.show_usage();
        }
    }

    fn show_usage(&mut self) {
        if let Some(usage) = self.transcript.take_usage() {
            self.cost_told = Some(Instant::now());
            (self.observe)(usage);
        }
    }

    /// Why the run should end now, if it should.
    fn wanted(&mut self) -> Option<Stop> {
        let budget = self.budget.filter(|_| !self.counted.is_complete());
        // With a budget and without a price nobody could stop it in time; sooner where nobody else will tell the cost.
        let Capabilities { reports_cost, reports_usage_while_working: reports_usage, .. } = self.capabilities;
        let is_watched = budget.is_some() && !self.counted.is_expected();
        if is_watched && reports_cost != ReportsCost::Always {
            let named = if reports_cost == ReportsCost::Never { self.transcript.unpriced_model() } else { None };
            if let Some(model) = named.or_else(|| self.transcript.blind()) {
                self.transcript.has_no_price(&model);
            }
        }
        if is_watched {
            let unseen = "it works but reports no usage";
            let why = self
                .transcript
                .why_lost_count()
                .or((reports_usage && self.transcript.shows_no_usage()).then_some(unseen));
            if let Some(why) = why {
                self.transcript.cannot_be_watched(why);
            }
        }
        if budget.is_some_and(|budget| self.transcript.spent() >= budget) {
            return Some(Stop::BudgetSpent);
        }
        // Some wait for hours when a service tells them to, and say nothing meanwhile. Ralph waits as well, and shows it.
        if self.transcript.is_refused() && !self.transcript.has_open_calls() && self.last.elapsed() >= SILENT_WAIT {
            self.transcript.hopeless("it waits for the service without any output");
        }
        if self.transcript.is_hopeless() {
            return Some(Stop::Hopeless);
        }
        // Some of them are never at rest while they wait for a service. A command that they run may be silent: whether that
        // stands still is told by the processor time of the whole tree.
        let patience = if self.parser.tells_beginnings() { 1 } else { 3 };
        let is_over = |idle: &Millis| self.last.elapsed() >= idle.as_std() * patience;
        let after = self.idle.filter(|idle| is_over(idle) && !self.transcript.has_open_calls())?;
        Some(Stop::Silent { after })
    }

    fn finish(mut self, finished: Finished, unmetered: bool) -> Observed {
        if let Some(line) = self.stdout.rest() {
            self.heard = true;
            self.parser.stdout(&line, &mut self.transcript);
        }
        if let Some(line) = self.stderr.rest() {
            self.parser.stderr(&line, &mut self.transcript);
        }
        self.parser.look(&mut self.transcript);
        let ended = self.parser.ended(finished.ended);
        match ended {
            Ended::Exited { code: 1.. } if !self.heard => self.transcript.never_began(),
            Ended::Stopped | Ended::TimedOut { .. } if !self.heard && self.capabilities.announces_start => {
                self.transcript.asked_nobody()
            }
            _ => {}
        }
        self.parser.end(&ended, &mut self.transcript);
        self.show();
        self.show_usage();
        let seen = self.transcript.spent();
        let mut transcript = self.transcript.finish(&ended, unmetered);
        if transcript.cost == Cost::Unknown && self.budget.is_some_and(|budget| seen > budget) {
            // What nobody knows takes the whole reservation, and this is more.
            transcript.cost = Cost::Known { amount: seen };
        }
        tracing::debug!(
            %ended,
            cost = ?transcript.cost,
            unpriced = ?transcript.unpriced,
            trouble = ?transcript.trouble.as_ref().map(|trouble| trouble.kind),
            faults = ?transcript.faults.iter().map(|fault| fault.kind).collect::<Vec<_>>(),
            calls = transcript.evidence.len(),
            "the agent's output is read"
        );
        let used_up = transcript.faults.iter().any(|fault| fault.kind == FaultKind::BudgetLimit);
        if let (Cost::Known { amount }, Some(budget), true) = (&mut transcript.cost, self.budget, used_up) {
            // It was given no other budget than this one.
            *amount = (*amount).max(budget);
        }
        Observed {
            ended,
            evidence: transcript.evidence,
            opaque: false,
            final_message: transcript.final_message,
            escalation: None,
            faults: transcript.faults,
            trouble: transcript.trouble,
            usage: transcript.usage,
            cost: transcript.cost,
            unpriced: transcript.unpriced,
            duration: finished.duration,
            output: finished.output,
            swept: finished.swept,
        }
    }
}

fn lock<'a, 'b>(reading: &'a std::sync::Mutex<Reading<'b>>) -> std::sync::MutexGuard<'a, Reading<'b>> {
    reading.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Asks for an end, unless somebody did already. Spent money cannot wait for the grace that others give.
pub(crate) fn ask(ended_by: &watch::Sender<Option<Stop>>, wanted: Option<Stop>) {
    let Some(why) = wanted else { return };
    ended_by.send_if_modified(|asked| {
        let is_news = asked.is_none() || (why == Stop::BudgetSpent && *asked != wanted);
        if is_news {
            tracing::debug!(?why, "the agent has to end");
            *asked = wanted;
        }
        is_news
    });
}

pub(crate) async fn pass_on(
    mut stop: watch::Receiver<Option<Stop>>,
    ended_by: &watch::Sender<Option<Stop>>,
) -> std::convert::Infallible {
    while stop.changed().await.is_ok() {
        let wanted = *stop.borrow();
        ask(ended_by, wanted);
    }
    // All senders are gone.
    std::future::pending().await
}

/// The variables of the request, those of the invocation in place of the ones with the same name.
pub(crate) fn merged(
    mut environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    own: Vec<(std::ffi::OsString, std::ffi::OsString)>,
) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    environment.retain(|(name, _)| !own.iter().any(|(known, _)| known == name));
    environment.extend(own);
    environment
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
