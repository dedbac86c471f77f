//! A model service on loopback that answers by a script, for agent programs that no test can hold in its own process.
//!
//! `scripted-model SCRIPT.json`: prints `listening on http://127.0.0.1:PORT` and serves until it is ended by a signal; see
//! `ralph_testkit::model`. Ends with 64 when the words or the script are wrong, and with 70 when it cannot listen.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use ralph_testkit::model::{Script, ScriptedModel};

const BAD_WORDS: u8 = 64;
const CANNOT_SERVE: u8 = 70;

fn main() -> ExitCode {
    let words: Vec<_> = env::args_os().skip(1).collect();
    let [script] = words.as_slice() else { return failed(BAD_WORDS, "usage: scripted-model SCRIPT.json") };
    let script = match Script::load(Path::new(script)) {
        Ok(script) => script,
        Err(error) => return failed(BAD_WORDS, &error.to_string()),
    };
    let model = match ScriptedModel::listen(script) {
        Ok(model) => model,
        Err(error) => return failed(CANNOT_SERVE, &format!("could not serve: {error}")),
    };
    let mut stdout = io::stdout();
    if let Err(error) = writeln!(stdout, "listening on {}", model.url()).and_then(|()| stdout.flush()) {
        return failed(CANNOT_SERVE, &format!("could not say where it listens: {error}"));
    }
    loop {
        thread::park();
    }
}

fn failed(code: u8, why: &str) -> ExitCode {
    // Nothing can be done about a standard error that is closed.
    let _ = writeln!(io::stderr(), "scripted-model: {why}");
    ExitCode::from(code)
}
