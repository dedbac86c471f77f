//! Finds out how much of a sandbox a machine can give, by trying it out. Leaves nothing behind.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::level::{Files, Level, NetworkLevel};
use super::stage::Stage;
use super::{Network, Sandbox, landlock};
use crate::spec::ReaperProgram;
use crate::wire::Request;

/// What sandbox this machine has for this user: the strongest that works, tried out in a child process without executing
/// anything in it. A few milliseconds; the answer holds until the machine is changed.
///
/// `bubblewrap` is the program to use for the files, where there is one.
#[must_use]
pub fn probe(reaper: &ReaperProgram, bubblewrap: Option<&Path>) -> Level {
    let landlock = landlock::version();
    let version = landlock.as_ref().ok().copied();
    let wrapped = bubblewrap.map(|program| Files::Bubblewrap { program: program.to_owned(), landlock: version });
    let bare = version.map(|version| Files::Landlock { version });
    let mut why = landlock.err().unwrap_or_default();
    for files in wrapped.into_iter().chain(bare) {
        match with_network(reaper, files) {
            Ok(level) => {
                tracing::debug!(?level, "this sandbox works");
                return level;
            }
            Err(refusal) => {
                tracing::debug!(%refusal, "a sandbox does not work here");
                why = refusal;
            }
        }
    }
    with_network(reaper, Files::Open { why }).unwrap_or_else(|why| Level::none(&why))
}

/// The level of these files with the best network that works together with them.
fn with_network(reaper: &ReaperProgram, files: Files) -> Result<Level, String> {
    let both = Level { files, network: NetworkLevel::Namespace };
    let Err(why) = trial(reaper, &both) else { return Ok(both) };
    let level = Level { network: NetworkLevel::Open { why }, ..both };
    trial(reaper, &level).map(|()| level)
}

/// Confines a child process that has nothing to execute.
fn trial(reaper: &ReaperProgram, level: &Level) -> Result<(), String> {
    let (writable, hidden) = (Vec::new(), Vec::new());
    let sandbox = Sandbox { writable, hidden, network: Network::Loopback, level: level.clone() };
    let Some(jail) = sandbox.jail(reaper.arguments.clone()) else { return Ok(()) };
    let request = Request { program: Vec::new(), directory: "/".into(), environment: Vec::new(), jail: None };
    let nowhere = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
    let outputs = [nowhere(), nowhere(), nowhere()].into_iter().collect::<io::Result<Vec<_>>>();
    let outputs = outputs.ok().and_then(|outputs| outputs.try_into().ok()).ok_or("/dev/null cannot be opened")?;
    let mut stage = Stage::begin(&reaper.program, &request, &jail)?;
    let confined = stage.hand_over(&request, &jail, &outputs).and_then(|()| stage.confined());
    stage.end();
    confined.map(drop)
}
