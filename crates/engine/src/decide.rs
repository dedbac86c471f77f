//! Decides what follows a pass: complete, abort, change the way of working, or go on.

use ralph_model::{
    AbortCause, AbortReason, AgentSpec, Cost, ErrorCause, FaultKind, Millis, Money, OnBlocked, Outcome, Remedy, StopBy,
    Timestamp, Trouble, TroubleKind, UnknownCharge, UnknownCost, Verdict, WaitLimit,
};

use crate::event::{V3_SERVICE_BACKOFF, V4_COUNTED_RUNS, Wait};
use crate::facts::{Facts, IterationRecord};
use crate::grade::{self, Shortfall};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    End(Outcome),
    /// The loop goes on with its debugging skill.
    Escalate,
    /// The same pass again, when a service answers again.
    Wait(Wait),
    /// The same pass again, with the next agent that stands by.
    FailOver,
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
    if let Some(Shortfall { grade, required, reasons, .. }) = worth_too_little(facts).filter(|short| !short.may_pass) {
        return abort(AbortCause::GradeTooLow { grade, required, reasons });
    }
    if let Some(why) = record.blocked.as_ref().filter(|_| facts.config.on_blocked == OnBlocked::Stop) {
        return abort(AbortCause::Blocked { why: why.clone() });
    }
    let trouble = record.trouble();
    // An account without credit is a service that no wait brings back.
    let is_standby_needed =
        trouble.is_some_and(|trouble| trouble.kind == TroubleKind::OutOfCredit) && facts.has_standby();
    if let Some(trouble) = trouble.filter(|trouble| trouble.kind.remedy() == Remedy::Person && !is_standby_needed) {
        return refused(record, trouble);
    }
    if facts.stop.is_some() {
        return Next::End(cancelled(facts));
    }
    if let Some(aborted) = spent_or_late(facts, facts.agent_to_come())
        .or_else(|| uncovered(facts, record))
        .or_else(|| used_up(facts, record))
    {
        return aborted;
    }
    if is_standby_needed {
        return Next::FailOver;
    }
    if let Some(trouble) = trouble.filter(|trouble| trouble.kind.remedy() == Remedy::Wait) {
        return wait_for(facts, record, trouble);
    }
    // Before the iterations are counted: raising --max would not help a loop that stands still.
    if facts.progress.without >= facts.config.stall_threshold {
        if facts.config.deep_debug.is_some() && !facts.escalated {
            return if iterations_left(facts) { Next::Escalate } else { out_of_iterations(facts) };
        }
        return abort(AbortCause::Stalled { iterations: facts.progress.without, headline: headline(facts) });
    }
    if facts.progress.repeats >= facts.config.same_error_threshold {
        return abort(AbortCause::SameError { times: facts.progress.repeats, headline: headline(facts) });
    }
    before_iteration(facts)
}

