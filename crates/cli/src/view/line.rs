//! One plain line for a change or for progress. The same words go to a log of plain lines and above the live view.

use ralph_engine::{StartPoint, Stop, StopWhen};
use ralph_model::{LoopConfig, Money, Timestamp, Trouble, protected_patterns};
use ralph_view::{Delta, Progress, RunState, WaitView, agent_found, check_found, failed_over, iteration_found};

use ratatui_core::style::Style;

use super::agent_event::{event_line, is_failure};
use crate::clock::{local_today, with_local_times};
use crate::screen::{counted, dollars};
use crate::style::{BAD, BUSY, GOOD, PLAIN, QUIET, WARN, of_status};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Worth keeping on the screen when the view has moved on.
    Lasting,
    /// Only for those who read along.
    Passing,
}

/// A line, how lasting it is, and how it looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) weight: Weight,
    pub(super) style: Style,
    pub(super) text: String,
}

/// Something worth keeping.
pub(super) const fn lasting(style: Style, text: String) -> Said {
    Said { weight: Weight::Lasting, style, text }
}

const fn passing(style: Style, text: String) -> Said {
    Said { weight: Weight::Passing, style, text }
}

/// What a change says in one line, still to be made harmless. Openings and stops depend on what was said before.
pub(super) fn of_delta(delta: &Delta, state: &RunState, now: Timestamp) -> Option<Said> {
    Some(match delta {
        Delta::Opened { .. } | Delta::Stopping { .. } => return None,
        Delta::BaselineFinished { verdict } => {
            let meaning = match (verdict.passed, state.needs_claim) {
                (true, _) => "checks pass already, so the agent has to claim that it is done, too",
                (false, true) => "passing checks together with the promise will complete the loop",
                (false, false) => "passing checks will complete the loop",
            };
            let (passing, failing) = (verdict.passing, verdict.failing);
            lasting(PLAIN, format!("before the first iteration: {passing} passing, {failing} failing; {meaning}"))
        }
        Delta::IterationStarted { iteration, agent } => {
            passing(BUSY, format!("iteration {iteration}: running {agent}"))
        }
        Delta::AgentFinished { iteration } => {
            let run = iteration.run.as_ref()?;
            let style = if run.ended.is_success() && run.faults.is_empty() { PLAIN } else { WARN };
            passing(style, format!("iteration {}: agent {}", iteration.iteration, agent_found(run, iteration.cost)))
        }
        Delta::Tampered { tampered } => {
            let named: Vec<String> = tampered.iter().take(3).map(ToString::to_string).collect();
            let more = tampered.len().saturating_sub(named.len());
            let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
            lasting(BAD, format!("TAMPERED: {}{rest}", named.join("; ")))
        }
        Delta::TripwireStarted => {
            passing(BUSY, "all checks pass; confirming that they still catch failures".to_owned())
        }
        Delta::TripwireFinished { tripwire } => lasting(PLAIN, format!("tripwire: {tripwire}")),
        Delta::IterationDecided { iteration } => {
            let found = iteration_found(iteration);
            let passed = iteration.verdict.as_ref().map(|verdict| verdict.passed);
            let style = passed.map_or(WARN, |passed| if passed { GOOD } else { BAD });
            let spent = if counts_money(state) { format!(", {} spent", dollars(state.cost)) } else { String::new() };
            lasting(style, format!("iteration {}: {found}{spent}", iteration.iteration))
        }
        Delta::IterationUndone { iteration } => {
            lasting(WARN, format!("iteration {iteration} made things worse and was undone"))
        }
        Delta::FailedOver { from, to } => lasting(WARN, failed_over(from, to)),
        Delta::Escalated { skill } => lasting(WARN, format!("stalled: continuing with the skill {skill}")),
        Delta::Waiting { wait } => lasting(WARN, waiting(wait, now)),
        Delta::Alerted { alert } => lasting(WARN, format!("alert: {}", alert.sentence())),
        // Whoever started the loop prints its result, so the live view need not keep it.
        Delta::Finished { outcome } => {
            passing(of_status(state.status, state.verified), with_local_times(&outcome.headline()))
        }
    })
}

