//! `ralph logs --follow`: every output of a loop in the order in which they came to be, until the loop is over.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use ralph_model::LoopId;
use ralph_store::StoreHandle;
use ralph_text::sanitize;
use ralph_view::{RunStatus, RunView};

use super::journal::FollowedLoop;
use super::output::Output;
use super::{Shown, readable};
use crate::screen::Screen;
use ralph_host::Host;

/// How often the files are looked at: what agents and checks print is in no journal.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Prints all outputs, each below a line that says what it is, and goes on with new ones until the loop is over.
pub(super) async fn follow(
    store: &StoreHandle,
    loop_id: LoopId,
    around: &Host,
    raw: bool,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let redactor = around.redactor();
    let logs = around.home().loop_folder(loop_id).logs();
    let mut page = Page { out: &mut *screen.out, at_start: true };
    let (mut seen, mut owing): (BTreeSet<String>, Vec<String>) = (BTreeSet::new(), Vec::new());
    let mut current: Option<Shown> = None;
    let mut followed = FollowedLoop::open(store, loop_id).await?;
    loop {
        followed.catch_up().await?;
        // Before the files are looked for: a loop that is over writes no more of them.
        let mut entry = around.listed(followed.entry());
        if entry.status == RunStatus::Interrupted {
            // Its process is gone, perhaps because it recorded the end of the loop just now.
            followed.refresh().await?;
            entry = around.listed(followed.entry());
        }
        let over = entry.status != RunStatus::Running;
        for name in in_order(&logs) {
            if seen.contains(&name) {
                continue;
            }
            // Outputs come one after the other: nothing is added any more to the one before.
            if let Some(mut shown) = current.take() {
                page.finish(&mut shown)?;
            }
            // What became of the output before was recorded before this one was begun.
            followed.refresh().await?;
            let run = followed.view();
            settle(&mut owing, &run, &mut page)?;
            let outcome = outcome(&name, &run);
            let told = outcome.as_ref().map(|outcome| format!(": {outcome}")).unwrap_or_default();
            page.line(&format!("==> {}{told} <==", title(&name, &run)))?;
            let path = logs.join(&name);
            let file = File::open(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            current = Some(Shown::new(file, readable(&run, &path, &redactor).filter(|_| !raw)));
            if outcome.is_none() {
                owing.push(name.clone());
            }
            seen.insert(name);
        }
        if let Some(shown) = &mut current {
            page.drain(shown)?;
        }
        if over {
            if let Some(mut shown) = current.take() {
                page.finish(&mut shown)?;
            }
            settle(&mut owing, &followed.view(), &mut page)?;
            page.line(&format!("==> loop {}: {} <==", loop_id.short(), entry.state()))?;
            return Ok(0);
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = followed.changed() => {}
        }
    }
}

/// Tells the outcomes that were not known yet when their outputs were begun.
fn settle(owing: &mut Vec<String>, run: &RunView, page: &mut Page<'_>) -> io::Result<()> {
    for name in std::mem::take(owing) {
        match outcome(&name, run) {
            Some(outcome) => page.line(&format!("<== {}: {outcome}", title(&name, run)))?,
            None => owing.push(name),
        }
    }
    Ok(())
}

/// Where outputs and the lines between them go: into one stream, because only there the lines stand where they belong.
struct Page<'a> {
    out: &'a mut (dyn Write + Send),
    at_start: bool,
}

impl Page<'_> {
    /// Prints a line of Ralph's own, which no unfinished line of an output runs into.
    fn line(&mut self, text: &str) -> io::Result<()> {
        let before = if self.at_start { "" } else { "\n" };
        writeln!(self, "{before}{}", sanitize(text))?;
        self.flush()
    }

    /// Prints the rest of an output that nothing is added to any more.
    fn finish(&mut self, shown: &mut Shown) -> anyhow::Result<()> {
        self.drain(shown)?;
        shown.finish(&mut Screen::new(self, &mut io::sink()))
    }

    fn drain(&mut self, shown: &mut Shown) -> anyhow::Result<()> {
        shown.drain(&mut Screen::new(self, &mut io::sink())).map(|_| ())
    }
}

impl Write for Page<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(last) = bytes.get(..written).and_then(<[u8]>::last) {
            self.at_start = *last == b'\n';
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn title(name: &str, run: &RunView) -> String {
    Output::of(name).map_or_else(|| name.to_owned(), |output| output.title(run))
}

fn outcome(name: &str, run: &RunView) -> Option<String> {
    Output::of(name)?.outcome(run, name)
}

/// The names of all outputs, in the order in which they came to be.
fn in_order(logs: &Path) -> Vec<String> {
    let files = std::fs::read_dir(logs).into_iter().flatten().flatten().filter_map(|entry| {
        let about = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((entry.file_name().into_string().ok()?, about.modified().ok()?))
    });
    sorted(files.collect())
}

/// A file whose name says nothing of its place stands before the first that was written after it.
fn sorted(files: Vec<(String, SystemTime)>) -> Vec<String> {
    let (mut known, mut strange): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(name, _)| Output::of(name).is_some());
    known.sort_by_key(|(name, _)| Output::of(name));
    strange.sort_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)));
    for file in strange {
        let place = known.iter().position(|(_, written)| *written > file.1).unwrap_or(known.len());
        known.insert(place, file);
    }
    known.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
