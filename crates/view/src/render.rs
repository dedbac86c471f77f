//! Sentences about runs that more than one screen or file shows.

use ralph_engine::IterationRecord;
use ralph_model::{AbortReason, AgentRun, CheckOutcome, Cost, Ended, Expectation, Missing, Money, TestTally, Verdict};

use crate::run::{IterationView, RunState, RunStatus};
use crate::update::Delta;

/// `1 file`, `2 files`.
pub fn counted(count: impl TryInto<u64>, one: &str, many: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Money for people who watch it: at most four digits after the point, rounded up, so that nothing spent looks like
/// nothing. What is kept or read by programs has all digits.
pub fn dollars(amount: Money) -> String {
    const STEP: i64 = 100;
    let micros = amount.micros();
    Money::from_micros(micros.checked_add(STEP - 1).map_or(micros, |micros| micros / STEP * STEP)).to_string()
}

/// How a run ended, in one line.
pub(crate) fn headline(
    status: RunStatus,
    reason: Option<AbortReason>,
    unverified: Option<&str>,
    details: &str,
) -> String {
    let reason = reason.map(|reason| format!(" {reason}")).unwrap_or_default();
    let verified = match (status, unverified) {
        (RunStatus::Completed, None) => " (verified)".to_owned(),
        (RunStatus::Completed, Some(why)) => format!(" (NOT verified: {why})"),
        _ => String::new(),
    };
    format!("{}{reason}{verified}: {details}", status.name())
}

/// How an agent ended: what it came to first, what was wrong with it last, because that has words of its own.
pub fn agent_found(run: &AgentRun, charged: Money) -> String {
    let files = counted(run.changed.len(), "file changed", "files changed");
    let cost = if run.cost == Cost::Unmetered { String::new() } else { format!(", {}", dollars(charged)) };
    let came_to = format!("after {}, {files}{cost}", run.duration);
    match (&run.ended, run.faults.first()) {
        (_, Some(fault)) => format!("ended {came_to}: {fault}"),
        (Ended::Exited { code: 0 }, None) => format!("done {came_to}"),
        (ended, None) => format!("ended {came_to}: {ended}"),
    }
}

pub fn check_found(outcome: &CheckOutcome) -> String {
    match (&outcome.tests, outcome.passed) {
        (Some(TestTally { passed, failed, .. }), _) => format!("{passed} passing, {failed} failing"),
        (None, true) => "passes".to_owned(),
        (None, false) => outcome.ended.to_string(),
    }
}

pub fn iteration_found(iteration: &IterationView) -> String {
    let Some(verdict) = &iteration.verdict else {
        let claimed = if iteration.claimed { ", and the agent claims to be done" } else { "" };
        return format!("nothing was checked{claimed}");
    };
    let (passing, failing) = (verdict.passing, verdict.failing);
    let found = match (&verdict.doubt, failing) {
        _ if verdict.passed => match &iteration.open {
            Some(open) => format!("all checks pass ({passing} passing), but {open}"),
            None => format!("all checks pass ({passing} passing)"),
        },
        (Some(doubt), _) if verdict.incomplete => format!("not all tests ran, and {doubt}"),
        (None, _) if verdict.incomplete => "not all tests ran".to_owned(),
        (Some(doubt), _) => format!("{passing} passing, {failing} failing, but {doubt}"),
        (None, 0) => {
            match verdict.missing.iter().find(|missing| matches!(missing.expectation, Expectation::Checklist(_))) {
                Some(Missing { why, .. }) => format!("{passing} passing, task list: {why}"),
                None => format!("{passing} passing, but something expected is missing"),
            }
        }
        (None, _) => format!("{passing} passing, {failing} failing"),
    };
    match (iteration.claimed, verdict.passed) {
        (true, false) => format!("{found}, although the agent claims to be done"),
        (true, true) => format!("{found}, and the agent claims to be done"),
        (false, _) => found,
    }
}

/// What a person should know about an iteration, a few words each.
pub(crate) fn notes(record: &IterationRecord) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |is_so: bool, text: &str| {
        if is_so {
            notes.push(text.to_owned());
        }
    };
    note(record.interrupted, "interrupted");
    note(record.estimated, "cost estimated");
    note(record.is_false_claim(), "false claim");
    note(record.undone, "undone");
    note(record.uncounted, "not counted");
    // Where a charge stands for it, that is said at the end.
    let is_unknown = record.run.as_ref().is_some_and(|run| run.cost == Cost::Unknown);
    note(is_unknown && record.charged == Money::ZERO, "cost unknown");
    notes.extend(record.took_over_from.as_ref().map(|agent| format!("took over from {agent}")));
    if let Some(run) = &record.run {
        notes.extend(run.faults.iter().map(ToString::to_string));
    }
    notes.extend(record.tampering().iter().take(3).map(|tamper| format!("TAMPERED {tamper}")));
    if record.tampering().len() > 3 {
        notes.push(format!("and {} more tampered", record.tampering().len() - 3));
    }
    let verdict = record.verdict.as_ref();
    notes.extend(verdict.filter(|verdict| !verdict.passed()).and_then(Verdict::doubt));
    let lists = verdict.iter().flat_map(|verdict| &verdict.missing);
    let lists = lists.filter(|missing| matches!(missing.expectation, Expectation::Checklist(_)));
    notes.extend(lists.map(|missing| format!("task list: {}", missing.why)));
    let passed = verdict.filter(|verdict| verdict.passed());
    notes.extend(passed.and_then(|verdict| verdict.tripwire.as_ref()).map(|wire| format!("tripwire: {wire}")));
    if let Some(allowed) = verdict.map(|verdict| &verdict.allowed).filter(|allowed| !allowed.is_empty()) {
        notes.push(format!("changed with your permission: {}", allowed.join(", ")));
    }
    notes.extend(record.signature().map(|signature| signature.headline));
    notes
}