/// What progress says in one line; none for what a program prints, which has its log. Checks that confirm are meant to fail.
pub(super) fn of_progress(progress: &Progress, is_confirming: bool) -> Option<Said> {
    let check = if is_confirming { "confirming" } else { "check" };
    Some(match progress {
        Progress::Activity { .. } | Progress::Request { .. } | Progress::StopHeard { .. } => return None,
        Progress::Agent { event } => passing(if is_failure(event) { BAD } else { QUIET }, event_line(event)?),
        Progress::CheckStarted { command } => passing(BUSY, format!("{check}: {command}")),
        Progress::CheckFinished { outcome } => {
            let style = match (is_confirming, outcome.passed) {
                (true, _) => PLAIN,
                (false, true) => GOOD,
                (false, false) => BAD,
            };
            passing(style, format!("{check}: {}: {} ({})", outcome.command, check_found(outcome), outcome.duration))
        }
        Progress::Warning { text } => lasting(WARN, format!("warning: {text}")),
    })
}

pub(super) fn opened(config: &LoopConfig, state: &RunState) -> String {
    let limits = match state.metered {
        true => format!("{} and {}", up_to(config.max_iterations), dollars(config.max_cost)),
        false => format!("{}, not metered", up_to(config.max_iterations)),
    };
    // The one under way is counted, too.
    let before = match state.counted.saturating_sub(u32::from(state.phase == "working")) {
        0 => String::new(),
        done if counts_money(state) => format!(", continues after iteration {done} and {}", dollars(state.cost)),
        done => format!(", continues after iteration {done}"),
    };
    let objective = first_line(&config.objective);
    let agents = config.agent_titles();
    format!("loop {}: {objective} ({agents}, {limits}{before})", state.loop_id.short())
}

/// Whether what the loop cost is known: agents that are not metered cost nothing that is counted.
fn counts_money(state: &RunState) -> bool {
    state.metered || state.cost > Money::ZERO
}

/// How the loop is kept from harm and its verdicts from forgery; none in a loop from before that was recorded.
pub(super) fn precautions(start: &StartPoint) -> Option<String> {
    let pins = protected_patterns(&start.pins);
    let pinned = if pins == 0 { String::new() } else { format!("; {pins} protected patterns") };
    (!start.sandbox.is_empty()).then(|| format!("sandbox: {}{pinned}", start.sandbox))
}

/// What completes a loop that no check looks at: no baseline will say so.
pub(super) fn without_checks(config: &LoopConfig) -> Option<String> {
    let text = "no checks: the loop ends when the agent reports completion, and nothing is verified";
    config.verification_commands.is_empty().then(|| text.to_owned())
}

pub(super) const fn stopping(stop: Stop, in_iteration: bool) -> &'static str {
    match (stop.when, in_iteration) {
        (StopWhen::AfterIteration, true) => "stopping after this iteration; Ctrl-C once more stops now",
        (StopWhen::AfterIteration, false) => "stopping now: no iteration is under way",
        (StopWhen::Now, _) => "stopping now",
    }
}

fn waiting(wait: &WaitView, now: Timestamp) -> String {
    // Not the trouble's own sentence: that names the time once more, to the millisecond.
    let Trouble { kind, message, .. } = &wait.trouble;
    let what = match message.as_str() {
        "" => kind.words().to_owned(),
        message => format!("{}: {}", kind.words(), message.trim_end_matches('.')),
    };
    let (clock, left) = (local_today(wait.until, now), wait.until.since(now));
    format!("waiting until {clock} ({left}): {what}; this is not counted as an iteration")
}

/// `up to 10 iterations`
pub(super) fn up_to(iterations: u32) -> String {
    format!("up to {}", counted(iterations, "iteration", "iterations"))
}

/// The first line with words in it: an objective can be a whole page.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
