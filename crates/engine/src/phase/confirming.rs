//! The checks passed, and have to show that they can still fail before the loop is declared complete.

use ralph_model::{Attempt, Iteration, Millis, Tamper, TamperKind, Timestamp, Tripwire};

use super::verifying::conclude;
use super::{Phase, Step, Verifying, next_iteration};
use crate::event::{Effect, Event, V3_SERVICE_BACKOFF};
use crate::facts::Facts;

/// Waits for the checks to be tried with failing tests planted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirming {
    pub attempt: Attempt,
}

impl Confirming {
    pub(crate) fn enter(facts: &mut Facts) -> Step {
        let attempt = facts.next_attempt();
        let iteration = facts.last_iteration().map_or(Iteration(1), |record| record.iteration);
        (Phase::Confirming(Self { attempt }), vec![Effect::TripWire { iteration, attempt }])
    }

    pub(crate) fn on(self, facts: &mut Facts, at: Timestamp, event: Event) -> Step {
        match event {
            Event::TripwireFinished { attempt, tripwire, moved, outputs } if attempt == self.attempt => {
                // Cut short it shows nothing, and a verdict without it is none.
                if facts.stops_now()
                    && !matches!(
                        tripwire,
                        Tripwire::TestsFail { .. } | Tripwire::Reported { .. } | Tripwire::BaselineFails
                    )
                {
                    forget_verdict(facts);
                    if facts.start.behaviour >= V3_SERVICE_BACKOFF {
                        facts.mark_uncounted();
                    }
                    return next_iteration(facts, Millis(0));
                }
                if let Some(verdict) = facts.iterations.last_mut().and_then(|record| record.verdict.as_mut()) {
                    if matches!(tripwire, Tripwire::TestsPass { .. } | Tripwire::Passed { .. }) {
                        verdict.tampered.push(Tamper::new("verify", TamperKind::Tripwire));
                    }
                    verdict.tripwire = Some(tripwire);
                    verdict.moved.extend(moved);
                    verdict.tripwire_outputs = outputs;
                }
                conclude(facts, at)
            }
            Event::Resumed { limits, tree, rewound, .. } => {
                facts.resume(limits);
                let untouched = tree.as_ref().is_none_or(|found| *found == facts.tree);
                let is_rewound = facts.is_rewound(tree.as_ref(), rewound);
                facts.find(tree);
                if untouched {
                    return Self::enter(facts);
                }
                // Somebody worked there: what was verified is no longer what is there.
                forget_verdict(facts);
                if is_rewound {
                    facts.end_pass(at);
                    return next_iteration(facts, Millis(0));
                }
                Verifying::enter(facts)
            }
            _ => (Phase::Confirming(self), vec![]),
        }
    }
}

pub(super) fn forget_verdict(facts: &mut Facts) {
    if let Some(record) = facts.iterations.last_mut() {
        record.verdict = None;
    }
}
