//! `ralph show`: one loop or race, from its journal.

use std::path::Path;

use anyhow::{Context as _, bail};
use ralph_model::{Iteration, Millis, RunKind};
use ralph_store::{Filter, RunEntry, StoreHandle};
use ralph_view::{HintView, IterationView, ListEntry, RaceRunView, RaceView, RunStatus, RunView, VerdictView};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::list::of_race;
use crate::args::ShowArgs;
use crate::clock::{local, with_local_times};
use crate::journal::{chosen, view};
use crate::page::{Fit, Page, Table, cell, cost};
use crate::screen::Screen;
use crate::style::{BAD, GOOD, PLAIN, QUIET, TITLE, of_status};
use ralph_host::Host;

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
            screen.page(super::requests::as_text(&path)?)?;
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
    screen.show(args.json, &run, |run| as_text(run, &listed, &candidates))?;
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
    screen.show(as_json, &view, race_as_text)?;
    Ok(0)
}

fn race_as_text(race: &RaceRunView) -> Page {
    let RaceRunView { entry, winner, budget, candidates } = race;
    let winner = match (winner, entry.status) {
        (Some(winner), _) => winner.short(),
        (None, RunStatus::Running | RunStatus::Interrupted | RunStatus::Waiting) => "none yet".to_owned(),
        (None, RunStatus::Completed | RunStatus::Aborted | RunStatus::Error) => "none".to_owned(),
    };
    let mut page = Page::default();
    page.line(heading("race", &entry.short, entry.state(), of_status(entry.status, entry.verified)));
    page.field("id", &entry.loop_id.to_string(), PLAIN);
    page.field("workspace", &entry.workspace, PLAIN);
    page.field("started", &local(entry.started_at), PLAIN);
    page.field("iterations", &entry.iterations.to_string(), PLAIN);
    page.field("cost", &format!("{} of {budget}", entry.cost), PLAIN);
    page.field("winner", &winner, PLAIN);
    page.line("");
    page.text(2, &entry.objective, PLAIN);
    page.line("");
    let mut table = Table::new([
        ("CANDIDATE", Fit::Left),
        ("STATE", Fit::Left),
        ("RUNS", Fit::Right),
        ("COST", Fit::Right),
        ("AGENT", Fit::Name),
        ("WORKSPACE", Fit::Words),
    ]);
    for one in candidates {
        let gone = if Path::new(&one.workspace).is_dir() { "" } else { " (removed)" };
        table.row([
            cell(one.short.clone()),
            Span::styled(one.state(), of_status(one.status, one.verified)),
            cell(one.iterations.to_string()),
            cell(cost(one.cost)),
            cell(one.agent.clone()),
            cell(format!("{}{gone}", one.workspace)),
        ]);
    }
    page.table(table);
    page
}

