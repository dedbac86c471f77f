//! `.ralph/LEDGER.md`: the run for people and for the next agent.

use std::fmt::Write as _;

use ralph_model::Millis;

use crate::run::{IterationView, OutcomeView, RunStatus, RunView, VerdictView};

/// The whole page. Text of agents stands in it as they wrote it: the writer of the file sanitises it.
pub fn ledger(view: &RunView) -> String {
    let (state, config) = (&view.state, &view.config);
    let stands = match &view.outcome {
        None => format!("running ({})", state.phase),
        Some(OutcomeView { status: RunStatus::Completed, verified: Some(false), .. }) => {
            "COMPLETED (unverified)".to_owned()
        }
        Some(OutcomeView { status, reason: Some(reason), .. }) => format!("{} {reason}", status.name()),
        Some(OutcomeView { status, .. }) => status.name().to_owned(),
    };
    let stands = match state.grade {
        Some(grade) => format!("{stands}, verified: {grade} ({})", cell(&state.grade_reasons.join("; "))),
        None => stands,
    };
    let checks = if config.verification_commands.is_empty() {
        "none: a claim completes the loop, unverified".to_owned()
    } else {
        config.verification_commands.iter().map(|command| format!("`{}`", cell(command))).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "# Ralph ledger\n\nWritten by Ralph after each iteration; changes here have no effect.\n\n\
         - Loop: `{}` (`{}`)\n- State: {stands}\n- Started: {}\n- Iterations: {} of {}\n- Money: {}\n- Agent: {}\n- Checks: {checks}\n\n",
        state.loop_id.short(),
        state.loop_id,
        state.started_at.rfc3339(),
        state.counted,
        state.max_iterations,
        state.money(),
        cell(&view.agents()),
    );
    if let Some(limits) = state.usage.limits() {
        text.truncate(text.trim_end().len());
        let _ = write!(text, "\n- Limits: {limits}\n\n");
    }
    let _ = write!(text, "## Objective\n\n{}\n\n## Iterations\n\n", ralph_engine::fence(&view.objective));
    text.push_str(
        "| # | verdict | failing | files | cost | time | agent | note |\n|---|---|---|---|---|---|---|---|\n",
    );
    if let Some(baseline) = &view.baseline {
        let (verdict, failing) = (verdict(Some(baseline)), failing(baseline));
        let _ = writeln!(text, "| 0 | {verdict} | {failing} | | | | | before the first iteration |");
    }
    view.iterations.iter().for_each(|iteration| text.push_str(&row(iteration)));
    text
}

fn row(view: &IterationView) -> String {
    let failing = view.verdict.as_ref().map_or_else(String::new, failing);
    let files = view.run.as_ref().map_or_else(String::new, |run| run.changed.len().to_string());
    let time = view.ended_at.filter(|_| view.worked > Millis(0)).map_or_else(String::new, |_| view.worked.to_string());
    let verdict = verdict(view.verdict.as_ref());
    let note = cell(&view.notes.join("; "));
    let (iteration, agent, cost) = (view.iteration, cell(&view.agent), view.cost);
    format!("| {iteration} | {verdict} | {failing} | {files} | {cost} | {time} | {agent} | {note} |\n")
}

fn failing(verdict: &VerdictView) -> String {
    if verdict.incomplete { "?".to_owned() } else { verdict.score.to_string() }
}

fn verdict(verdict: Option<&VerdictView>) -> &'static str {
    match verdict.map(|verdict| verdict.passed) {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "—",
    }
}

/// Text of others inside a table: no new cells, no new rows.
fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|").replace('`', "'")
}
