//! `ralph diff`: what a loop, or one iteration of it, changed.

use std::path::Path;

use ralph_runtime::changed_trees;
use ralph_workspace::Workspace;

use crate::args::{DiffArgs, loop_and_iteration};
use crate::journal::{chosen, read, single};
use crate::screen::Screen;
use ralph_host::Host;

/// Prints a patch.
pub(crate) async fn run(args: DiffArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let (loop_name, iteration) = loop_and_iteration(args.loop_name.as_deref(), args.iteration);
    let entry = single(&store, chosen(&store, loop_name, around).await?).await?;
    let run = read(&store, entry.id).await?;
    let (from, to) = changed_trees(&run, iteration).map_err(anyhow::Error::msg)?;
    // The workspace of a candidate that lost its race is gone, and what it did can be looked at all the same.
    let state = around.home().workspace(Path::new(&entry.workspace));
    let patch = Workspace::diff_kept(&state, &around.git()?, &from, &to)?;
    if patch.is_empty() {
        screen.say("nothing changed")?;
    }
    // A patch is data for other programs when it goes to one, and text for a person when it goes to a terminal.
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        screen.result(&String::from_utf8_lossy(&patch))?;
    } else {
        screen.out.write_all(&patch)?;
    }
    Ok(0)
}
