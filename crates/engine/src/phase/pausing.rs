//! Between two passes: rest, look at prohibited paths, reserve money.

use ralph_model::{AbortCause, Attempt, Millis, Money, Outcome, Timestamp};

use super::{Guarding, Phase, Step, end, next_iteration, run_agent};
use crate::decide::{self, Next};
use crate::event::{Effect, Event, Refusal};
use crate::facts::{Facts, IterationRecord};

/// Waits until a pass may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pausing {
    pub attempt: Attempt,
}

impl Pausing {
    pub(crate) fn enter(facts: &mut Facts, pause: Millis) -> Step {
        let attempt = facts.next_attempt();
        let reserve = if facts.next_agent().unmetered { Money::ZERO } else { facts.remaining() };
        let (iteration, wait) = (facts.next_iteration(), facts.wait.clone());
        let effect = Effect::BeginIteration { iteration, attempt, pause, wait, reserve };
        (Phase::Pausing(Self { attempt }), vec![effect])
    }

    pub(crate) fn on(self, facts: &mut Facts, at: Timestamp, event: Event) -> Step {
        match event {
            Event::IterationStarted { attempt, tree, reserved, day } if attempt == self.attempt => {
                facts.day = day;
                facts.tree = tree.clone();
                // A stop may have come too late to cut the wait short, and the wait itself may have used up the time.
                if let Next::End(outcome) = decide::before_iteration(facts) {
                    return end(facts, outcome);
                }
                let iteration = facts.next_iteration();
                let agent = facts.next_agent().clone();
                let title = agent.title();
                let (working, effect) = run_agent(facts, agent, iteration, attempt, reserved);
                facts.iterations.push(IterationRecord {
                    iteration,
                    agent: title,
                    started: at,
                    active_before: facts.active,
                    before: tree,
                    took_over_from: facts.given_up.take(),
                    ..IterationRecord::default()
                });
                (Phase::Working(working), vec![effect])
            }
            Event::IterationRefused { attempt, refusal } if attempt == self.attempt => match refusal {
                Refusal::Stopped => next_iteration(facts, Millis(0)),
                Refusal::Prohibited { violations } => Guarding::enter(facts, violations),
                Refusal::Race { spent, cap } => {
                    end(facts, Outcome::Aborted { cause: AbortCause::RaceBudgetSpent { spent, limit: cap } })
                }
                Refusal::DailyBudget { day } => {
                    facts.day = day;
                    let cause = AbortCause::DayBudgetSpent { spent: day.spent, limit: day.cap };
                    end(facts, Outcome::Aborted { cause })
                }
            },
            Event::Resumed { limits, .. } => {
                facts.resume(limits);
                next_iteration(facts, Millis(0))
            }
            _ => (Phase::Pausing(self), vec![]),
        }
    }
}
