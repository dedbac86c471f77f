//! A model service on loopback that answers by a script, for agent programs that no test can hold in its own process.
//!
//! `scripted-model SCRIPT.json [--port N] [--log FILE]`: prints `listening on http://127.0.0.1:PORT` and serves until it is
//! ended by a signal; see `ralph_testkit::model`. Ends with 64 when the words or the script are wrong, and with 70 when it
//! cannot listen or log.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use ralph_testkit::LoadError;
use ralph_testkit::model::{Script, ScriptedModel};

const BAD_WORDS: u8 = 64;
const CANNOT_SERVE: u8 = 70;

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("usage: scripted-model SCRIPT.json [--port N] [--log FILE]")]
    Words,
    #[error(transparent)]
    Script(#[from] LoadError),
    #[error("could not serve: {0}")]
    Serve(io::Error),
    #[error("could not say where it listens: {0}")]
    Announce(io::Error),
}

fn main() -> ExitCode {
    let failure = match serve(env::args_os().skip(1)) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    // Nothing can be done about a standard error that is closed.
    let _ = writeln!(io::stderr(), "scripted-model: {failure}");
    ExitCode::from(match failure {
        Failure::Words | Failure::Script(_) => BAD_WORDS,
        Failure::Serve(_) | Failure::Announce(_) => CANNOT_SERVE,
    })
}

fn serve(mut words: impl Iterator<Item = OsString>) -> Result<std::convert::Infallible, Failure> {
    let (mut script, mut port, mut log) = (None, 0, None);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--port") => {
                let number = words.next().ok_or(Failure::Words)?;
                port = number.to_str().and_then(|text| text.parse().ok()).ok_or(Failure::Words)?;
            }
            Some("--log") => log = Some(PathBuf::from(words.next().ok_or(Failure::Words)?)),
            Some(other) if other.starts_with("--") => return Err(Failure::Words),
            Some(_) | None if script.is_none() => script = Some(PathBuf::from(word)),
            Some(_) | None => return Err(Failure::Words),
        }
    }
    let script = Script::load(&script.ok_or(Failure::Words)?)?;
    let model = ScriptedModel::listen(script, port, log.as_deref()).map_err(Failure::Serve)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {}", model.url()).and_then(|()| stdout.flush()).map_err(Failure::Announce)?;
    loop {
        thread::park();
    }
}
