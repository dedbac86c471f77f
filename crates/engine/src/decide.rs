//! Decides what follows a pass: complete, abort, change the way of working, or go on.

use ralph_model::{AbortReason, AgentSpec, Millis, Money, OnBlocked, Outcome, Remedy, Timestamp, Trouble};

use crate::event::{V3_SERVICE_BACKOFF, Wait};
use crate::facts::{Facts, IterationRecord};

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// The loop is over.
    End(Outcome),
    /// The loop goes on with its debugging skill.
    Escalate,
    /// The same pass again, when a service answers again.
    Wait(Wait),
    /// Another pass.
    Continue,
}

/// The longest time to wait for a service that does not say how long.
const MAX_BACKOFF: Millis = Millis::minutes(30);
/// How often in a row a service may refuse before the loop gives up for now.
const MAX_WAITS: u32 = 12;

/// What follows the pass that was recorded last.
pub(crate) fn after_iteration(facts: &Facts) -> Next {
    let Some(record) = facts.last_iteration() else { return before_iteration(facts) };
    if let Some(aborted) = tampered_too_often(facts, record) {
        return aborted;
    }
    if let Some(outcome) = completion(facts) {
        return Next::End(outcome);
    }
    if let Some(why) = record.blocked.as_ref().filter(|_| facts.config.on_blocked == OnBlocked::Stop) {
        return abort(AbortReason::Blocked, format!("the agent cannot go on without a person: {why}"));
    }
    let trouble = record.trouble();
    if let Some(trouble) = trouble.filter(|trouble| trouble.kind.remedy() == Remedy::Person) {
        return refused(record, trouble);
    }
    if facts.stop.is_some() {
        return Next::End(cancelled(facts));
    }
    if let Some(aborted) = spent_or_late(facts, facts.agent_to_come()) {
        return aborted;
    }
    if let Some(trouble) = trouble.filter(|trouble| trouble.kind.remedy() == Remedy::Wait) {
        return wait_for(facts, record, trouble);
    }
    // Before the iterations are counted: raising --max would not help a loop that stands still.
    if facts.progress.without >= facts.config.stall_threshold {
        if facts.config.deep_debug.is_some() && !facts.escalated {
            return if iterations_left(facts) { Next::Escalate } else { out_of_iterations(facts) };
        }
        let count = facts.progress.without;
        return abort(
            AbortReason::Stall,
            format!("{count} iterations in a row changed neither the files nor what fails{}", last_error(facts)),
        );
    }
    if facts.progress.repeats >= facts.config.same_error_threshold {
        let count = facts.progress.repeats;
        return abort(
            AbortReason::SameError,
            format!("the same error came {count} times in a row{}", last_error(facts)),
        );
    }
    before_iteration(facts)
}

/// Only a person can help.
fn refused(record: &IterationRecord, trouble: &Trouble) -> Next {
    let advice = trouble.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
    let error = format!("{}: {trouble}{advice}; then `ralph resume` goes on", record.agent);
    Next::End(Outcome::Error { error })
}

/// Waits until the service answers again, unless that takes too long.
fn wait_for(facts: &Facts, record: &IterationRecord, trouble: &Trouble) -> Next {
    let now = facts.last;
    let factor = 2_u64.saturating_pow(facts.waits.min(20));
    let most = MAX_BACKOFF.max(facts.config.backoff);
    let pause = Millis(facts.config.backoff.0.saturating_mul(factor)).min(most);
    let backoff = Timestamp(now.0.saturating_add(i64::try_from(pause.0).unwrap_or(i64::MAX)));
    // A time that has passed already was named by a clock that goes wrong.
    let named = trouble.until.filter(|until| *until > now);
    let until = match named {
        // It was waited for as it wished, and in vain.
        Some(named) if facts.waits > 0 && facts.start.behaviour >= V3_SERVICE_BACKOFF => named.max(backoff),
        Some(named) => named,
        None => backoff,
    };
    let wait = until.since(now);
    let give_up = |why: String| {
        let error = format!("{}: {trouble}; {why}; `ralph resume` goes on", record.agent);
        Next::End(Outcome::Error { error })
    };
    if facts.waits >= MAX_WAITS {
        return give_up(format!("it was waited for {MAX_WAITS} times in a row"));
    }
    match facts.config.max_wait {
        Millis(0) if wait > Millis(0) => {
            return give_up("it is not waited for, because of --max-wait 0".to_owned());
        }
        most if wait > most => return give_up(format!("waiting {wait} is longer than --max-wait {most}")),
        _ => {}
    }
    if let Some(limit) = facts.config.max_duration.filter(|limit| facts.active.plus(wait) >= *limit) {
        let details = format!("{trouble}; waiting {wait} would pass the time limit of {limit}");
        return abort(AbortReason::MaxDuration, details);
    }
    Next::Wait(Wait { until, most: wait, trouble: trouble.clone() })
}

/// Whether another pass may begin.
pub(crate) fn before_iteration(facts: &Facts) -> Next {
    if facts.stop.is_some() {
        return Next::End(cancelled(facts));
    }
    if let Some(aborted) = spent_or_late(facts, facts.next_agent()) {
        return aborted;
    }
    if iterations_left(facts) { Next::Continue } else { out_of_iterations(facts) }
}