/// The first line of what is shown of a run.
pub(crate) fn heading(what: &'static str, short: &str, state: String, style: Style) -> Line<'static> {
    Line::from(vec![Span::styled(format!("{what} {short}  "), TITLE), Span::styled(state, style.patch(TITLE))])
}

fn race(page: &mut Page, race: &RaceView, run: &RunView, candidates: &[ListEntry]) {
    let id = run.state.loop_id;
    let standing = match race.winner {
        Some(winner) if winner == id => "won".to_owned(),
        Some(winner) => format!("lost against {}", winner.short()),
        None => "no winner yet".to_owned(),
    };
    let gone = if Path::new(&run.workspace).is_dir() { "" } else { "; its worktree is gone" };
    page.field("race", &format!("{standing}{gone}"), PLAIN);
    for other in candidates.iter().filter(|candidate| candidate.loop_id != id) {
        page.field("", &format!("against {} ({}): {}", other.short, other.agent, other.state()), PLAIN);
    }
}

fn as_text(run: &RunView, listed: &ListEntry, candidates: &[ListEntry]) -> Page {
    let (state, config) = (&run.state, &run.config);
    let style = of_status(listed.status, listed.verified);
    let mut page = Page::default();
    page.line(heading("loop", &state.loop_id.short(), listed.state(), style));
    page.field("id", &state.loop_id.to_string(), PLAIN);
    page.field("workspace", &run.workspace, PLAIN);
    page.field("agent", &run.agents(), PLAIN);
    page.field("started", &local(state.started_at), PLAIN);
    page.field("iterations", &format!("{} of {}", state.counted, state.max_iterations), PLAIN);
    page.field("cost", &state.money(), PLAIN);
    state.usage.limits().iter().for_each(|limits| page.field("limits", limits, PLAIN));
    for (name, value) in [("branch", &run.branch), ("commit", &run.commit)] {
        value.iter().for_each(|value| page.field(name, value, PLAIN));
    }
    if let Some(raced) = &run.race {
        race(&mut page, raced, run, candidates);
    }
    config.verification_commands.iter().for_each(|command| page.field("check", command, PLAIN));
    if let Some(outcome) = &run.outcome {
        // The heading has the status; here is the reason.
        if outcome.verified != Some(true) {
            page.field("outcome", &with_local_times(&outcome.details), style);
        }
        if let Some(grade) = state.grade {
            page.field("grade", &grade.to_string(), PLAIN);
            state.grade_reasons.iter().for_each(|reason| page.field("", reason, PLAIN));
        }
    }
    for HintView { iteration, text: hint, .. } in &run.hints {
        let when = match (iteration, &run.outcome) {
            (Some(first), _) => format!("from iteration {first} on"),
            (None, Some(_)) => "never in a prompt, the loop ended first".to_owned(),
            (None, None) => "not taken yet".to_owned(),
        };
        page.field("message", &format!("{when}: {}", hint.trim()), PLAIN);
    }
    page.line("");
    page.text(2, &config.objective, PLAIN);
    page.line("");
    let mut table = Table::new([
        ("#", Fit::Right),
        ("CHECK", Fit::Left),
        ("PASSING", Fit::Right),
        ("FAILING", Fit::Right),
        ("FILES", Fit::Right),
        ("COST", Fit::Right),
        ("TIME", Fit::Right),
        ("AGENT", Fit::Name),
        ("NOTE", Fit::Words),
    ]);
    if let Some(baseline) = &run.baseline {
        let blank = || cell("");
        let passing = cell(baseline.passing.to_string());
        let (verdict, failing) = (verdict(Some(baseline)), cell(failing(baseline)));
        table.row([cell("0"), verdict, passing, failing, blank(), blank(), blank(), cell("baseline"), blank()]);
    }
    run.iterations.iter().for_each(|iteration| table.row(row(iteration)));
    page.table(table);
    page
}

fn row(record: &IterationView) -> [Span<'static>; 9] {
    let found = record.verdict.as_ref();
    let mut notes = record.notes.clone();
    if record.claimed && !record.false_claim {
        notes.insert(0, "claimed".to_owned());
    }
    if let Some(run) = record.run.as_ref().filter(|run| !run.ended.is_success()) {
        notes.insert(0, format!("agent: {}", run.ended));
    }
    let is_bad = record.false_claim || notes.iter().any(|note| note.starts_with("TAMPERED"));
    [
        cell(record.iteration.to_string()),
        verdict(found),
        cell(found.map_or_else(String::new, |verdict| verdict.passing.to_string())),
        cell(found.map_or_else(String::new, failing)),
        cell(record.run.as_ref().map_or_else(String::new, |run| run.changed.len().to_string())),
        cell(cost(record.cost)),
        cell(match record.ended_at {
            // How long a pass worked that died with Ralph is unknown.
            Some(_) if record.worked > Millis(0) => record.worked.to_string(),
            Some(_) | None => String::new(),
        }),
        cell(record.agent.clone()),
        Span::styled(notes.join("; "), if is_bad { BAD } else { PLAIN }),
    ]
}

/// Failing tests; unknown where not all tests ran.
fn failing(verdict: &VerdictView) -> String {
    if verdict.incomplete { "?".to_owned() } else { verdict.failing.to_string() }
}

fn verdict(verdict: Option<&VerdictView>) -> Span<'static> {
    match verdict.map(|verdict| verdict.passed) {
        Some(true) => Span::styled("pass", GOOD),
        Some(false) => Span::styled("fail", BAD),
        None => Span::styled("-", QUIET),
    }
}
