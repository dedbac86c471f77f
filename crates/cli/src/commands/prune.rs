//! `ralph prune`: how much Ralph keeps on disk, and the removal of what is old.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_host::Host;
use ralph_model::{ConfigError, Millis, Timestamp};
use ralph_runtime::{builds_before, disk_size, remove_tree};
use ralph_store::{Filter, RunEntry, RunStatus};
use ratatui_core::text::Span;
use serde_json::{Value, json};

use crate::args::PruneArgs;
use crate::input::now;
use crate::page::{Fit, Page, Table, cell};
use crate::screen::{Screen, counted};
use crate::style::{PLAIN, QUIET};

/// Today's money is in the rows of today's runs.
const LEAST_AGE: Millis = Millis(24 * 60 * 60 * 1000);

/// What is kept, by what it is, with what it is for.
const KINDS: [(&str, &str); 8] = [
    ("loops", "logs, prompts and patches of loops"),
    ("workspaces", "snapshots of workspaces"),
    ("builds", "build caches for confirming runs"),
    ("worktrees", "worktrees; yours to remove: git worktree remove PATH"),
    ("repositories", "repositories of tasks"),
    ("tasks", "state of the agents of tasks"),
    ("detached", "output of loops in the background"),
    ("ralph.db", "journals"),
];

/// Shows what is kept, and removes what is old where that is asked for.
pub(crate) async fn run(args: PruneArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    if args.older_than < LEAST_AGE {
        let problem =
            format!("{} is too short: the daily budget counts the runs of the last 24 hours", args.older_than);
        return Err(ConfigError::new("older_than", problem, "1d or more").into());
    }
    let home = around.home();
    let Some(store) = ralph_host::database::open_existing(&around.dirs).await? else {
        screen.say("there are no loops yet")?;
        return Ok(0);
    };
    let before = Timestamp(now().0.saturating_sub(i64::try_from(args.older_than.0).unwrap_or(i64::MAX)));
    let all = store.runs(&Filter::default()).await?;
    let is_old = |entry: &RunEntry| {
        let is_over = entry.status != RunStatus::Running || around.is_interrupted(entry);
        is_over && entry.finished_at.unwrap_or(entry.updated_at) < before && !home.worktree(entry.id).exists()
    };
    let (old, kept): (Vec<RunEntry>, Vec<RunEntry>) = all.into_iter().partition(is_old);
    let kept_workspaces: BTreeSet<&str> = kept.iter().map(|entry| entry.workspace.as_str()).collect();
    let mut folders: BTreeSet<PathBuf> = old.iter().map(|entry| home.loop_folder(entry.id).root().to_owned()).collect();
    for entry in old.iter().filter(|entry| !kept_workspaces.contains(entry.workspace.as_str())) {
        let state = home.workspace(Path::new(&entry.workspace));
        // Files of the workspace that a dead Ralph left in it, or a session that lives there, are still needed.
        let is_in_use =
            has_entries(&home.swap_record(Path::new(&entry.workspace))) || state.join("session.json").exists();
        folders.extend((!is_in_use).then_some(state));
    }
    folders.extend(old_files(&home.root().join("detached"), before));
    let age = Duration::from_millis(args.older_than.0);
    folders.extend(builds_before(&home, SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH)));
    let freed: u64 = folders.iter().map(|folder| disk_size(folder)).sum();
    let usage: Vec<(&str, &str, u64)> =
        KINDS.iter().map(|(name, what)| (*name, *what, disk_size(&home.root().join(name)))).collect();
    if args.yes {
        for entry in &old {
            // First the files: a run that is still listed can be pruned again.
            remove_tree(home.loop_folder(entry.id).root())?;
            store.remove_run(entry.id).await?;
        }
        for folder in &folders {
            remove_tree(folder)?;
        }
    }
    store.close().await?;
    if args.json {
        let usage: Vec<Value> =
            usage.iter().map(|(name, what, bytes)| json!({ "name": name, "what": what, "bytes": bytes })).collect();
        let runs: Vec<Value> = old.iter().map(|entry| json!(entry.id)).collect();
        let state = home.root().display().to_string();
        screen.json(&json!({
            "state": state, "usage": usage, "runs": runs, "bytes": freed, "removed": args.yes,
        }))?;
        return Ok(0);
    }
    let mut table = Table::new([("", Fit::Right), ("", Fit::Left), ("", Fit::Words)]);
    for (name, what, bytes) in &usage {
        table.row([cell(bytes_text(*bytes)), cell(*name), Span::styled(*what, QUIET)]);
    }
    let total = usage.iter().map(|(_, _, bytes)| bytes).sum();
    table.row([bytes_text(total), "in all".to_owned(), home.root().display().to_string()].map(cell));
    let mut page = Page::from(table);
    let runs = counted(old.len(), "run", "runs");
    let (age, bytes) = (age_text(args.older_than), bytes_text(freed));
    let text = match (args.yes, old.is_empty() && folders.is_empty()) {
        (_, true) => format!("nothing is older than {age}"),
        (true, false) => format!("removed {runs} older than {age}: {bytes}"),
        (false, false) => {
            format!("{runs} older than {age}: {bytes}\n  to remove them: ralph prune --older-than {age} --yes")
        }
    };
    page.line("");
    page.text(0, &text, PLAIN);
    screen.page(page)?;
    Ok(0)
}

/// As it was typed, or nearly.
fn age_text(age: Millis) -> String {
    match (age.0 / LEAST_AGE.0, age.0 % LEAST_AGE.0) {
        (days, 0) => format!("{days}d"),
        _ => format!("{}h", age.0.div_ceil(3_600_000)),
    }
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn old_files(folder: &Path, before: Timestamp) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_old = |file: &fs::DirEntry| {
        file.metadata().is_ok_and(|about| about.mtime().saturating_mul(1000) < before.0 && about.is_file())
    };
    files.filter(is_old).map(|file| file.path()).collect()
}

pub(super) fn bytes_text(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 10_000 && unit + 1 < units.len() {
        (value, unit) = (value / 1000, unit + 1);
    }
    format!("{value} {}", units[unit])
}
