//! `ralph run --detach`: the same command in the background, in a session of its own.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use ralph_host::Host;
use ralph_runtime::Home;
use ralph_store::{Filter, RunEntry};
use serde_json::json;

use crate::input::now;
use crate::screen::Screen;

/// How often the parent looks whether the run exists.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How much of the output of a run that did not start is shown.
const MAX_SHOWN: u64 = 64 * 1024;

/// Leaves the terminal: nothing that happens to it reaches this process any more.
pub(crate) fn leave_terminal() {
    if let Err(error) = rustix::process::setsid() {
        tracing::warn!(%error, "the loop stays in the session of the terminal");
    }
}

/// Starts this command again in the background and returns when the run exists or could not be started.
pub(crate) async fn run(
    objective: Option<&str>,
    as_json: bool,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let folder = around.home().root().join("detached");
    Home::make_private(&folder)?;
    let path = folder.join(format!("{}-{}.log", now().0, std::process::id()));
    let log = OpenOptions::new().create_new(true).append(true).mode(0o600).open(&path);
    let log = log.with_context(|| format!("{} cannot be written", path.display()))?;
    let is_flag = |word: &OsString| word == "--detach";
    let words = std::env::args_os().skip(1).map(|word| if is_flag(&word) { "--detached".into() } else { word });
    let started = now();
    let mut child = Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(if objective.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("could not start a process in the background")?;
    if let (Some(objective), Some(mut input)) = (objective, child.stdin.take()) {
        input.write_all(objective.as_bytes())?;
    }
    let store = around.store().await?;
    let pid = child.id();
    loop {
        let is_it = |entry: &RunEntry| entry.pid == Some(pid) && entry.started_at >= started && entry.parent.is_none();
        let recent = store.runs(&Filter { limit: Some(50), ..Filter::default() }).await?;
        if let Some(entry) = recent.iter().find(|entry| is_it(entry)) {
            let (id, short, log) = (entry.id, entry.id.short(), path.display().to_string());
            let text = format!(
                "loop {short} runs in the background (process {pid})\n  to watch it: ralph attach {short}\n  \
                 to stop it: ralph stop {short}\n  its output: {log}"
            );
            screen.answer(as_json, &json!({ "loopId": id, "pid": pid, "log": log }), &text)?;
            store.close().await?;
            return Ok(0);
        }
        if let Some(status) = child.try_wait()? {
            let mut said = String::new();
            std::fs::File::open(&path)?.take(MAX_SHOWN).read_to_string(&mut said)?;
            let _ = std::fs::remove_file(&path);
            screen.say(&said)?;
            store.close().await?;
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
