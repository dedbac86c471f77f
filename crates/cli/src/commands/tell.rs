//! `ralph tell`: a message to a loop, for its next prompt.

use anyhow::bail;
use ralph_host::Host;
use ralph_model::RunKind;
use ralph_store::{RunEntry, RunStatus, StoreHandle};
use serde_json::json;

use crate::args::TellArgs;
use crate::input::now;
use crate::journal::chosen_running;
use crate::screen::Screen;

/// The longest message: every later prompt repeats it.
const MAX_MESSAGE: usize = 16 * 1024;

pub(crate) async fn run(args: TellArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = chosen_running(&store, args.loop_name.as_deref(), around).await?;
    let short = entry.id.short();
    leave(&store, &entry, &args.text).await?;
    let is_running = entry.status == RunStatus::Running && !around.is_interrupted(&entry);
    let text = match is_running {
        true => format!("loop {short} gets the message with its next prompt"),
        // One that a limit ended needs more of what it used up; `resume` says of what.
        false => format!("loop {short} is not running; `ralph resume {short}` continues it with the message"),
    };
    screen.answer(args.json, &json!({ "loopId": entry.id, "told": true, "running": is_running }), &text)?;
    store.close().await?;
    Ok(0)
}

pub(crate) async fn leave(store: &StoreHandle, entry: &RunEntry, text: &str) -> anyhow::Result<()> {
    let short = entry.id.short();
    match entry.kind {
        RunKind::Loop => {}
        RunKind::Race => bail!("{short} is a race: name one of its candidates, `ralph show {short}` lists them"),
        RunKind::Crew => bail!("{short} is a crew: it asks you itself where it needs an answer"),
    }
    if entry.status == RunStatus::Completed {
        bail!("loop {short} is completed: no agent will read the message; start a new loop");
    }
    if text.trim().is_empty() {
        bail!("the message is empty");
    }
    if text.len() > MAX_MESSAGE {
        bail!("the message is longer than 16 KiB: put it into a file of the workspace and name that file");
    }
    store.tell(entry.id, text, now()).await?;
    Ok(())
}