/// Only a person can help.
fn refused(record: &IterationRecord, trouble: &Trouble) -> Next {
    let cause = ErrorCause::ServiceRefused { agent: record.agent.clone(), trouble: trouble.clone() };
    Next::End(Outcome::Error { cause })
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
    let is_past_end = facts.config.max_duration.is_some_and(|limit| facts.active.plus(wait) >= limit);
    let is_unavailable = facts.waits >= MAX_WAITS || facts.waited.plus(wait) > facts.config.max_wait || is_past_end;
    if is_unavailable && facts.has_standby() {
        return Next::FailOver;
    }
    let give_up = |limit| {
        let cause = ErrorCause::WaitTooLong { agent: record.agent.clone(), trouble: trouble.clone(), limit };
        Next::End(Outcome::Error { cause })
    };
    if facts.waits >= MAX_WAITS {
        return give_up(WaitLimit::Refusals { times: MAX_WAITS });
    }
    if wait > facts.config.max_wait {
        return give_up(WaitLimit::TooLong { wait, limit: facts.config.max_wait });
    }
    if let Some(limit) = facts.config.max_duration.filter(|limit| facts.active.plus(wait) >= *limit) {
        return abort(AbortCause::WaitPastTimeLimit { trouble: trouble.clone(), wait, limit });
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
    is_confirmed(facts, record)
        .then(|| Outcome::Completed { verified: !is_untouched(facts, record) })
        .filter(|_| worth_too_little(facts).is_none())
}

/// Whether the checks of a pass convince, and showed that they can fail where they have to.
fn is_confirmed(facts: &Facts, record: &IterationRecord) -> bool {
    let wire_known =
        !facts.config.tripwire || record.verdict.as_ref().is_some_and(|verdict| verdict.tripwire.is_some());
    is_convincing(facts, record) && wire_known
}

/// What the last pass lacks, which would complete the loop if the user did not require more.
pub(crate) fn worth_too_little(facts: &Facts) -> Option<Shortfall> {
    let record = facts.last_iteration().filter(|record| facts.has_checks() && is_confirmed(facts, record))?;
    grade::shortfall(facts, !is_untouched(facts, record))
}

/// How a loop that ended like this completes when it is resumed with nothing left to do. One that was ended for tampering needs
/// another pass.
pub(crate) fn completion_after(facts: &Facts, ended: &Outcome) -> Option<Outcome> {
    let was_tampered = ended.reason() == Some(AbortReason::Tampered) && facts.start.behaviour >= V4_COUNTED_RUNS;
    completion(facts).filter(|_| !was_tampered)
}

/// Whether the work is the tree of the start, so that nothing was done that a verdict could be about. Work in files that the tree
/// leaves out, because they are ignored, is something.
fn is_untouched(facts: &Facts, record: &IterationRecord) -> bool {
    let start = &facts.start.tree;
    let beside = |baseline: &Verdict, verdict: &Verdict| {
        !verdict.beside.before.is_empty() && verdict.beside.before != baseline.beside.after
    };
    let has_other_work = facts
        .baseline
        .as_ref()
        .zip(record.verdict.as_ref())
        .is_some_and(|(baseline, verdict)| beside(baseline, verdict));
    facts.start.behaviour >= V4_COUNTED_RUNS
        && !has_other_work
        && (facts.tree == *start || record.verdict.as_ref().is_some_and(|verdict| verdict.tree == *start))
}

/// Whether the pass that was recorded last completes the loop as soon as its checks show that they can fail.
pub(crate) fn only_tripwire_is_missing(facts: &Facts) -> bool {
    let Some(record) = facts.last_iteration() else { return false };
    let known = record.verdict.as_ref().is_some_and(|verdict| verdict.tripwire.is_some());
    facts.has_checks() && facts.config.tripwire && !known && is_convincing(facts, record)
}

fn is_convincing(facts: &Facts, record: &IterationRecord) -> bool {
    let Some(verdict) = record.verdict.as_ref().filter(|verdict| verdict.passed()) else { return false };
    // Checks that passed before prove little, and nothing in the hands of somebody who tampers with them.
    let is_proof = !facts.is_baseline_green() || verdict.tampered.is_empty();
    is_proof && (record.claimed || !facts.needs_claim())
}

/// Iterations with tampering that end a loop.
pub(crate) const MAX_TAMPERED: u32 = 3;

/// Tamperings that the end of a loop names.
const MAX_NAMED: usize = 5;

fn tampered_too_often(facts: &Facts, last: &IterationRecord) -> Option<Next> {
    let count = facts.tampered();
    if !facts.tampered_at(facts.iterations.len() - 1) || count < MAX_TAMPERED {
        return None;
    }
    let tampering = last.tampering().iter().take(MAX_NAMED).cloned().collect();
    Some(abort(AbortCause::Tampered { iterations: count, tampering }))
}

fn spent_or_late(facts: &Facts, next: &AgentSpec) -> Option<Next> {
    let config = &facts.config;
    if facts.needs_money_for(next) && facts.remaining() == Money::ZERO {
        let (spent, limit) = (facts.spent, config.max_cost);
        return Some(abort(AbortCause::BudgetSpent { spent, limit, unknown: last_unknown_charge(facts) }));
    }
    if let Some(limit) = config.max_tokens.filter(|limit| facts.tokens >= *limit) {
        return Some(abort(AbortCause::TokensUsed { used: facts.tokens, limit, unreported: None }));
    }
    let limit = config.max_duration?;
    (facts.active >= limit).then(|| abort(AbortCause::TimeUp { active: facts.active, limit }))
}

/// Ends a loop whose budget did not cover the last pass's next request. A loop of a race that used something of its share may
/// get another; a resume may have more.
fn uncovered(facts: &Facts, record: &IterationRecord) -> Option<Next> {
    let run = record.run.as_ref()?;
    let is_uncovered = run.faults.iter().any(|fault| fault.kind == FaultKind::Uncovered);
    let may_get_more = facts.config.race.is_some() && record.charged > Money::ZERO;
    if !is_uncovered || may_get_more {
        return None;
    }
    let (spent, limit, day) = (facts.spent, facts.config.max_cost, facts.day);
    Some(abort(match day.cap.less(day.spent) < facts.remaining() {
        true => AbortCause::DayBudgetSpent { spent: day.spent, limit: day.cap },
        false => AbortCause::BudgetSpent { spent, limit, unknown: None },
    }))
}

/// Ends a loop that used all its tokens, or as much of a plan's allowance as the user permits. Tokens that are not reported are not
/// none.
fn used_up(facts: &Facts, record: &IterationRecord) -> Option<Next> {
    let run = record.run.as_ref()?;
    let is_unreported = run.usage.tokens() == 0 && run.trouble.is_none() && run.ended.is_success();
    if let Some(limit) = facts.config.max_tokens.filter(|_| is_unreported) {
        let unreported = Some(record.iteration);
        return Some(abort(AbortCause::TokensUsed { used: facts.tokens, limit, unreported }));
    }
    let limit = facts.config.max_window?;
    let used = run.usage.window.filter(|window| window.percent >= limit)?;
    Some(abort(AbortCause::WindowUsed { used, limit }))
}

fn last_unknown_charge(facts: &Facts) -> Option<UnknownCharge> {
    facts.iterations.iter().rev().find_map(|record| {
        let why = match &record.run {
            Some(run) if run.cost != Cost::Unknown => return None,
            Some(run) if run.opaque => UnknownCost::NotReported,
            Some(_) => UnknownCost::NotCounted,
            None if record.estimated => UnknownCost::Estimated,
            None if record.cost_unknown => UnknownCost::Interrupted,
            None => return None,
        };
        Some(UnknownCharge { iteration: record.iteration, charged: record.charged, why })
    })
}

fn iterations_left(facts: &Facts) -> bool {
    facts.next_iteration().0 <= facts.config.max_iterations
}

fn out_of_iterations(facts: &Facts) -> Next {
    let passes =
        facts.last_iteration().is_some_and(|last| !last.claimed && last.verdict.as_ref().is_some_and(Verdict::passed));
    abort(AbortCause::IterationsUsed {
        max: facts.config.max_iterations,
        best: facts.best(),
        missing_claim: passes.then(|| facts.config.promise_tag()),
        tampered: facts.changed_pins(),
    })
}

/// The end of a loop that somebody asked to stop.
pub(crate) fn cancelled(facts: &Facts) -> Outcome {
    Outcome::Aborted { cause: AbortCause::Cancelled { by: facts.stop.map_or(StopBy::Request, |stop| stop.by) } }
}

pub(crate) const fn abort(cause: AbortCause) -> Next {
    Next::End(Outcome::Aborted { cause })
}

fn headline(facts: &Facts) -> Option<String> {
    facts.progress.signature.as_ref().map(|signature| signature.headline.clone())
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
