//! One plain line for a notice. The same words go to a log of plain lines and above the live view.

use ralph_engine::StopWhen;
use ralph_model::{AgentSpec, CheckOutcome, Ended, Fault, Millis, Money, TestTally, Timestamp, Trouble};
use ralph_runtime::Notice;

use super::agent_event::event_line;
use crate::screen::{counted, dollars};

/// How lasting a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Worth keeping on the screen when the view has moved on.
    Lasting,
    /// Only for those who read along.
    Passing,
}

/// What a notice says in one line, still to be made harmless; none for what a program prints, which has its log.
pub(super) fn line(notice: &Notice, now: Timestamp) -> Option<(Weight, String)> {
    use Weight::{Lasting, Passing};
    let (weight, text) = match notice {
        Notice::LoopOpened { loop_id, done, spent, config, .. } => {
            let limits = format!("{} and {}", up_to(config.max_iterations), dollars(config.max_cost));
            let before = match done.0 {
                0 => String::new(),
                done => format!(", goes on after iteration {done} and {}", dollars(*spent)),
            };
            let objective = first_line(&config.objective);
            let agents = config.agents().map(AgentSpec::title).collect::<Vec<_>>().join(", ");
            (Lasting, format!("loop {}: {objective} ({agents}, {limits}{before})", loop_id.short()))
        }
        Notice::Precautions { sandbox, pins } => {
            let pinned = if *pins == 0 { String::new() } else { format!("; the checks rest on {pins} pins") };
            (Lasting, format!("sandbox: {sandbox}{pinned}"))
        }
        Notice::BaselineFinished { verdict: None, .. } => (
            Lasting,
            "no checks: only the agent's own word will end this loop, and nothing will be verified".to_owned(),
        ),
        Notice::BaselineFinished { verdict: Some(verdict), needs_claim } => {
            let (passing, failing) = verdict.tally();
            let meaning = match (verdict.passed(), needs_claim) {
                (true, _) => "checks pass already, so the agent has to claim that it is done, too",
                (false, true) => "passing checks together with the promise will complete the loop",
                (false, false) => "passing checks will complete the loop",
            };
            (Lasting, format!("before the first iteration: {passing} passing, {failing} failing; {meaning}"))
        }
        Notice::IterationStarted { iteration, agent } => (Passing, format!("iteration {iteration}: {agent} works")),
        Notice::Waiting { until, trouble } => {
            // Not the trouble's own sentence: that names the time once more, to the millisecond.
            let Trouble { kind, message, .. } = trouble;
            let what = match message.as_str() {
                "" => kind.words().to_owned(),
                message => format!("{}: {}", kind.words(), message.trim_end_matches('.')),
            };
            let (clock, left) = (clock(*until, now), until.since(now));
            (Lasting, format!("waiting until {clock} ({left}): {what}; this is not counted as an iteration"))
        }
        Notice::Activity { .. } => return None,
        Notice::Agent(event) => (Passing, event_line(event)?),
        Notice::AgentFinished { iteration, ended, faults, changed, charged, duration } => {
            let found = agent_found(ended, faults, *changed, *charged, *duration);
            (Passing, format!("iteration {iteration}: agent {found}"))
        }
        Notice::CheckStarted { command } => (Passing, format!("check: {command}")),
        Notice::CheckFinished { outcome } => {
            (Passing, format!("check: {}: {} ({})", outcome.command, check_found(outcome), outcome.duration))
        }
        Notice::Tampered { tampered } => {
            let named: Vec<String> = tampered.iter().take(3).map(ToString::to_string).collect();
            let more = tampered.len().saturating_sub(named.len());
            let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
            (Lasting, format!("TAMPERED: {}{rest}", named.join("; ")))
        }
        Notice::TripwireStarted => (Passing, "all checks pass; now they have to show that they can fail".to_owned()),
        Notice::TripwireFinished { tripwire } => (Lasting, format!("tripwire: {tripwire}")),
        Notice::IterationDecided { iteration, tally, passed, doubt, claimed, spent } => {
            let found = verdict(*tally, *passed, doubt.as_deref(), *claimed);
            (Lasting, format!("iteration {iteration}: {found}, {} spent", dollars(*spent)))
        }
        Notice::Undone { iteration } => (Lasting, format!("iteration {iteration} made things worse and was undone")),
        Notice::Escalated { skill } => (Lasting, format!("stalled: going on with the skill {skill}")),
        Notice::Alerted(alert) => (Lasting, format!("alert: {}", alert.sentence())),
        Notice::Stopping(stop) => match stop.when {
            StopWhen::AfterIteration => {
                (Lasting, "stopping after this iteration; Ctrl-C once more stops now".to_owned())
            }
            StopWhen::Now => (Lasting, "stopping now".to_owned()),
        },
        Notice::OfCandidate { number, notice, .. } => {
            let (weight, text) = line(notice, now)?;
            (weight, format!("[{number}] {text}"))
        }
        Notice::Warning(text) => (Lasting, format!("warning: {text}")),
        // Whoever started the loop prints its result, so the live view need not keep it.
        Notice::Finished(result) => (Passing, result.headline()),
    };
    Some((weight, text))
}

