//! The state of the view, fed by notices. Pure: time comes in with each of them.

use ralph_model::{AgentEvent, Money, Timestamp};
use ralph_runtime::Notice;

use super::agent_event::event_words;
use super::line::{first_line, verdict};
use super::text::flat;

/// What is known of the loop.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    pub(super) loop_name: String,
    pub(super) objective: String,
    pub(super) agent: String,
    pub(super) max_iterations: u32,
    pub(super) max_cost: Money,
    pub(super) opened_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    /// How it ended, in a word.
    pub(super) ended_as: String,
    pub(super) iteration: u32,
    pub(super) phase: Phase,
    pub(super) stopping: bool,
    pub(super) activity: String,
    /// Failing tests before the first iteration and after each.
    pub(super) failing: Vec<Option<u32>>,
    pub(super) spent: Money,
    /// What the run that is under way has cost so far.
    pub(super) running: Money,
    pub(super) verdict: Verdict,
}

/// What is going on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Starting,
    Agent {
        since: Timestamp,
    },
    Check {
        command: String,
        since: Timestamp,
    },
    Waiting {
        until: Timestamp,
        why: &'static str,
    },
    Between,
    Ended,
}

/// What the checks said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    #[default]
    None,
    Passed(String),
    Failed(String),
}

impl View {
    /// Takes one notice in.
    pub(super) fn take(&mut self, notice: &Notice, now: Timestamp) {
        match notice {
            Notice::LoopOpened { loop_id, done, spent, config, .. } => {
                self.loop_name = loop_id.short();
                self.objective = flat(first_line(&config.objective));
                self.agent = flat(&config.agent.title());
                self.max_iterations = config.max_iterations;
                self.max_cost = config.max_cost;
                self.opened_at = Some(now);
                self.iteration = done.0;
                self.spent = *spent;
            }
            Notice::BaselineFinished { verdict, .. } => {
                self.phase = Phase::Between;
                self.activity.clear();
                if let Some(found) = verdict {
                    let (passing, failing) = found.tally();
                    self.failing.push(Some(score(failing, found.passed())));
                    let text = format!("before the first iteration: {passing} passing, {failing} failing");
                    self.verdict = if found.passed() { Verdict::Passed(text) } else { Verdict::Failed(text) };
                }
            }
            Notice::IterationStarted { iteration, agent } => {
                self.iteration = iteration.0;
                self.agent = flat(agent);
                self.phase = Phase::Agent { since: now };
                self.activity.clear();
            }
            Notice::Activity { line } => self.activity = flat(line),
            Notice::Agent(AgentEvent::Usage { cost, .. }) => self.running = *cost,
            Notice::Agent(event) => {
                if let Some(words) = event_words(event) {
                    self.activity = flat(&words);
                }
            }
            Notice::Waiting { until, trouble } => {
                self.phase = Phase::Waiting { until: *until, why: trouble.kind.words() };
                self.activity = flat(&trouble.message);
            }
            Notice::AgentFinished { charged, .. } => {
                self.phase = Phase::Between;
                self.running = *charged;
            }
            Notice::CheckStarted { command } => {
                self.phase = Phase::Check { command: flat(command), since: now };
                self.activity.clear();
            }
            Notice::CheckFinished { .. } => self.phase = Phase::Between,
            Notice::IterationDecided { iteration, tally, passed, doubt, claimed, spent } => {
                self.phase = Phase::Between;
                self.activity.clear();
                self.spent = *spent;
                self.running = Money::ZERO;
                self.failing.push(tally.map(|(_, failing)| score(failing, *passed)));
                let text = format!("iteration {iteration}: {}", verdict(*tally, *passed, doubt.as_deref(), *claimed));
                self.verdict = if *passed { Verdict::Passed(text) } else { Verdict::Failed(text) };
            }
            Notice::TripwireStarted => {
                self.phase = Phase::Between;
                self.activity = "planting failing tests, which the checks have to report".to_owned();
            }
            Notice::Stopping(_) => self.stopping = true,
            Notice::Finished(result) => {
                self.phase = Phase::Ended;
                self.ended_as = match (result.verified, result.reason) {
                    (true, _) => "verified".to_owned(),
                    (false, Some(reason)) => reason.to_string(),
                    (false, None) => result.status.to_owned(),
                };
                self.activity.clear();
                self.ended_at = Some(now);
            }
            // These are lines above the view; nothing in it changes.
            Notice::Undone { .. }
            | Notice::Escalated { .. }
            | Notice::Alerted(_)
            | Notice::OfCandidate { .. }
            | Notice::Warning(_)
            | Notice::Precautions { .. }
            | Notice::Tampered { .. }
            | Notice::TripwireFinished { .. } => {}
        }
    }
}

/// A verdict that did not pass has at least one failure, also where no test counts it.
fn score(failing: u32, passed: bool) -> u32 {
    if passed { failing } else { failing.max(1) }
}
