//! `ralph stop`: asks a running loop to end.

use ralph_store::{How, LoopStatus};
use serde_json::json;

use super::list::is_interrupted;
use crate::screen::Screen;
use crate::surroundings::{Surroundings, find_loop, now};
use crate::words::StopWords;

/// Asks a loop to end; does not wait for it.
///
/// # Errors
/// When the loop is unknown or does not run.
pub(crate) async fn run(words: StopWords, around: &Surroundings, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = find_loop(&store, &words.loop_name).await?;
    let short = entry.id.short();
    if entry.status != LoopStatus::Running {
        anyhow::bail!("loop {short} is over ({})", super::list::state(&entry, &around.home()));
    }
    if is_interrupted(&entry, &around.home()) {
        anyhow::bail!("loop {short} does not run: its process is gone, `ralph resume {short}` goes on with it");
    }
    let (how, when) = if words.now { (How::Now, "now") } else { (How::AfterIteration, "after its iteration") };
    store.request_stop(entry.id, how, now()).await?;
    if words.json {
        screen.json(&json!({ "loopId": entry.id, "requested": if words.now { "now" } else { "afterIteration" } }))?;
    } else {
        screen.result(&format!("loop {short} was asked to stop {when}"))?;
    }
    store.close().await?;
    Ok(0)
}