/// How the loop completes by the pass that was recorded last, if it does.
pub(crate) fn completion(facts: &Facts) -> Option<Outcome> {
    let record = facts.last_iteration()?;
    if facts.needs_verdict() && record.verdict.is_none() {
        return None;
    }
    let nothing_missing = record.verdict.as_ref().is_none_or(|verdict| verdict.missing.is_empty());
    if !facts.has_checks() {
        // A word about files that were put back since is worth nothing.
        let is_about_this = record.run.as_ref().is_some_and(|run| run.violations.is_empty());
        return (record.claimed && nothing_missing && is_about_this).then_some(Outcome::Completed { verified: false });
    }
    let wire_known =
        !facts.config.tripwire || record.verdict.as_ref().is_some_and(|verdict| verdict.tripwire.is_some());
    (is_convincing(facts, record) && wire_known).then_some(Outcome::Completed { verified: true })
}

/// Whether the pass that was recorded last completes the loop as soon as its checks show that they can fail.
pub(crate) fn only_tripwire_is_missing(facts: &Facts) -> bool {
    let Some(record) = facts.last_iteration() else { return false };
    let known = record.verdict.as_ref().is_some_and(|verdict| verdict.tripwire.is_some());
    facts.has_checks() && facts.config.tripwire && !known && is_convincing(facts, record)
}

fn is_convincing(facts: &Facts, record: &IterationRecord) -> bool {
    let Some(verdict) = record.verdict.as_ref().filter(|verdict| verdict.passed()) else { return false };
    if facts.is_baseline_green() {
        // Checks that passed before prove little, and nothing in the hands of somebody who tampers with them.
        return record.claimed && verdict.tampered.is_empty();
    }
    record.claimed || !facts.config.promise_is_explicit
}

/// Iterations with tampering that end a loop.
pub(crate) const MAX_TAMPERED: u32 = 3;

fn tampered_too_often(facts: &Facts, last: &IterationRecord) -> Option<Next> {
    let count = facts.tampered();
    if !last.is_tampered() || count < MAX_TAMPERED {
        return None;
    }
    let named: Vec<String> = last.tampering().iter().take(5).map(ToString::to_string).collect();
    Some(abort(
        AbortReason::Tampered,
        format!(
            "what the checks rest on was changed in {count} iterations; in the last one {}; if such a change is wanted, \
             allow it with --allow-test-change GLOB in a new loop",
            named.join("; ")
        ),
    ))
}

fn spent_or_late(facts: &Facts, next: &AgentSpec) -> Option<Next> {
    let config = &facts.config;
    if facts.needs_money_for(next) && facts.remaining() == Money::ZERO {
        let runs = facts.iterations.iter().filter_map(|record| record.run.as_ref());
        let unknown = runs.rev().find(|run| run.cost == ralph_model::Cost::Unknown);
        let hint = match unknown {
            Some(run) if run.opaque => {
                "; the agent did not report its cost, so the whole reservation was charged: let it write \
                 {\"costUSD\": 0.12} to $RALPH_RESULT_FILE, or declare it with --unmetered"
            }
            Some(_) => {
                "; nobody could say what a run cost, so its whole reservation was charged: its model has no price \
                 (`ralph agents --prices`; add yours as [prices.\"MODEL\"]), or the service told no usage; --unmetered \
                 goes without"
            }
            None => "; `ralph resume --max-cost` goes on with more",
        };
        return Some(abort(AbortReason::CostLimit, format!("{} of {} are spent{hint}", facts.spent, config.max_cost)));
    }
    let limit = config.max_duration?;
    (facts.active >= limit)
        .then(|| abort(AbortReason::MaxDuration, format!("the loop worked for {} of {limit}", facts.active)))
}

fn iterations_left(facts: &Facts) -> bool {
    facts.next_iteration().0 <= facts.config.max_iterations
}

fn out_of_iterations(facts: &Facts) -> Next {
    let max = facts.config.max_iterations;
    let mut details = match max {
        1 => "the only iteration is used".to_owned(),
        max => format!("all {max} iterations are used"),
    };
    if let Some(best) = facts.best() {
        details.push_str(&format!("; the best state had {} failing, after iteration {}", best.failing, best.iteration));
    }
    details.push_str("; `ralph resume --max` goes on with more");
    let passes = facts
        .last_iteration()
        .is_some_and(|last| !last.claimed && last.verdict.as_ref().is_some_and(ralph_model::Verdict::passed));
    if passes {
        details.push_str(&format!("; the checks pass, and only the agent's {} is missing", facts.config.promise_tag()));
    }
    if facts.tampered() > 0 {
        details.push_str(&format!(
            "; what the checks rest on was changed in {} of them: if such a change is wanted, allow it with \
             --allow-test-change GLOB in a new loop",
            facts.tampered()
        ));
    }
    abort(AbortReason::MaxIterations, details)
}

/// The end of a loop that somebody asked to stop.
pub(crate) fn cancelled(facts: &Facts) -> Outcome {
    let by = match facts.stop.map(|stop| stop.by) {
        // Its worktree goes with the race, so that there is nothing to go on with.
        Some(crate::event::StopBy::Race { winner }) => {
            let winner = winner.short();
            let details =
                format!("lost the race: loop {winner} was verified first; `ralph diff` shows what this one did");
            return Outcome::Aborted { reason: AbortReason::Cancelled, details };
        }
        Some(crate::event::StopBy::Keyboard) => "from the keyboard",
        Some(crate::event::StopBy::Signal) => "by a signal",
        Some(crate::event::StopBy::Request) | None => "on request",
    };
    Outcome::Aborted { reason: AbortReason::Cancelled, details: format!("stopped {by}; `ralph resume` goes on") }
}

pub(crate) fn abort(reason: AbortReason, details: String) -> Next {
    Next::End(Outcome::Aborted { reason, details })
}

fn last_error(facts: &Facts) -> String {
    facts.progress.signature.as_ref().map(|signature| format!(": {}", signature.headline)).unwrap_or_default()
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
