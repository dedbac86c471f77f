//! `ralph show`: one loop or race, from its journal.

use std::path::Path;

use anyhow::{Context as _, bail};
use ralph_model::{Iteration, Millis, RunKind};
use ralph_store::{Filter, RunEntry, StoreHandle};
use ralph_view::{HintView, IterationView, ListEntry, RaceRunView, RaceView, RunStatus, RunView, VerdictView};

use super::list::{columns, of_race};
use crate::args::ShowArgs;
use crate::journal::{chosen, view};
use crate::screen::Screen;
use ralph_host::Host;

/// Shows one loop or race.
///
/// # Errors
/// When the loop is unknown or its journal cannot be followed.
pub(crate) async fn run(args: ShowArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = chosen(&store, args.loop_name.as_deref(), around).await?;
    if let Some(iteration) = args.prompt {
        let path = around.home().loop_folder(entry.id).prompt(Iteration(iteration));
        let prompt = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("iteration {iteration} of loop {} has no prompt: it never started", entry.id.short());
            }
            read => read.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        screen.result(&prompt)?;
        return Ok(0);
    }
    if args.requests {
        let path = around.home().loop_folder(entry.id).requests();
        if args.json {
            screen.json(&super::requests::as_json(&path)?)?;
        } else {
            screen.result(&super::requests::as_text(&path)?)?;
        }
        return Ok(0);
    }
    if entry.kind == RunKind::Crew {
        return super::crew::show(&store, &entry, args.json, around, screen).await;
    }
    if entry.kind == RunKind::Race {
        return show_race(&store, &entry, args.json, around, screen).await;
    }
    let candidates: Vec<ListEntry> = of_race(&store, &entry).await?.iter().map(|one| around.listed(one)).collect();
    let mut run = view(&store, entry.id).await?;
    let listed = around.listed(&entry);
    // As the listing has it: in the words of the Ralph that wrote it.
    (run.state.status, run.state.reason) = (listed.status, listed.reason.clone());
    run.race = RaceView::new(&candidates);
    run.host = listed.host.clone();
    // The branch of a candidate that is not kept is gone.
    if run.race.is_some() && !run.state.verified && !Path::new(&run.workspace).is_dir() {
        run.branch = None;
    }
    let known = u32::try_from(run.hints.len()).unwrap_or(u32::MAX);
    let waiting = store.hints_after(entry.id, known).await?;
    run.hints.extend(waiting.into_iter().map(|hint| HintView { at: hint.at, iteration: None, text: hint.text }));
    if args.json {
        screen.json(&serde_json::to_value(run)?)?;
    } else {
        screen.result(&as_text(&run, &listed.state(), &candidates))?;
    }
    Ok(0)
}

async fn show_race(
    store: &StoreHandle,
    entry: &RunEntry,
    as_json: bool,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let race = ralph_runtime::read_race(store, entry.id).await?;
    let candidates = store.runs(&Filter { parent: Some(entry.id), ..Filter::default() }).await?;
    let candidates: Vec<ListEntry> = candidates.iter().map(|one| around.listed(one)).collect();
    let view = RaceRunView::new(around.listed(entry), &race, &candidates);
    if as_json {
        screen.json(&serde_json::to_value(view)?)?;
    } else {
        screen.result(&race_as_text(&view))?;
    }
    Ok(0)
}

fn race_as_text(race: &RaceRunView) -> String {
    let RaceRunView { entry, winner, budget, candidates } = race;
    let winner = match (winner, entry.status) {
        (Some(winner), _) => winner.short(),
        (None, RunStatus::Running | RunStatus::Interrupted | RunStatus::Waiting) => "none yet".to_owned(),
        (None, RunStatus::Completed | RunStatus::Aborted | RunStatus::Error) => "none".to_owned(),
    };
    let mut rows = vec![["CANDIDATE", "STATE", "ITERATIONS", "COST", "AGENT", "WORKSPACE"].map(str::to_owned)];
    for one in candidates {
        let gone = if Path::new(&one.workspace).is_dir() { "" } else { " (removed)" };
        rows.push([
            one.short.clone(),
            one.state(),
            one.iterations.to_string(),
            one.cost.to_string(),
            one.agent.clone(),
            format!("{}{gone}", one.workspace),
        ]);
    }
    format!(
        "race {}  {}\n  id         {}\n  workspace  {}\n  started    {}\n  iterations {}\n  money      {} of {budget}\n  \
         winner     {winner}\n\n{}\n\n{}",
        entry.short,
        entry.state(),
        entry.loop_id,
        entry.workspace,
        entry.started_at.rfc3339(),
        entry.iterations,
        entry.cost,
        indent(&entry.objective),
        columns(&rows),
    )
}

