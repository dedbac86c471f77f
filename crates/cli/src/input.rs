//! What the process finds around itself: environment, folder, terminal, clock. The one place that reads them.

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use ralph_host::{Host, HostInput, this_machine};
use ralph_model::{StopBy, Timestamp};
use ralph_runtime::CrashPoint;
use ralph_store::Machine;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Looks around once.
pub(crate) fn host() -> anyhow::Result<Host> {
    Ok(Host::new(HostInput {
        variables: std::env::vars_os().collect(),
        current: std::env::current_dir().context("the current folder is gone: change to one that exists")?,
        program: std::env::current_exe().context("the ralph program cannot find its own file")?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine(),
        now,
        crash: crash_point(),
    })?)
}

/// Whether somebody can be asked: both the question and the answer need a terminal.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The signals by which a person or the system ends the program. From its making on they do not end it by themselves.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, hang_up: signal(SignalKind::hangup())? })
    }

    pub(crate) async fn next(&mut self) -> StopBy {
        tokio::select! {
            _ = self.interrupt.recv() => StopBy::Keyboard,
            _ = self.terminate.recv() => StopBy::Signal,
            _ = self.hang_up.recv() => StopBy::Signal,
        }
    }
}

pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp(now.saturating_add(clock_offset(now)))
}

/// Tests of what a day costs name the time at which the program starts, as milliseconds since 1970. Not in a released program.
fn clock_offset(now: i64) -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    if !cfg!(feature = "test-hooks") {
        return 0;
    }
    let wanted = || std::env::var("RALPH_TEST_CLOCK").ok()?.parse::<i64>().ok();
    *OFFSET.get_or_init(|| wanted().map_or(0, |start| start.saturating_sub(now)))
}

/// Tests of several machines name the one that the program believes to be on. Not in a released program.
fn machine() -> Machine {
    let wanted = std::env::var("RALPH_TEST_HOST").ok().filter(|_| cfg!(feature = "test-hooks"));
    wanted.map_or_else(this_machine, |host| Machine { boot: format!("boot of {host}"), host })
}

/// Tests of durability name the append at which the program dies. Not in a released program.
fn crash_point() -> Option<CrashPoint> {
    if !cfg!(feature = "test-hooks") {
        return None;
    }
    let wanted = std::env::var("RALPH_TEST_CRASH").ok()?;
    let (side, number) = wanted.split_once(':')?;
    let number = number.parse().ok()?;
    match side {
        "before" => Some(CrashPoint::Before(number)),
        "after" => Some(CrashPoint::After(number)),
        _ => None,
    }
}
