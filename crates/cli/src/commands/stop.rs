//! `ralph stop`: asks a running loop to end.

use ralph_runtime::in_session;
use ralph_store::{RunStatus, StopMode};
use serde_json::json;

use super::session;
use crate::args::StopArgs;
use crate::input::now;
use crate::journal::chosen_running;
use crate::screen::Screen;
use ralph_host::{Host, Liveness};

/// Asks a loop to end; does not wait for it.
pub(crate) async fn run(args: StopArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = chosen_running(&store, args.loop_name.as_deref(), around).await?;
    let short = entry.id.short();
    if entry.status != RunStatus::Running {
        anyhow::bail!("loop {short} is over ({})", around.listed(&entry).state());
    }
    let why = match around.liveness(&entry) {
        Liveness::Interrupted => Some("its process is gone; to continue it"),
        Liveness::Waiting => Some("it waits for your answer; to give it"),
        Liveness::Ended | Liveness::Here | Liveness::Elsewhere { .. } => None,
    };
    if let Some(why) = why {
        anyhow::bail!("loop {short} is not running: {why}: ralph resume {short}");
    }
    if let Some(record) = in_session(&entry, &around.home())
        && !session::is_at_work(&record, around)
    {
        return session::cancel_loop(record, around, store, args.json, screen).await;
    }
    let (how, when) = if args.now { (StopMode::Now, "now") } else { (StopMode::AfterIteration, "after its iteration") };
    store.request_stop(entry.id, how, now()).await?;
    let requested = json!({ "loopId": entry.id, "requested": if args.now { "now" } else { "afterIteration" } });
    screen.answer(args.json, &requested, &format!("loop {short} was asked to stop {when}"))?;
    store.close().await?;
    Ok(0)
}
