//! The agent owns the workspace.

use ralph_model::{Attempt, Cost, Ended, ErrorCause, Millis, Money, Outcome, Timestamp, Verdict};

use super::{Guarding, Phase, Step, Verifying, end, follow, next_iteration};
use crate::claim::{Claim, find_blocked, find_claim};
use crate::decide;
use crate::event::{Event, Lost, V4_COUNTED_RUNS};
use crate::facts::{Facts, IterationRecord};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Working {
    pub attempt: Attempt,
    pub unmetered: bool,
    pub reserved: Money,
    /// What the agent was told; an echo of it is no claim.
    pub prompt: String,
    /// The prompt without the agent's own earlier message: saying the same sentence again is a claim, not an echo.
    pub told: String,
}

impl Working {
    pub(crate) fn on(self, facts: &mut Facts, at: Timestamp, event: Event) -> Step {
        match event {
            Event::AgentFinished { attempt, run, day, claim } if attempt == self.attempt => {
                let charged = run.cost.charge(self.reserved);
                facts.spent += charged;
                facts.tokens = facts.tokens.saturating_add(run.usage.tokens());
                facts.day = day;
                facts.tree = run.tree.clone();
                let violations = run.violations.clone();
                let claim = claim.unwrap_or_else(|| self.claim(facts, &run.final_message));
                let refused = run.trouble.is_some();
                let mut moved = true;
                facts.end_pass(at);
                if let Some(record) = facts.iterations.last_mut() {
                    record.claimed = claim.done;
                    record.blocked = claim.blocked;
                    record.charged = charged;
                    moved = run.tree != record.before;
                    record.run = Some(*run);
                    if !record.has_to_wait() {
                        facts.stop_waiting();
                    }
                }
                if !violations.is_empty() {
                    return Guarding::enter(facts, violations);
                }
                if let Some(cause) = not_started(facts) {
                    return end(facts, Outcome::Error { cause });
                }
                if facts.stops_now() {
                    facts.mark_uncounted();
                    return next_iteration(facts, Millis(0));
                }
                let has_to_wait = facts.last_iteration().is_some_and(IterationRecord::has_to_wait);
                if refused && !moved {
                    // There is nothing new to look at, which is no progress unless only time was missing.
                    if !has_to_wait {
                        let failing = facts.last_verdict().map(Verdict::failing_set).unwrap_or_default();
                        let tree = facts.tree.clone();
                        facts.progress.note(&tree, failing, None);
                    }
                    return follow(facts, decide::after_iteration(facts));
                }
                if facts.needs_verdict() {
                    return Verifying::enter(facts);
                }
                if !has_to_wait {
                    let tree = facts.tree.clone();
                    facts.progress.note(&tree, Vec::new(), None);
                }
                follow(facts, decide::after_iteration(facts))
            }
            Event::Resumed { lost, limits, tree, .. } => {
                // Before the new limits: the lost run was started under the old ones.
                self.lose(facts, at, lost);
                facts.resume(limits);
                facts.find(tree);
                next_iteration(facts, Millis(0))
            }
            _ => (Phase::Working(self), vec![]),
        }
    }

    /// What the agent says about its work. The debugging skill's text asks for a promise of its own.
    pub(crate) fn claim(&self, facts: &Facts, message: &str) -> Claim {
        let message = match self.prompt.trim() {
            // A prompt without a tag cannot be mistaken for a claim, and a short one may be part of an honest one.
            prompt if !prompt.contains('<') => message.to_owned(),
            prompt => message.replace(prompt, "\n"),
        };
        let skill = facts.config.deep_debug.as_ref().filter(|_| facts.escalated);
        let promises = [Some(&facts.config.completion_promise), skill.and_then(|skill| skill.promise.as_ref())];
        Claim {
            done: promises.into_iter().flatten().any(|promise| find_claim(&message, &self.told, promise)),
            blocked: find_blocked(&message, &self.told),
        }
    }

    /// Ralph died or failed while the agent ran. A run that never started is begun again; one that may have run is used up.
    pub(super) fn lose(self, facts: &mut Facts, at: Timestamp, lost: Option<Lost>) {
        match lost {
            Some(lost) if lost.attempt == self.attempt && !lost.ran => {
                facts.iterations.pop();
            }
            Some(lost) if lost.attempt == self.attempt => self.charge_interrupted(facts, at, lost),
            // What became of the run is unknown: assume the worst.
            Some(_) | None => {
                let lost = Lost { attempt: self.attempt, ran: true, cost: Cost::Unknown, estimate: None };
                self.charge_interrupted(facts, at, lost);
            }
        }
    }

    fn charge_interrupted(&self, facts: &mut Facts, at: Timestamp, mut lost: Lost) {
        if self.unmetered {
            lost.cost = Cost::Unmetered;
        }
        let charged = lost.charge(self.reserved);
        facts.spent += charged;
        facts.end_pass(at);
        if let Some(record) = facts.iterations.last_mut() {
            record.interrupted = true;
            record.cost_unknown = lost.cost == Cost::Unknown;
            record.estimated = record.cost_unknown && lost.estimate.is_some();
            record.charged = charged;
        }
    }
}

/// An agent that never ran will not run next time either: the pass does not count, and a person has to look.
fn not_started(facts: &mut Facts) -> Option<ErrorCause> {
    let record = facts.iterations.last_mut().filter(|_| facts.start.behaviour >= V4_COUNTED_RUNS)?;
    // A service's refusal says more.
    let Some(Ended::NotStarted { why }) = record.run.as_ref().filter(|run| run.trouble.is_none()).map(|run| &run.ended)
    else {
        return None;
    };
    let cause = ErrorCause::AgentNotStarted { agent: record.agent.clone(), why: why.clone() };
    record.uncounted = true;
    Some(cause)
}