fn race(race: &RaceView, run: &RunView, candidates: &[ListEntry]) -> String {
    let id = run.state.loop_id;
    let standing = match race.winner {
        Some(winner) if winner == id => "won".to_owned(),
        Some(winner) => format!("lost against {}", winner.short()),
        None => "no winner yet".to_owned(),
    };
    let gone = if Path::new(&run.workspace).is_dir() { "" } else { "; its worktree is gone" };
    let others = candidates.iter().filter(|candidate| candidate.loop_id != id);
    let others =
        others.map(|other| format!("             against {} ({}): {}\n", other.short, other.agent, other.state()));
    format!("  race       {standing}{gone}\n{}", others.collect::<String>())
}

fn as_text(run: &RunView, stands: &str, candidates: &[ListEntry]) -> String {
    let (state, config) = (&run.state, &run.config);
    let mut text = format!(
        "loop {}  {stands}\n  id         {}\n  workspace  {}\n  agent      {}\n  started    {}\n  iterations {} of {}\n  money      {}\n",
        state.loop_id.short(),
        state.loop_id,
        run.workspace,
        run.agents(),
        state.started_at.rfc3339(),
        state.counted,
        state.max_iterations,
        state.money(),
    );
    if let Some(limits) = state.usage.limits() {
        text.push_str(&format!("  limits     {limits}\n"));
    }
    if let Some(branch) = &run.branch {
        text.push_str(&format!("  branch     {branch}\n"));
    }
    if let Some(commit) = &run.commit {
        text.push_str(&format!("  commit     {commit}\n"));
    }
    if let Some(raced) = &run.race {
        text.push_str(&race(raced, run, candidates));
    }
    for command in &config.verification_commands {
        text.push_str(&format!("  check      {command}\n"));
    }
    if let Some(outcome) = &run.outcome {
        let reason = outcome.reason.map(|reason| format!(" {reason}")).unwrap_or_default();
        text.push_str(&format!("  outcome    {}{reason}\n", outcome.status.name()));
        if let Some(grade) = state.grade {
            text.push_str(&format!("  grade      {grade}\n"));
            state.grade_reasons.iter().for_each(|reason| text.push_str(&format!("             {reason}\n")));
        }
        if outcome.status != RunStatus::Completed {
            text.push_str(&format!("             {}\n", outcome.details));
        }
    }
    for HintView { iteration, text: hint, .. } in &run.hints {
        let when = iteration.map_or_else(|| "not taken yet".to_owned(), |first| format!("from iteration {first} on"));
        text.push_str(&format!("  message    {when}: {}\n", hint.trim().replace('\n', "\n             ")));
    }
    text.push_str(&format!("\n{}\n\n", indent(&config.objective)));
    let mut rows =
        vec![["#", "VERDICT", "PASSING", "FAILING", "FILES", "COST", "TIME", "AGENT", "NOTE"].map(str::to_owned)];
    if let Some(baseline) = &run.baseline {
        let blank = String::new;
        rows.push([
            "0".into(),
            verdict(Some(baseline)).into(),
            baseline.passing.to_string(),
            failing(baseline),
            blank(),
            blank(),
            blank(),
            blank(),
            "baseline".into(),
        ]);
    }
    rows.extend(run.iterations.iter().map(row));
    text.push_str(&columns(&rows));
    text
}

fn row(record: &IterationView) -> [String; 9] {
    let found = record.verdict.as_ref();
    let mut notes = record.notes.clone();
    if record.claimed && !record.false_claim {
        notes.insert(0, "claimed".to_owned());
    }
    if let Some(run) = record.run.as_ref().filter(|run| !run.ended.is_success()) {
        notes.insert(0, format!("agent: {}", run.ended));
    }
    [
        record.iteration.to_string(),
        verdict(record.verdict.as_ref()).to_owned(),
        found.map_or_else(String::new, |verdict| verdict.passing.to_string()),
        found.map_or_else(String::new, failing),
        record.run.as_ref().map_or_else(String::new, |run| run.changed.len().to_string()),
        record.cost.to_string(),
        match record.ended_at {
            // How long a pass worked that died with Ralph is unknown.
            Some(_) if record.worked > Millis(0) => record.worked.to_string(),
            Some(_) | None => String::new(),
        },
        record.agent.clone(),
        notes.join("; "),
    ]
}

/// Failing tests; unknown where not all tests ran.
fn failing(verdict: &VerdictView) -> String {
    if verdict.incomplete { "?".to_owned() } else { verdict.failing.to_string() }
}

fn verdict(verdict: Option<&VerdictView>) -> &'static str {
    match verdict.map(|verdict| verdict.passed) {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "-",
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