/// A change in one line; none for what is not worth one.
pub fn delta_line(state: &RunState, delta: &Delta) -> Option<String> {
    let (max, money) = (state.max_iterations, money(state));
    Some(match delta {
        Delta::BaselineFinished { verdict } => {
            format!("before the first iteration: {} passing, {} failing", verdict.passing, verdict.failing)
        }
        Delta::IterationStarted { iteration, agent } => {
            format!("iteration {iteration}/{max}: running {agent}; {money}")
        }
        Delta::AgentFinished { iteration } => {
            format!("iteration {}/{max}: the agent is done, checks run; {money}", iteration.iteration)
        }
        Delta::IterationDecided { iteration } => {
            format!("iteration {}/{max}: {}; {money}", iteration.iteration, iteration_found(iteration))
        }
        Delta::Tampered { tampered } => match tampered.first() {
            Some(first) => format!("protected files changed: {first}"),
            None => "protected files changed".to_owned(),
        },
        Delta::TripwireStarted => "confirming that the checks still catch failures".to_owned(),
        Delta::IterationUndone { iteration } => format!("iteration {iteration}/{max} was undone"),
        Delta::Escalated { skill } => format!("no progress: continues with skill {skill}"),
        Delta::FailedOver { from, to } => failed_over(from, to),
        Delta::Waiting { wait } => format!("waits for the service: {}", wait.trouble),
        Delta::Finished { outcome } => outcome.headline(),
        Delta::Opened { .. } | Delta::TripwireFinished { .. } | Delta::Alerted { .. } | Delta::Stopping { .. } => {
            return None;
        }
    })
}

/// Another agent takes over.
pub fn failed_over(from: &str, to: &str) -> String {
    format!("{from} is unavailable: {to} takes over")
}

/// What a run cost so far, and what it may cost.
pub fn money(state: &RunState) -> String {
    match state.metered {
        true => format!("{} of {}", dollars(state.cost), state.max_cost),
        false => "not metered".to_owned(),
    }
}
