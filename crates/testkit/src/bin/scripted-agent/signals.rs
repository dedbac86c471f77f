//! Signals: sending them, and being deaf to them.
//!
//! A handler needs unsafe code and is not inherited. So a shell ignores the signals and then becomes this program: what is
//! ignored stays ignored, in the program and in all that it starts.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use ralph_testkit::{SignalName, Step};
use rustix::process::{Pid, Signal, kill_process};

/// Starts the run again, as `words` say, with its signals ignored, where its steps want that and it is not so yet.
pub(crate) fn ignore_from_the_start(steps: &[Step], start: Start, words: Vec<OsString>) -> Result<()> {
    let mut wanted = Vec::new();
    for step in steps {
        if let Step::IgnoreSignals(signals) = step {
            wanted.extend_from_slice(signals);
        }
    }
    if all_ignored(&wanted)? {
        return Ok(());
    }
    // Without this a signal that cannot be ignored would start the run over and over.
    ensure!(start == Start::First, "the signals {} are not ignored although the shell was told to", names(&wanted));
    let error = this_program(&wanted)?.args(words).exec();
    Err(error).context("could not start again with signals ignored")
}

/// Whether a run was started by a test or by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    First,
    Again,
}

pub(crate) fn this_program(ignored: &[SignalName]) -> Result<Command> {
    let program = env::current_exe().context("could not find the program itself")?;
    if ignored.is_empty() {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("trap '' {}; exec \"$0\" \"$@\"", names(ignored))).arg(program);
    Ok(command)
}

pub(crate) fn send(pid: Pid, name: SignalName) -> Result<()> {
    kill_process(pid, number(name)).context("could not send a signal")
}

fn all_ignored(wanted: &[SignalName]) -> Result<bool> {
    let status = fs::read_to_string("/proc/self/status").context("could not read /proc/self/status")?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let mask = mask.context("/proc/self/status has no SigIgn")?;
    Ok(wanted.iter().all(|name| mask & (1 << (number(*name).as_raw() - 1)) != 0))
}

fn names(signals: &[SignalName]) -> String {
    let names: Vec<_> = signals.iter().map(|name| format!("{name:?}").to_uppercase()).collect();
    names.join(" ")
}

const fn number(name: SignalName) -> Signal {
    match name {
        SignalName::Hup => Signal::HUP,
        SignalName::Int => Signal::INT,
        SignalName::Kill => Signal::KILL,
        SignalName::Usr1 => Signal::USR1,
        SignalName::Term => Signal::TERM,
        SignalName::Segv => Signal::SEGV,
    }
}
