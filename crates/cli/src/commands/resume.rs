//! `ralph resume`: goes on with a loop.

use std::path::Path;

use anyhow::bail;
use ralph_engine::Limits;
use ralph_model::{AgentSpec, RunKind};
use ralph_runtime::Resume;
use ralph_store::{Broken, Filter, RunEntry, RunStatus, Seq, StoreHandle};

use super::follow::{self, Following, Hints};
use crate::args::ResumeArgs;
use crate::journal::{find_loop, read};
use crate::screen::{Screen, counted};
use ralph_config::agents::{instead, named, prices, refuse_unpriced};
use ralph_host::{Host, Liveness};

/// Goes on with the loop that is meant and follows it to its end.
pub(crate) async fn run(args: ResumeArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = match &args.loop_name {
        Some(name) => find_loop(&store, name).await?,
        None => newest_unfinished(&store, around).await?,
    };
    if let Some(text) = &args.answer {
        super::tell::leave(&store, &entry, text).await?;
    }
    if entry.kind == RunKind::Crew {
        store.close().await?;
        return super::crew::resume(&args, &entry, around, screen).await;
    }
    if entry.kind == RunKind::Race {
        return race(args, &store, &entry, around, screen).await;
    }
    if let Some(seq) = args.discard_after {
        refuse_to_discard(&store, &entry, around).await?;
        let aside = store.quarantine_after(entry.id, Seq(seq)).await?;
        screen.say(&format!(
            "{} journal entries after {seq} were set aside (batch {}); nothing was deleted",
            aside.events, aside.batch
        ))?;
    }
    let journal = store.verify(entry.id).await?;
    if let Some(broken) = journal.broken {
        bail!("{}", how_to_continue(&entry, &broken));
    }
    // As it is by now: it may have gone on with others before.
    let mut config = read(&store, entry.id).await?.facts().config.clone();
    let before: Vec<AgentSpec> = config.agents().cloned().collect();
    store.close().await?;
    let user = around.user_settings()?;
    let prices = prices(&user)?;
    let instead = instead(&user, &config, &args.agent, args.agent_command.as_ref(), args.model.as_ref())?;
    if let [first, more @ ..] = instead.as_slice() {
        if !args.unmetered {
            refuse_unpriced(&instead.iter().collect::<Vec<_>>(), &prices)?;
        }
        (config.agent, config.more_agents) = (first.clone(), more.to_vec());
    }
    let failover = named(&user, &args.failover)?;
    if !failover.is_empty() {
        if !args.unmetered {
            refuse_unpriced(&failover.iter().collect::<Vec<_>>(), &prices)?;
        }
        config.failover.clone_from(&failover);
    }
    let cost_after_run = args.cost_after_run || user.cost_after_run.unwrap_or_default();
    config.cost_after_run |= cost_after_run;
    if args.unmetered {
        config.set_unmetered();
    }
    around.check_agents(&config, &before)?;
    around.check_prices(&config, &prices).await?;
    for caution in around.agent_warnings(&config) {
        screen.say(&format!("warning: {caution}"))?;
    }
    let limits = Limits {
        max_iterations: args.max_iterations,
        max_cost: args.max_cost,
        max_tokens: args.max_tokens,
        max_duration: args.max_duration,
        unmetered: args.unmetered,
        cost_after_run,
        agents: instead,
        failover,
    };
    let following = Following { around, args: args.screen, hints: Hints::Shown, activation: None };
    follow::go_on(following, entry.id, Resume { limits, ..Resume::default() }, &config, &user, screen).await
}

/// Continues a race: its candidates keep their limits and agents.
async fn race(
    args: ResumeArgs,
    store: &StoreHandle,
    entry: &RunEntry,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    if args.changes_a_loop() || args.max_iterations.is_some() || args.max_cost.is_some() {
        bail!(
            "a race continues as it was started: to continue one candidate with other limits: ralph resume CANDIDATE"
        );
    }
    let config = ralph_runtime::read_race(store, entry.id).await?.config().clone();
    store.close().await?;
    let user = around.user_settings()?;
    let following = Following { around, args: args.screen, hints: Hints::Shown, activation: None };
    follow::go_on(following, entry.id, Resume::default(), &config, &user, screen).await
}

/// Only what is broken may be set aside, and never while a process works on it.
async fn refuse_to_discard(store: &StoreHandle, entry: &RunEntry, around: &Host) -> anyhow::Result<()> {
    let short = entry.id.short();
    if matches!(around.liveness(entry), Liveness::Here | Liveness::Elsewhere { .. }) {
        bail!("loop {short} runs: its journal cannot be changed now");
    }
    if store.verify(entry.id).await?.broken.is_none() {
        bail!("the journal of loop {short} is intact: there is nothing to discard, resume it without --discard-after");
    }
    Ok(())
}

/// What is broken, and how to continue from the intact part.
fn how_to_continue(entry: &RunEntry, broken: &Broken) -> String {
    let (id, short, Broken { seq, why }) = (entry.id, entry.id.short(), broken);
    let hint = match seq.0 - 1 {
        0 => "no intact event before it: start a new loop".to_owned(),
        intact => format!(
            "the {intact} events before it are intact; to continue from there and set the rest aside: \
             ralph resume {short} --discard-after {intact}"
        ),
    };
    format!("the journal of loop {id} is broken at event {seq}: {why}\n  {hint}")
}

async fn newest_unfinished(store: &StoreHandle, around: &Host) -> anyhow::Result<RunEntry> {
    let current = around.folder()?;
    let workspace = Some(current.to_string_lossy().into_owned());
    let runs = store.runs(&Filter { workspace, ..Filter::default() }).await?;
    // A race is found by its candidates; of those only the winner's worktree is left.
    let can_continue = |entry: &RunEntry| {
        entry.kind != RunKind::Race && entry.status != RunStatus::Completed && Path::new(&entry.workspace).is_dir()
    };
    let open: Vec<RunEntry> = runs.into_iter().filter(can_continue).collect();
    let race = open.first().and_then(|entry| entry.parent);
    if let Some(race) = race
        && let Ok(entry) = store.run(race).await
        && entry.status == RunStatus::Running
    {
        return Ok(entry);
    }
    let candidates: Vec<&RunEntry> = open.iter().filter(|entry| race.is_some() && entry.parent == race).collect();
    if candidates.len() > 1 {
        let line = |entry: &&RunEntry| {
            let iterations = counted(entry.iterations, "iteration", "iterations");
            format!("ralph resume {}  ({}, {iterations}, {})", entry.id.short(), entry.agent, entry.cost)
        };
        let lines: Vec<String> = candidates.iter().rev().map(line).collect();
        bail!(
            "{} candidates of a race without a winner can continue, name one:\n  {}",
            lines.len(),
            lines.join("\n  ")
        );
    }
    match open.into_iter().next() {
        Some(entry) => Ok(entry),
        None => {
            bail!("no unfinished loop or crew in {}; `ralph list --all` shows all that there are", current.display())
        }
    }
}
