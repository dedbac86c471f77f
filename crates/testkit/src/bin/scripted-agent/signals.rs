//! Signals: sending them, and being deaf to them.
//!
//! A handler needs unsafe code and is not inherited. So a shell ignores the signals and then becomes this program: what is
//! ignored stays ignored, in the program and in all that it starts.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use ralph_testkit::{SignalName, Step};
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;

/// Starts the run again, as `words` say, with its signals ignored, where its steps want that and it is not so yet.
pub(crate) fn ignore_from_the_start(steps: &[Step], start: Start, words: Vec<OsString>) -> Result<(), Failure> {
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
    if start == Start::Again {
        return Err(Failure::StillListening { names: names(&wanted) });
    }
    let error = this_program(&wanted)?.args(words).exec();
    Err(Failure::system("could not start again with signals ignored")(error))
}

/// Whether a run was started by a test or by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    First,
    Again,
}

pub(crate) fn this_program(ignored: &[SignalName]) -> Result<Command, Failure> {
    let program = env::current_exe().map_err(Failure::system("could not find the program itself"))?;
    if ignored.is_empty() {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("trap '' {}; exec \"$0\" \"$@\"", names(ignored))).arg(program);
    Ok(command)
}

pub(crate) fn send(pid: Pid, name: SignalName) -> Result<(), Failure> {
    kill_process(pid, number(name)).map_err(Failure::system("could not send a signal"))
}

fn all_ignored(wanted: &[SignalName]) -> Result<bool, Failure> {
    let status =
        fs::read_to_string("/proc/self/status").map_err(Failure::system("could not read /proc/self/status"))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let mask =
        mask.ok_or_else(|| Failure::system("could not read /proc/self/status")(io::Error::other("no SigIgn")))?;
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
        SignalName::Quit => Signal::QUIT,
        SignalName::Kill => Signal::KILL,
        SignalName::Usr1 => Signal::USR1,
        SignalName::Term => Signal::TERM,
        SignalName::Stop => Signal::STOP,
        SignalName::Cont => Signal::CONT,
        SignalName::Segv => Signal::SEGV,
    }
}
