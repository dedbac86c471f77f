//! `ralph list`: loops and races, newest first.

use ralph_model::{LoopId, RunKind};
use ralph_store::{Filter, RunEntry, RunStatus as StoredStatus, StoreHandle};
use ralph_view::ListEntry;

use crate::args::{ListArgs, StatusWord};
use crate::input::now;
use crate::screen::Screen;
use ralph_host::{Host, Liveness};

/// Lists loops.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn run(args: ListArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let entries = match ralph_host::database::open_existing(&around.dirs).await? {
        Some(store) => chosen(&store, &args, around).await?.iter().map(|entry| around.listed(entry)).collect(),
        None => Vec::new(),
    };
    if args.ids {
        let line = |entry: &ListEntry| {
            let objective = entry.objective.lines().next().unwrap_or_default();
            format!("{}\t{} {}", entry.short, entry.state(), shortened(objective, 50).replace('\t', " "))
        };
        screen.result(&entries.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    } else if args.json {
        screen.json(&serde_json::to_value(entries)?)?;
    } else if entries.is_empty() {
        let place = if args.all { "" } else { " in this workspace (`--all` looks everywhere)" };
        screen.say(&format!("no loops{place}"))?;
    } else {
        screen.result(&table(&entries))?;
    }
    Ok(0)
}

async fn chosen(store: &StoreHandle, args: &ListArgs, around: &Host) -> anyhow::Result<Vec<RunEntry>> {
    let status = args.status.map(stored);
    let entries = if args.all {
        store.runs(&Filter { status, ..Filter::default() }).await?
    } else {
        let workspace = Some(around.current.canonicalize()?.to_string_lossy().into_owned());
        store.runs(&Filter { workspace, status, ..Filter::default() }).await?
    };
    let wanted = |entry: &RunEntry| args.status.is_none_or(|status| matches(status, entry, around));
    let entries: Vec<RunEntry> = entries.into_iter().filter(wanted).collect();
    // A race counts once, with all of its candidates.
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let is_listed = |id: LoopId| entries.iter().any(|entry| entry.id == id);
    let first: Vec<LoopId> =
        entries.iter().filter(|entry| !entry.parent.is_some_and(is_listed)).take(limit).map(|entry| entry.id).collect();
    let is_chosen =
        |entry: &RunEntry| first.contains(&entry.id) || entry.parent.is_some_and(|race| first.contains(&race));
    Ok(entries.into_iter().filter(is_chosen).collect())
}

/// The candidates of the race that a loop belongs to, itself included, in their order; none where it did not race.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn of_race(store: &StoreHandle, entry: &RunEntry) -> anyhow::Result<Vec<RunEntry>> {
    let Some(race) = entry.parent else { return Ok(Vec::new()) };
    let mut candidates = store.runs(&Filter { parent: Some(race), ..Filter::default() }).await?;
    candidates.sort_by_key(|candidate| candidate.id);
    Ok(candidates)
}

const fn stored(word: StatusWord) -> StoredStatus {
    match word {
        StatusWord::Running | StatusWord::Interrupted | StatusWord::Waiting => StoredStatus::Running,
        StatusWord::Completed => StoredStatus::Completed,
        StatusWord::Aborted => StoredStatus::Aborted,
        StatusWord::Error => StoredStatus::Error,
    }
}

fn matches(word: StatusWord, entry: &RunEntry, around: &Host) -> bool {
    match word {
        StatusWord::Running => !around.is_interrupted(entry),
        StatusWord::Interrupted => around.liveness(entry) == Liveness::Interrupted,
        StatusWord::Waiting => around.liveness(entry) == Liveness::Waiting,
        StatusWord::Completed | StatusWord::Aborted | StatusWord::Error => true,
    }
}

fn table(entries: &[ListEntry]) -> String {
    let mut rows = vec![["LOOP", "STATE", "ITERATIONS", "COST", "AGE", "OBJECTIVE"].map(str::to_owned)];
    let is_listed = |race: LoopId| entries.iter().any(|entry| entry.loop_id == race);
    for entry in entries.iter().filter(|entry| !entry.race.is_some_and(is_listed)) {
        let objective = entry.objective.lines().next().unwrap_or_default();
        if entry.kind == RunKind::Crew {
            let about = shortened(&format!("crew: {objective}"), 50);
            rows.push(row(entry, entry.short.clone(), about));
            continue;
        }
        if entry.kind != RunKind::Race {
            rows.push(row(entry, entry.short.clone(), shortened(objective, 50)));
            continue;
        }
        // The oldest first: that is their order.
        let candidates: Vec<&ListEntry> =
            entries.iter().rev().filter(|candidate| candidate.race == Some(entry.loop_id)).collect();
        let objective = format!("race of {}: {objective}", candidates.len());
        rows.push(row(entry, entry.short.clone(), shortened(&objective, 50)));
        for candidate in candidates {
            rows.push(row(candidate, format!("  {}", candidate.short), format!("candidate: {}", candidate.agent)));
        }
    }
    columns(&rows)
}

fn row(entry: &ListEntry, name: String, about: String) -> [String; 6] {
    let age = now().since(entry.started_at).to_string();
    [name, entry.state(), entry.iterations.to_string(), entry.cost.to_string(), age, about]
}

/// The beginning of a text.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Rows with each column as wide as its widest cell.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
