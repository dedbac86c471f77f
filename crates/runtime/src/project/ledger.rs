//! `.ralph/LEDGER.md`: the loop for people and for the next agent.

use std::fmt::Write as _;

use ralph_engine::IterationRecord;
use ralph_model::{Outcome, Verdict};

use super::{own_folder, replace};
use crate::live::Live;
use crate::perform::Context;

pub(super) fn write(context: &Context, live: &Live) -> Result<(), String> {
    let own = own_folder(&context.root)?;
    let text = context.services.redactor.clean(&render(live)).into_owned();
    replace(&own.path().join("LEDGER.md"), &text).map_err(|error| own.readable(&format!("LEDGER.md: {error}")))
}

fn render(live: &Live) -> String {
    let facts = live.run.facts();
    let config = &facts.config;
    let state = match live.run.outcome() {
        None => format!("running ({})", live.run.phase().name()),
        Some(Outcome::Completed { verified: false }) => "COMPLETED (unverified)".to_owned(),
        Some(outcome) => match outcome.reason() {
            Some(reason) => format!("{} {reason}", outcome.status()),
            None => outcome.status().to_owned(),
        },
    };
    let checks = if config.verification_commands.is_empty() {
        "none: a claim completes the loop, unverified".to_owned()
    } else {
        config.verification_commands.iter().map(|command| format!("`{}`", cell(command))).collect::<Vec<_>>().join(", ")
    };
    let money = if config.is_unmetered() {
        "not metered".to_owned()
    } else {
        format!("{} of {}", facts.spent, config.max_cost)
    };
    let mut text = format!(
        "# Ralph ledger\n\nWritten by Ralph after each iteration; changes here have no effect.\n\n\
         - Loop: `{}` (`{}`)\n- State: {state}\n- Started: {}\n- Iterations: {} of {}\n- Money: {money}\n- Agent: {}\n- Checks: {checks}\n\n",
        live.loop_id.short(),
        live.loop_id,
        facts.started.rfc3339(),
        facts.counted(),
        config.max_iterations,
        cell(&config.agents().map(ralph_model::AgentSpec::title).collect::<Vec<_>>().join(", ")),
    );
    let _ = write!(text, "## Objective\n\n{}\n\n## Iterations\n\n", ralph_engine::fence(&config.objective));
    text.push_str(
        "| # | verdict | failing | files | cost | time | agent | note |\n|---|---|---|---|---|---|---|---|\n",
    );
    if let Some(baseline) = &facts.baseline {
        let _ = writeln!(
            text,
            "| 0 | {} | {} | | | | | before the first iteration |",
            verdict(Some(baseline)),
            baseline.failing()
        );
    }
    for record in &facts.iterations {
        text.push_str(&row(record));
    }
    text
}

fn row(record: &IterationRecord) -> String {
    let failing = record.verdict.as_ref().map_or_else(String::new, |verdict| verdict.failing().to_string());
    let files = record.run.as_ref().map_or_else(String::new, |run| run.changed.len().to_string());
    let time = record.ended.filter(|_| record.worked.0 > 0).map_or_else(String::new, |_| record.worked.to_string());
    let verdict = verdict(record.verdict.as_ref());
    let note = cell(&record.notes().join("; "));
    let (iteration, agent, charged) = (record.iteration, cell(&record.agent), record.charged);
    format!("| {iteration} | {verdict} | {failing} | {files} | {charged} | {time} | {agent} | {note} |\n")
}

fn verdict(verdict: Option<&Verdict>) -> &'static str {
    match verdict.map(Verdict::passed) {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "—",
    }
}

/// Text of others inside a table: no new cells, no new rows.
fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|").replace('`', "'")
}
