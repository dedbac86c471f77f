//! What is drawn of one run: its state as it was recorded, and what happens meanwhile. Pure: time comes in with each update.

use std::collections::VecDeque;

use ralph_model::{AgentEvent, Iteration, Millis, Money, Timestamp};
use ralph_view::{Delta, Progress, RunState, RunStatus, VerdictView, What, iteration_found};

use crate::screen::{counted, dollars};
use crate::style::flat;

use super::agent_event::{event_words, is_failure};
use super::line::first_line;

/// How many of the newest things are remembered.
const MAX_RECENT: usize = 8;

/// How long nothing may happen before the view says so.
const SILENCE: Millis = Millis(60_000);

#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) run: RunState,
    pub(super) objective: String,
    pub(super) opened_at: Timestamp,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) doing: Doing,
    pub(super) stopping: bool,
    /// The newest things that happened in this phase, oldest first.
    pub(super) recent: VecDeque<Recent>,
    /// Calls of tools that are under way: the agent's id of each, what it is, and since when.
    calls: Vec<(String, String, Timestamp)>,
    /// Whether the agent tells of its calls, so that without one it waits for its model.
    tells_calls: bool,
    /// When something happened last.
    pub(super) heard_at: Timestamp,
    /// The tests that failed last, by name.
    pub(super) failing_tests: Vec<String>,
    /// The files that an agent changed last, and in which iteration.
    pub(super) changed: Option<(Iteration, Vec<String>)>,
    /// What the agent that runs has cost so far.
    pub(super) running: Money,
    /// How fast its model service answered last, in words that follow others.
    pace: String,
    /// How long the agent of this iteration took and what it cost, once it has ended.
    agent_took: Option<(Millis, Money)>,
    /// Whether the checks passed last, and what they said.
    pub(super) verdict: Option<(bool, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recent {
    pub(super) failed: bool,
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doing {
    Agent { since: Timestamp },
    Check { command: String, since: Timestamp },
    Nothing,
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
            recent: VecDeque::new(),
            calls: Vec::new(),
            tells_calls: false,
            heard_at: now,
            failing_tests: Vec::new(),
            changed: None,
            running: Money::ZERO,
            pace: String::new(),
            agent_took: None,
            verdict: None,
        }
    }

    pub(super) fn take(&mut self, what: &What, now: Timestamp) {
        match what {
            What::Recorded { state, deltas, .. } => self.record(state, deltas, now),
            What::Progress { progress } => self.progress(progress, now),
        }
    }

    fn record(&mut self, state: &RunState, deltas: &[Delta], now: Timestamp) {
        if state.phase != self.run.phase {
            self.doing = Doing::Nothing;
            self.recent.clear();
            self.calls.clear();
            self.running = Money::ZERO;
            self.pace.clear();
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
                    self.verdict = Some((verdict.passed, text));
                    self.failing_tests = failing_tests(verdict);
                }
                Delta::IterationStarted { .. } => {
                    (self.doing, self.agent_took) = (Doing::Agent { since: now }, None);
                }
                Delta::AgentFinished { iteration } => {
                    if let Some(run) = &iteration.run {
                        let files = run.changed.iter().map(|change| flat(&change.path)).collect();
                        self.changed = Some((iteration.iteration, files));
                        self.agent_took = Some((run.duration, iteration.cost));
                    }
                }
                Delta::IterationDecided { iteration } => {
                    let text = format!("iteration {}: {}", iteration.iteration, iteration_found(iteration));
                    let passed = iteration.verdict.as_ref().is_some_and(|verdict| verdict.passed);
                    self.verdict = Some((passed, flat(&text)));
                    self.failing_tests = iteration.verdict.as_ref().map(failing_tests).unwrap_or_default();
                }
                Delta::TripwireStarted => {
                    self.did(
                        false,
                        "changing tests so that they must fail, which the checks have to report".into(),
                        now,
                    );
                }
                Delta::Waiting { wait } if !wait.trouble.message.is_empty() => {
                    self.did(true, flat(&wait.trouble.message), now);
                }
                Delta::Finished { .. } => self.ended_at = Some(now),
                // These are lines above the view; nothing in it changes but the state.
                Delta::Tampered { .. }
                | Delta::TripwireFinished { .. }
                | Delta::IterationUndone { .. }
                | Delta::Escalated { .. }
                | Delta::FailedOver { .. }
                | Delta::Alerted { .. }
                | Delta::Waiting { .. }
                | Delta::Stopping { .. } => {}
            }
        }
    }

    fn progress(&mut self, progress: &Progress, now: Timestamp) {
        match progress {
            Progress::Activity { line } => self.did(false, flat(line), now),
            Progress::Agent { event: AgentEvent::Usage { cost, .. } } => self.running = *cost,
            Progress::Request { first_byte_ms, tokens_per_second } => {
                self.pace = pace(*first_byte_ms, *tokens_per_second)
            }
            Progress::Agent { event } => {
                self.follow_calls(event, now);
                if let Some(words) = event_words(event) {
                    self.did(is_failure(event), flat(&words), now);
                }
            }
            Progress::CheckStarted { command } => {
                self.doing = Doing::Check { command: flat(command), since: now };
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
        self.recent.push_back(Recent { failed, text });
    }

    fn follow_calls(&mut self, event: &AgentEvent, now: Timestamp) {
        match event {
            AgentEvent::ToolStarted { id, tool, summary, .. } => {
                let what = if summary.is_empty() { tool.clone() } else { format!("{tool}: {summary}") };
                self.calls.push((id.clone(), flat(&what), now));
                self.tells_calls = true;
            }
            AgentEvent::ToolFinished { id, .. } => {
                self.calls.retain(|(open, ..)| open != id);
                self.heard_at = now;
            }
            _ => {}
        }
    }

    /// Who works and what this iteration took and cost so far.
    pub(super) fn doing_words(&self, now: Timestamp) -> String {
        let figures = |took: Millis, cost: Money| match cost {
            Money::ZERO => took.to_string(),
            cost => format!("{took}, {}", dollars(cost)),
        };
        let doing = match (&self.doing, self.agent_took) {
            _ if self.is_over() => "ended".to_owned(),
            (Doing::Agent { since }, _) => {
                format!("running {}, {}{}", self.run.agent, figures(now.since(*since), self.running), self.pace)
            }
            (Doing::Check { .. }, Some((took, cost))) => format!("checks; agent: {}", figures(took, cost)),
            (Doing::Check { .. }, None) => "checks".to_owned(),
            (Doing::Nothing, _) if self.run.waiting.is_some() => "paused".to_owned(),
            (Doing::Nothing, _) if self.run.phase == "baseline" => "starting".to_owned(),
            (Doing::Nothing, Some((took, cost))) => format!("deciding; agent: {}", figures(took, cost)),
            (Doing::Nothing, None) => "deciding".to_owned(),
        };
        if self.stopping && !self.is_over() { format!("{doing} (stopping)") } else { doing }
    }

    /// What has to happen next, and for how long that was or will be waited for.
    pub(super) fn waiting_words(&self, now: Timestamp) -> Option<String> {
        let silent = now.since(self.heard_at);
        match (&self.doing, &self.run.waiting) {
            _ if self.is_over() => None,
            (Doing::Agent { .. }, _) => match self.calls.as_slice() {
                [] if self.tells_calls => Some(format!("{silent} for the model")),
                [] => (silent >= SILENCE).then(|| format!("{silent} for the agent, which prints nothing")),
                [(_, what, since)] => Some(format!("{} for {what}", now.since(*since))),
                [.., (_, what, since)] => {
                    let others = counted(self.calls.len() - 1, "other call", "other calls");
                    Some(format!("{} for {what}, and {others}", now.since(*since)))
                }
            },
            (Doing::Check { command, since }, _) => Some(format!("{} for {command}", now.since(*since))),
            (Doing::Nothing, Some(wait)) => {
                Some(format!("another {}: {}", wait.until.since(now), wait.trouble.kind.words()))
            }
            (Doing::Nothing, None) => None,
        }
    }

    /// The same in a few words, for one row of a race.
    pub(super) fn short_words(&self, now: Timestamp) -> String {
        let what = match (&self.doing, &self.run.waiting) {
            _ if self.is_over() => return self.ended_as().to_owned(),
            (Doing::Agent { since }, _) => match self.recent.back() {
                Some(recent) => format!("works {}: {}", now.since(*since), recent.text),
                None => format!("works {}", now.since(*since)),
            },
            (Doing::Check { command, since }, _) => format!("check {}: {command}", now.since(*since)),
            (Doing::Nothing, Some(wait)) => format!("waits {}: {}", wait.until.since(now), wait.trouble.kind.words()),
            (Doing::Nothing, None) => self.doing_words(now),
        };
        if self.stopping { format!("stopping, {}", what.trim_end_matches(" (stopping)")) } else { what }
    }

    pub(super) fn is_over(&self) -> bool {
        self.run.status != RunStatus::Running
    }

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

/// How fast a model service answered.
fn pace(first_byte_ms: Option<u64>, tokens_per_second: Option<u64>) -> String {
    let first = first_byte_ms.map(|first| format!(", first token after {}.{}s", first / 1000, first % 1000 / 100));
    let speed = tokens_per_second.map(|speed| format!(", {speed} tokens/s"));
    [first, speed].into_iter().flatten().collect()
}