/// `up to 10 iterations`
pub(super) fn up_to(iterations: u32) -> String {
    format!("up to {}", counted(usize::try_from(iterations).unwrap_or(usize::MAX), "iteration", "iterations"))
}

/// A time to wait for: to the second, with the day only where it is another.
fn clock(at: Timestamp, now: Timestamp) -> String {
    let text = at.rfc3339();
    let time = text.get(11..19).unwrap_or(&text);
    if at.utc_date() == now.utc_date() { format!("{time} UTC") } else { format!("{} {time} UTC", at.utc_date()) }
}

/// How a run of an agent ended: what it came to first, what was wrong with it last, because that has words of its own.
pub(crate) fn agent_found(ended: &Ended, faults: &[Fault], changed: usize, charged: Money, duration: Millis) -> String {
    let files = counted(changed, "file changed", "files changed");
    let came_to = format!("after {duration}, {files}, {}", dollars(charged));
    match (ended, faults.first()) {
        (_, Some(fault)) => format!("ended {came_to}: {fault}"),
        (Ended::Exited { code: 0 }, None) => format!("done {came_to}"),
        (ended, None) => format!("ended {came_to}: {ended}"),
    }
}

/// What a check found.
pub(crate) fn check_found(outcome: &CheckOutcome) -> String {
    match (&outcome.tests, outcome.passed) {
        (Some(TestTally { passed, failed, .. }), _) => format!("{passed} passing, {failed} failing"),
        (None, true) => "passes".to_owned(),
        (None, false) => outcome.ended.to_string(),
    }
}

/// What an iteration came to.
pub(super) fn verdict(tally: Option<(u32, u32)>, passed: bool, doubt: Option<&str>, claimed: bool) -> String {
    let found = match (tally, passed) {
        (None, _) => "nothing was checked".to_owned(),
        (Some((passing, _)), true) => match doubt {
            Some(doubt) => format!("all checks pass ({passing} passing), but {doubt}"),
            None => format!("all checks pass ({passing} passing)"),
        },
        (Some((passing, failing)), false) if let Some(doubt) = doubt => {
            format!("{passing} passing, {failing} failing, but {doubt}")
        }
        (Some((passing, 0)), false) => format!("{passing} passing, but something expected is missing"),
        (Some((passing, failing)), false) => format!("{passing} passing, {failing} failing"),
    };
    match (claimed, passed, tally) {
        (true, false, Some(_)) => format!("{found}, although the agent claims to be done"),
        (true, _, _) => format!("{found}, and the agent claims to be done"),
        (false, _, _) => found,
    }
}

/// The first line with words in it: an objective can be a whole page.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
