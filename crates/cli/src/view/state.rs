//! What is drawn of one run: its state as it was recorded, and what happens meanwhile. Pure: time comes in with each update.

use ralph_model::{AgentEvent, Money, Timestamp};
use ralph_view::{Delta, Progress, RunState, RunStatus, What, iteration_found};

use super::agent_event::event_words;
use super::line::first_line;
use super::text::flat;

/// What is known of the run.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// How it stands.
    pub(super) run: RunState,
    pub(super) objective: String,
    pub(super) opened_at: Timestamp,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) doing: Doing,
    pub(super) stopping: bool,
    pub(super) activity: String,
    /// What the agent that runs has cost so far.
    pub(super) running: Money,
    pub(super) verdict: Verdict,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doing {
    Agent { since: Timestamp },
    Check { command: String, since: Timestamp },
    Nothing,
}

/// What the checks said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    None,
    Passed(String),
    Failed(String),
}

impl View {
    /// A run that was recorded for the first time.
    pub(super) fn new(state: RunState, now: Timestamp) -> Self {
        Self {
            run: state,
            objective: String::new(),
            opened_at: now,
            ended_at: None,
            doing: Doing::Nothing,
            stopping: false,
            activity: String::new(),
            running: Money::ZERO,
            verdict: Verdict::None,
        }
    }

    /// Takes one update in.
    pub(super) fn take(&mut self, what: &What, now: Timestamp) {
        match what {
            What::Recorded { state, deltas, .. } => self.record(state, deltas, now),
            What::Progress { progress } => self.progress(progress, now),
        }
    }

    fn record(&mut self, state: &RunState, deltas: &[Delta], now: Timestamp) {
        if state.phase != self.run.phase {
            self.doing = Doing::Nothing;
            self.activity.clear();
            self.running = Money::ZERO;
        }
        self.run = state.clone();
        self.run.agent = flat(&state.agent);
        self.stopping = state.stopping.is_some();
        for delta in deltas {
            match delta {
                Delta::Opened { config, .. } => self.objective = flat(first_line(&config.objective)),
                Delta::BaselineFinished { verdict } => {
                    let (passing, failing) = (verdict.passing, verdict.failing);
                    let text = format!("before the first iteration: {passing} passing, {failing} failing");
                    self.verdict = Verdict::new(verdict.passed, text);
                }
                Delta::IterationStarted { .. } => self.doing = Doing::Agent { since: now },
                Delta::IterationDecided { iteration } => {
                    let text = format!("iteration {}: {}", iteration.iteration, iteration_found(iteration));
                    let passed = iteration.verdict.as_ref().is_some_and(|verdict| verdict.passed);
                    self.verdict = Verdict::new(passed, flat(&text));
                }
                Delta::TripwireStarted => {
                    "planting failing tests, which the checks have to report".clone_into(&mut self.activity);
                }
                Delta::Waiting { wait } => self.activity = flat(&wait.trouble.message),
                Delta::Finished { .. } => self.ended_at = Some(now),
                // These are lines above the view; nothing in it changes but the state.
                Delta::AgentFinished { .. }
                | Delta::Tampered { .. }
                | Delta::TripwireFinished { .. }
                | Delta::IterationUndone { .. }
                | Delta::Escalated { .. }
                | Delta::Alerted { .. }
                | Delta::Stopping { .. } => {}
            }
        }
    }

    fn progress(&mut self, progress: &Progress, now: Timestamp) {
        match progress {
            Progress::Activity { line } => self.activity = flat(line),
            Progress::Agent { event: AgentEvent::Usage { cost, .. } } => self.running = *cost,
            Progress::Agent { event } => {
                if let Some(words) = event_words(event) {
                    self.activity = flat(&words);
                }
            }
            Progress::CheckStarted { command } => {
                self.doing = Doing::Check { command: flat(command), since: now };
                self.activity.clear();
            }
            Progress::CheckFinished { .. } => self.doing = Doing::Nothing,
            Progress::StopHeard { .. } => self.stopping = true,
            Progress::Warning { .. } => {}
        }
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        self.run.status != RunStatus::Running
    }

    /// How it ended, in a word.
    pub(super) fn ended_as(&self) -> &str {
        match (&self.run.reason, self.run.status) {
            _ if self.run.verified => "verified",
            (Some(reason), RunStatus::Aborted) => reason,
            (_, status) => status.name(),
        }
    }

    /// What it cost, with the agent that runs.
    pub(super) fn spent(&self) -> Money {
        self.run.cost + self.running
    }
}

impl Verdict {
    fn new(passed: bool, text: String) -> Self {
        if passed { Self::Passed(text) } else { Self::Failed(text) }
    }
}
