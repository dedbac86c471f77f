//! What people see of a loop, derived from its journal. A fault in here is a warning and never stops a loop.

mod certificate;
mod metrics;

use std::io;
use std::path::Path;

use ralph_crew::{Crew, CrewResult};
use ralph_model::LoopId;
use ralph_store::{Head, StoreHandle};
use ralph_view::{RunResult, RunView};
use ralph_workspace::OwnFolder;

use crate::home::LoopFolder;
use crate::perform::Context;
use crate::services::{Ledger, Services};

pub(crate) use certificate::Certificate;

/// Rewrites `.ralph/LEDGER.md`.
pub(crate) fn ledger(context: &Context, view: &RunView) {
    if context.services.ledger == Ledger::LeftAlone {
        return;
    }
    harmless(&context.services, "the ledger", || {
        let own = own_folder(&context.root)?;
        let text = context.services.redactor.clean(&ralph_view::ledger(view)).into_owned();
        replace(&own.path().join("LEDGER.md"), &text).map_err(|error| own.readable(&format!("LEDGER.md: {error}")))
    });
}

/// What the end of a loop is based on, for the store. Also writes it to a file that can be kept apart from the journal.
pub(crate) fn certificate(context: &Context, view: &RunView, head: &Head) -> Option<String> {
    let mut text = None;
    harmless(&context.services, "the certificate", || certificate::write(context, view, head, &mut text));
    text
}

/// Whether everything was written about an end of which this is the last event.
pub(crate) async fn is_certified(
    store: &StoreHandle,
    loop_id: LoopId,
    folder: &LoopFolder,
    head: &Head,
) -> Result<bool, ralph_store::Error> {
    let certificate = match store.certificate(loop_id).await? {
        Some(text) => Certificate::parse(&text),
        // An earlier version kept it in the file alone.
        None => Certificate::read(&folder.certificate()),
    };
    Ok(certificate.is_ok_and(|certificate| certificate.chain_head == head.hash.to_string()))
}

pub(crate) fn metrics(context: &Context, view: &RunView, result: &RunResult) {
    harmless(&context.services, "the metrics", || metrics::append_loop(context, view, result));
}

pub(crate) fn crew_metrics(services: &Services, crew: &Crew, result: &CrewResult) {
    harmless(services, "the metrics", || metrics::append_crew(services, crew, result));
}

fn harmless(services: &Services, what: &str, work: impl FnOnce() -> Result<(), String>) {
    let problem = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(Ok(())) => return,
        Ok(Err(problem)) => problem,
        Err(_) => "a bug in Ralph".to_owned(),
    };
    services.warn(format!("{what} could not be written: {problem}"));
}

/// The folder in the workspace that Ralph writes to. The agent writes there too, so a link in its place is not followed: it
/// would make Ralph write wherever the agent likes.
fn own_folder(root: &Path) -> Result<OwnFolder, String> {
    in_its_place(root)?;
    OwnFolder::of_workspace(root).map_err(|error| error.to_string())
}

/// A workspace's path was without links when the loop began; with one, it leads into somebody else's folder.
fn in_its_place(root: &Path) -> Result<(), String> {
    match root.canonicalize() {
        Ok(real) if real == root => Ok(()),
        Ok(real) => Err(format!("{} leads to {} now", root.display(), real.display())),
        Err(error) => Err(format!("{}: {error}", root.display())),
    }
}

/// Replaces a file in one step, so that a reader sees the old or the new one.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".ralph-").tempfile_in(folder)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}
