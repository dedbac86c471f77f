//! `ralph list`: loops and races, newest first.

use ralph_model::{LoopId, RunKind};
use ralph_store::{Filter, RunEntry, RunStatus as StoredStatus, StoreHandle};
use ralph_view::{ListEntry, RunStatus};
use ratatui_core::text::Span;

use crate::args::ListArgs;
use crate::input::now;
use crate::page::{Fit, Table, age, cell, cost};
use crate::screen::Screen;
use crate::style::{fit, of_status};
use ralph_host::Host;

pub(crate) async fn run(args: ListArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let (entries, older) = match ralph_host::database::open_existing(&around.dirs).await? {
        Some(store) => chosen(&store, &args, around).await?,
        None => Default::default(),
    };
    let entries: Vec<ListEntry> = entries.iter().map(|entry| around.listed(entry)).collect();
    if args.ids {
        let line = |entry: &ListEntry| {
            let objective = entry.objective.lines().next().unwrap_or_default();
            format!("{}\t{} {}", entry.short, entry.state(), fit(objective, 50).replace('\t', " "))
        };
        screen.result(&entries.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    } else if args.json {
        screen.json(&entries)?;
    } else if entries.is_empty() {
        let place = if args.all { "" } else { " in this workspace (`--all` looks everywhere)" };
        screen.say(&format!("no loops{place}"))?;
    } else {
        screen.page(table(&entries).into())?;
        if older > 0 {
            screen.say(&format!("{older} older: --limit N shows more"))?;
        }
    }
    Ok(0)
}

/// The runs to list, and how many more there are.
async fn chosen(store: &StoreHandle, args: &ListArgs, around: &Host) -> anyhow::Result<(Vec<RunEntry>, usize)> {
    let status = args.status.map(stored);
    let entries = if args.all {
        store.runs(&Filter { status, ..Filter::default() }).await?
    } else {
        let workspace = Some(around.folder()?.to_string_lossy().into_owned());
        store.runs(&Filter { workspace, status, ..Filter::default() }).await?
    };
    let wanted = |entry: &RunEntry| args.status.is_none_or(|status| around.listed(entry).status == status);
    let entries: Vec<RunEntry> = entries.into_iter().filter(wanted).collect();
    // A race counts once, with all of its candidates.
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let is_listed = |id: LoopId| entries.iter().any(|entry| entry.id == id);
    let mut first: Vec<LoopId> =
        entries.iter().filter(|entry| !entry.parent.is_some_and(is_listed)).map(|entry| entry.id).collect();
    let older = first.len().saturating_sub(limit);
    first.truncate(limit);
    let is_chosen =
        |entry: &RunEntry| first.contains(&entry.id) || entry.parent.is_some_and(|race| first.contains(&race));
    Ok((entries.into_iter().filter(is_chosen).collect(), older))
}

/// The candidates of the race that a loop belongs to, itself included, in their order; none where it did not race.
pub(crate) async fn of_race(store: &StoreHandle, entry: &RunEntry) -> anyhow::Result<Vec<RunEntry>> {
    let Some(race) = entry.parent else { return Ok(Vec::new()) };
    let mut candidates = store.runs(&Filter { parent: Some(race), ..Filter::default() }).await?;
    candidates.sort_by_key(|candidate| candidate.id);
    Ok(candidates)
}

/// As the store has it: it knows of no processes.
const fn stored(status: RunStatus) -> StoredStatus {
    match status {
        RunStatus::Running | RunStatus::Interrupted | RunStatus::Waiting => StoredStatus::Running,
        RunStatus::Completed => StoredStatus::Completed,
        RunStatus::Aborted => StoredStatus::Aborted,
        RunStatus::Error => StoredStatus::Error,
    }
}

fn table(entries: &[ListEntry]) -> Table {
    let mut table = Table::new([
        ("LOOP", Fit::Left),
        ("STATE", Fit::Left),
        ("RUNS", Fit::Right),
        ("COST", Fit::Right),
        ("AGE", Fit::Right),
        ("OBJECTIVE", Fit::Cut),
    ]);
    let is_listed = |race: LoopId| entries.iter().any(|entry| entry.loop_id == race);
    for entry in entries.iter().filter(|entry| !entry.race.is_some_and(is_listed)) {
        let objective = entry.objective.lines().next().unwrap_or_default();
        // The oldest first: that is their order.
        let candidates: Vec<&ListEntry> =
            entries.iter().rev().filter(|candidate| candidate.race == Some(entry.loop_id)).collect();
        table.row(match entry.kind {
            RunKind::Crew => row(entry, entry.short.clone(), format!("crew: {objective}")),
            RunKind::Race => row(entry, entry.short.clone(), format!("race of {}: {objective}", candidates.len())),
            _ => row(entry, entry.short.clone(), objective.to_owned()),
        });
        for candidate in candidates {
            table.row(row(candidate, format!("  {}", candidate.short), format!("candidate: {}", candidate.agent)));
        }
    }
    table
}

fn row(entry: &ListEntry, name: String, about: String) -> [Span<'static>; 6] {
    let state = Span::styled(entry.state(), of_status(entry.status, entry.verified));
    let age = age(now().since(entry.started_at));
    [cell(name), state, cell(entry.iterations.to_string()), cell(cost(entry.cost)), cell(age), cell(about)]
}
