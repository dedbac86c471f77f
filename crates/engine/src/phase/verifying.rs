//! The checks look at the agent's work.

use ralph_model::{Attempt, Iteration, Millis, Outcome, Timestamp};

use super::{Confirming, Phase, Restoring, Step, follow, next_iteration};
use crate::decide::{self, Next};
use crate::event::{Effect, Event, V6_RATCHET_AT_END};
use crate::facts::{Facts, IterationRecord};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifying {
    pub attempt: Attempt,
}

impl Verifying {
    pub(crate) fn enter(facts: &mut Facts) -> Step {
        let attempt = facts.next_attempt();
        let iteration = facts.last_iteration().map_or(Iteration(1), |record| record.iteration);
        (Phase::Verifying(Self { attempt }), vec![Effect::RunChecks { iteration, attempt }])
    }

    pub(crate) fn on(self, facts: &mut Facts, at: Timestamp, event: Event) -> Step {
        match event {
            Event::ChecksFinished { attempt, verdict, tree } if attempt == self.attempt => {
                // Checks that were cut short by a stop say nothing; only a verdict that passes all the same counts.
                if facts.stops_now() && !verdict.passed() {
                    facts.end_pass(at);
                    return follow(facts, decide::before_iteration(facts));
                }
                if let (Some(tree), Some(run)) =
                    (&tree, facts.iterations.last_mut().and_then(|record| record.run.as_mut()))
                {
                    // The work is what the checks made of it, also when it is checked again.
                    run.tree = tree.clone();
                }
                facts.find(tree);
                facts.take_verdict(verdict);
                if decide::only_tripwire_is_missing(facts) { Confirming::enter(facts) } else { conclude(facts, at) }
            }
            Event::Resumed { limits, tree, rewound, .. } => {
                facts.resume(limits);
                let is_rewound = facts.is_rewound(tree.as_ref(), rewound);
                facts.find(tree);
                if is_rewound {
                    facts.end_pass(at);
                    return next_iteration(facts, Millis(0));
                }
                Self::enter(facts)
            }
            _ => (Phase::Verifying(self), vec![]),
        }
    }
}

/// Decides the pass whose verdict is complete.
pub(super) fn conclude(facts: &mut Facts, at: Timestamp) -> Step {
    let tree = facts.tree.clone();
    facts.end_pass(at);
    let Some(record) = facts.iterations.last_mut() else { return follow(facts, decide::before_iteration(facts)) };
    let signature = record.signature();
    let verdict = record.verdict.as_ref();
    let set = verdict.map(ralph_model::Verdict::failing_set).unwrap_or_default();
    // A flake is neither progress nor the lack of it, and neither is a run that the service cut short.
    if !verdict.is_some_and(ralph_model::Verdict::is_flaky) && !record.has_to_wait() {
        facts.progress.note(&tree, set, signature);
    }
    let next = decide::after_iteration(facts);
    // Of the same tree a worse verdict is chance, and there is nothing to undo.
    let rank = facts.last_iteration().and_then(|last| last.verdict.as_ref()).map(|verdict| facts.rank(verdict));
    let worse = facts
        .best_before_last()
        .filter(|(best_rank, best)| {
            facts.config.ratchet && rank.is_some_and(|rank| rank > *best_rank) && best.tree != facts.tree
        })
        .map(|(_, best)| best);
    let may_undo = match &next {
        Next::Continue | Next::Escalate => true,
        Next::End(Outcome::Aborted { .. }) => {
            // Work that the service cut short is not worse, it is not done.
            let was_cut = facts.last_iteration().is_some_and(IterationRecord::has_to_wait);
            facts.start.behaviour >= V6_RATCHET_AT_END && !was_cut
        }
        Next::End(_) | Next::Wait(_) | Next::FailOver => false,
    };
    match worse.filter(|_| may_undo) {
        Some(best) => Restoring::enter(facts, best, next),
        None => follow(facts, next),
    }
}
