//! `ralph worker`: works on the tasks of a server.

use std::io::Write as _;
use std::sync::Arc;

use ralph_config::{Layer, OneOrMore};
use ralph_host::{Host, this_machine};
use ralph_model::exit_code;
use ralph_text::sanitize;
use ralph_worker::{Error, Worker, WorkerEvent, WorkerOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::task::connect;
use crate::args::WorkerArgs;
use crate::input::now;
use crate::screen::{Screen, escaped};

/// Works until a signal asks it to end, or until nothing is left to claim.
pub(crate) async fn run(args: WorkerArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let client = connect(&args.connection, around)?;
    let stop = CancellationToken::new();
    let is_json = args.json;
    let made = Worker::new(WorkerOptions {
        host: around.clone(),
        client,
        name: args.name.unwrap_or_else(|| this_machine().host),
        concurrency: args.concurrency,
        workspace: args.workspace,
        settings: Layer {
            agent: Some(args.agent).filter(|names| !names.is_empty()).map(OneOrMore),
            agent_command: args.agent_command,
            unmetered: args.unmetered.then_some(true),
            cost_after_run: args.cost_after_run.then_some(true),
            ..Layer::default()
        },
        drain: args.drain,
        allow_secrets: args.allow_secrets,
        lease_seconds: args.lease,
        now,
        report: Arc::new(move |event| print(&event, is_json)),
        stop: stop.clone(),
    });
    let made = tokio::select! {
        made = made => made,
        _ = terminate.recv() => return Ok(exit_code::COMPLETED),
        _ = interrupt.recv() => return Ok(exit_code::COMPLETED),
    };
    let worker = match made {
        Ok(worker) => worker,
        Err(Error::Host(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    };
    let mut working = std::pin::pin!(worker.run());
    loop {
        tokio::select! {
            ended = &mut working => break ended?,
            _ = terminate.recv() => stop.cancel(),
            _ = interrupt.recv() => stop.cancel(),
        }
    }
    screen.out.flush()?;
    Ok(exit_code::COMPLETED)
}

/// For scripts on standard output, for people on standard error. If nothing reads it, the work continues.
fn print(event: &WorkerEvent, is_json: bool) {
    if is_json {
        let line = event.json(now()).to_string();
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{}", escaped(&line)).and_then(|()| out.flush());
    } else {
        let _ = writeln!(std::io::stderr(), "{}", sanitize(&event.line()));
    }
}
