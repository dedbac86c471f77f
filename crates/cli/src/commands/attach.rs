//! `ralph attach`: the live view of a loop that another process runs. Ctrl-C leaves the loop running.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use ralph_host::Host;
use ralph_view::{Delta, OutcomeView, Progress, RunResult, RunStatus, RunView, Update, What};

use super::follow::{Hints, is_one_screen, live_mode, summary};
use super::logs::{FollowedLoop, Shown, newest, readable};
use crate::args::AttachArgs;
use crate::journal::chosen_running;
use crate::screen::Screen;
use crate::view::{Events, Live, Mode};

/// How often the output of the agent is looked at: it is in no journal.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Shows a running loop until it ends or the user leaves.
pub(crate) async fn run(args: AttachArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = chosen_running(&store, args.loop_name.as_deref(), around).await?;
    let short = entry.id.short();
    if entry.status != ralph_store::RunStatus::Running {
        bail!("loop {short} is over ({}): ralph show {short}", around.listed(&entry).state());
    }
    if around.is_interrupted(&entry) {
        bail!("loop {short} is not running: its process is gone; to continue it: ralph resume {short}");
    }
    let live = Arc::new(Live::new(live_mode(args.screen)));
    let events = args.screen.events.then(Events::new);
    let is_repeated = live_mode(args.screen) == Mode::Plain && !args.screen.json && events.is_none() && is_one_screen();
    let show = |mut update: Update| {
        if let Some(events) = &events {
            events.show(&update);
        }
        // The result begins with the same line.
        if let (What::Recorded { deltas, .. }, true) = (&mut update.what, is_repeated) {
            deltas.retain(|delta| !matches!(delta, Delta::Finished { .. }));
        }
        live.show(update);
    };
    let mut followed = FollowedLoop::open(&store, entry.id).await?;
    show(opening(&followed.view(), followed.seq()));
    let (redactor, logs) = (around.redactor(), around.home().loop_folder(entry.id).logs());
    let mut output: Option<(PathBuf, Shown)> = None;
    loop {
        for update in followed.catch_up().await? {
            show(update);
        }
        let mut status = around.listed(followed.entry()).status;
        if status == RunStatus::Interrupted {
            // Its process is gone, perhaps because it recorded the end of the loop just now.
            followed.refresh().await?.into_iter().for_each(&show);
            status = around.listed(followed.entry()).status;
        }
        if status != RunStatus::Running {
            live.close();
            let view = followed.view();
            store.close().await?;
            let Some(outcome) = view.outcome.clone() else {
                bail!("the process of loop {short} is gone; to continue it: ralph resume {short}");
            };
            return tell(&view, outcome, args.screen.json, events.as_ref(), around, screen);
        }
        if let Some(path) = newest(&logs)
            && output.as_ref().is_none_or(|(shown, _)| *shown != path)
            && let Ok(file) = File::open(&path)
        {
            let readable = readable(&followed.view(), &path, &redactor);
            output = Some((path, Shown::new(file, readable)));
        }
        if let Some((_, shown)) = &mut output {
            let mut text = Vec::new();
            shown.drain(&mut Screen::new(&mut text, &mut io::sink()))?;
            let text = String::from_utf8_lossy(&text);
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                let progress = Progress::Activity { line: line.to_owned() };
                show(Update { run: Some(entry.id), candidate: None, what: What::Progress { progress } });
            }
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = followed.changed() => {}
            _ = tokio::signal::ctrl_c() => {
                live.close();
                screen.say(&format!("detached: loop {short} continues; to watch it again: ralph attach {short}, to end it: ralph stop {short}"))?;
                return Ok(0);
            }
        }
    }
}

/// What a watcher who comes late has to know.
fn opening(view: &RunView, seq: u64) -> Update {
    let mut deltas = vec![Delta::Opened { config: Box::new(view.config.clone()), start: Box::new(view.start.clone()) }];
    if let (true, Some(last)) = (view.state.phase == "working", view.iterations.last()) {
        deltas.push(Delta::IterationStarted { iteration: last.iteration, agent: last.agent.clone() });
    }
    let (state, at) = (Box::new(view.state.clone()), view.state.updated_at);
    Update { run: Some(view.state.loop_id), candidate: None, what: What::Recorded { seq, at, state, deltas } }
}

fn tell(
    view: &RunView,
    outcome: OutcomeView,
    as_json: bool,
    events: Option<&Events>,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let folder = around.home().loop_folder(view.state.loop_id).root().to_string_lossy().into_owned();
    let code = outcome.exit_code;
    let result = RunResult::new(view, outcome, folder, String::new());
    match events {
        Some(events) => {
            events.line(serde_json::json!({ "type": "result", "result": result }).to_string());
            events.close();
        }
        None if as_json => screen.json(&result)?,
        None => screen.page(summary(&result, view.state.cost, Hints::Shown))?,
    }
    Ok(code)
}
