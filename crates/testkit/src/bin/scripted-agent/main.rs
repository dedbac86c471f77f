//! An agent that does what a script says, for tests of whatever supervises agents. It decides nothing.
//!
//! `scripted-agent SCRIPT.json [--prompt-file FILE]`: reads the prompt on standard input or from the file, counts the run and
//! performs its steps; see `ralph_testkit::Script` and `Step`. Ends with 0, with the code of an `exit` step, with 64 when the
//! words or the script are wrong, and with 70 when a step failed.

mod child;
mod output;
mod perform;
mod prompt;
mod signals;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use ralph_testkit::{Script, StdinUse};

use child::Role;
use perform::{Agent, Flow};
use prompt::Prompt;
use signals::Start;

const BAD_WORDS: u8 = 64;
const STEP_FAILED: u8 = 70;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let failed = |code: u8, why: &dyn std::fmt::Display| {
        // Nothing can be done about a standard error that is closed.
        let _ = writeln!(io::stderr(), "scripted-agent: {why:#}");
        ExitCode::from(code)
    };
    let ended = match Role::of(&arguments) {
        Some(role) => role.and_then(Role::play),
        None => {
            let Some(invocation) = Invocation::parse(arguments) else {
                return failed(BAD_WORDS, &"usage: scripted-agent SCRIPT.json [--prompt-file FILE]");
            };
            match Script::load(&invocation.script) {
                Ok(script) => invocation.perform(&script),
                Err(error) => return failed(BAD_WORDS, &error),
            }
        }
    };
    ended.unwrap_or_else(|failure| failed(STEP_FAILED, &failure))
}

/// The words of the command line.
struct Invocation {
    script: PathBuf,
    prompt_file: Option<PathBuf>,
    /// The number of a run that was counted before: only in the words that a run starts itself again with.
    run: Option<u64>,
}

impl Invocation {
    fn parse(arguments: Vec<OsString>) -> Option<Self> {
        let (mut script, mut prompt_file, mut run) = (None, None, None);
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--prompt-file") => prompt_file = Some(words.next()?.into()),
                Some("--run") => {
                    run = Some(words.next()?.to_str()?.parse().ok()?);
                }
                Some(other) if other.starts_with("--") => return None,
                Some(_) | None if script.is_none() => script = Some(word.into()),
                Some(_) | None => return None,
            }
        }
        Some(Self { script: script?, prompt_file, run })
    }

    fn perform(self, script: &Script) -> Result<ExitCode> {
        let number = match self.run {
            Some(number) => number,
            None => script.count_run().context("could not count the run")?,
        };
        let steps = script.steps(number);
        let start = if self.run.is_some() { Start::Again } else { Start::First };
        signals::ignore_from_the_start(steps, start, self.words(number))?;

        let mut prompt = Prompt::new(self.prompt_file);
        if script.stdin == StdinUse::Read {
            prompt.read()?;
        }
        if let Some(folder) = &script.prompts {
            prompt.save(&folder.join(format!("prompt-{number}.txt")))?;
        }
        let mut agent = Agent::new(self.script, prompt);
        for step in steps {
            if let Flow::End(code) = agent.perform(step)? {
                return Ok(code);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The words that start the same run again without counting it twice.
    fn words(&self, number: u64) -> Vec<OsString> {
        let mut words = vec![self.script.clone().into_os_string(), "--run".into(), number.to_string().into()];
        if let Some(file) = &self.prompt_file {
            words.extend(["--prompt-file".into(), file.clone().into_os_string()]);
        }
        words
    }
}
