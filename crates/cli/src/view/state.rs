//! What is drawn of one run: its state as it was recorded, and what happens meanwhile. Pure: time comes in with each update.

use std::collections::VecDeque;

use ralph_model::{AgentEvent, Money, Timestamp};
use ralph_view::{Delta, Progress, RunState, RunStatus, VerdictView, What, iteration_found};

use super::agent_event::event_words;
use super::line::first_line;
use super::text::flat;

/// How many of the newest things are remembered.
const MAX_RECENT: usize = 8;

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
    /// The newest things that happened in this phase, oldest first, and whether each failed.
    pub(super) recent: VecDeque<(bool, String)>,
    /// When something happened last.
    pub(super) heard_at: Timestamp,
    /// The tests that failed last, by name.
    pub(super) failing_tests: Vec<String>,
    /// How many files the agent of this iteration changed, once it has ended.
    pub(super) changed: Option<usize>,
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
            recent: VecDeque::new(),
            heard_at: now,
            failing_tests: Vec::new(),
            changed: None,
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
            self.recent.clear();
            self.running = Money::ZERO;
        }
        self.heard_at = now;
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
                    self.failing_tests = failing_tests(verdict);
                }
                Delta::IterationStarted { .. } => self.doing = Doing::Agent { since: now },
                Delta::AgentFinished { iteration } => {
                    self.changed = iteration.run.as_ref().map(|run| run.changed.len());
                }
                Delta::IterationDecided { iteration } => {
                    let text = format!("iteration {}: {}", iteration.iteration, iteration_found(iteration));
                    let passed = iteration.verdict.as_ref().is_some_and(|verdict| verdict.passed);
                    self.verdict = Verdict::new(passed, flat(&text));
                    self.failing_tests = iteration.verdict.as_ref().map(failing_tests).unwrap_or_default();
                    self.changed = None;
                }
                Delta::TripwireStarted => {
                    "planting failing tests, which the checks have to report".clone_into(&mut self.activity);
                }
                Delta::Waiting { wait } => self.activity = flat(&wait.trouble.message),
                Delta::Finished { .. } => self.ended_at = Some(now),
                // These are lines above the view; nothing in it changes but the state.
                Delta::Tampered { .. }
                | Delta::TripwireFinished { .. }
                | Delta::IterationUndone { .. }
                | Delta::Escalated { .. }
                | Delta::FailedOver { .. }
                | Delta::Alerted { .. }
                | Delta::Stopping { .. } => {}
            }
        }
    }

    fn progress(&mut self, progress: &Progress, now: Timestamp) {
        match progress {
            Progress::Activity { line } => self.did(false, flat(line), now),
            Progress::Agent { event: AgentEvent::Usage { cost, .. } } => self.running = *cost,
            Progress::Agent { event } => {
                if let Some(words) = event_words(event) {
                    let failed = matches!(
                        event,
                        AgentEvent::ToolFinished { success: false, .. }
                            | AgentEvent::Limit { .. }
                            | AgentEvent::Fault { .. }
                    );
                    self.did(failed, flat(&words), now);
                }
            }
            Progress::CheckStarted { command } => {
                self.doing = Doing::Check { command: flat(command), since: now };
                self.activity.clear();
                self.recent.clear();
            }
            Progress::CheckFinished { .. } => self.doing = Doing::Nothing,
            Progress::StopHeard { .. } => self.stopping = true,
            Progress::Warning { .. } => {}
        }
    }

    fn did(&mut self, failed: bool, text: String, now: Timestamp) {
        self.heard_at = now;
        if self.recent.len() >= MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((failed, text.clone()));
        self.activity = text;
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

/// The names of failing tests, as far as runners print them.
fn failing_tests(verdict: &VerdictView) -> Vec<String> {
    let tests = verdict.checks.iter().filter_map(|check| check.outcome.tests.as_ref());
    tests.flat_map(|tests| &tests.failing).map(|name| flat(name)).collect()
}

impl Verdict {
    fn new(passed: bool, text: String) -> Self {
        if passed { Self::Passed(text) } else { Self::Failed(text) }
    }
}
