//! Performs the steps of a run, one after the other.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use ralph_testkit::{
    Channel, Child, CostReport, FileText, HOSTILE_ESCAPES, INVALID_UTF8, Rhythm, Stdout, Step, plant_canaries,
};
use rustix::process::{getpid, getppid};

use crate::child::{self, Birth};
use crate::output::{flood, print};
use crate::prompt::Prompt;
use crate::signals;

/// Whether the run goes on after a step.
pub(crate) enum Flow {
    Next,
    End(ExitCode),
}

pub(crate) struct Agent {
    script: PathBuf,
    prompt: Prompt,
}

impl Agent {
    pub(crate) const fn new(script: PathBuf, prompt: Prompt) -> Self {
        Self { script, prompt }
    }

    pub(crate) fn perform(&mut self, step: &Step) -> Result<Flow> {
        match step {
            Step::Write(FileText { path, text }) => write(path, text.as_bytes())?,
            Step::Append(FileText { path, text }) => append(path, text)?,
            Step::Replace { path, from, to } => replace(path, from, to)?,
            Step::Delete(path) => delete(path)?,
            Step::Chmod { path, mode } => chmod(path, mode)?,
            Step::Symlink { target, path } => {
                parents(path)?;
                symlink(target, path).with_context(|| at("could not link", path))?;
            }
            Step::Rename { from, to } => {
                parents(to)?;
                fs::rename(from, to).with_context(|| at("could not move", from))?;
            }
            Step::Print(text) => print(Channel::Stdout, text.as_bytes())?,
            Step::PrintStderr(text) => print(Channel::Stderr, text.as_bytes())?,
            Step::Claim(promise) => print(Channel::Stdout, format!("{promise}\n").as_bytes())?,
            Step::Blocked(why) => print(Channel::Stdout, format!("<blocked>{why}</blocked>\n").as_bytes())?,
            Step::EchoPrompt => print(Channel::Stdout, self.prompt.read()?)?,
            Step::RecordEnv(path) => record_env(path)?,
            Step::Flood(wanted) => flood(wanted)?,
            Step::InvalidUtf8(channel) => print(*channel, INVALID_UTF8)?,
            Step::Escapes(channel) => print(*channel, HOSTILE_ESCAPES.as_bytes())?,
            Step::ReportCost(report) => report_cost(report)?,
            Step::ReportText(text) => report(text)?,
            Step::Run(line) => run(line)?,
            Step::GitCanaries(log) => git_canaries(log)?,
            Step::Exit(code) => return Ok(Flow::End(ExitCode::from(*code))),
            Step::Die(signal) => signals::send(getpid(), *signal)?,
            Step::SleepMs(time) => thread::sleep(Duration::from_millis(*time)),
            // Done before the first step; see `signals::ignore_from_the_start`.
            Step::IgnoreSignals(_) => {}
            Step::Fork(wanted) => child::start(wanted, Birth::Fork, &self.script)?,
            Step::DoubleFork(wanted) => child::start(wanted, Birth::DoubleFork, &self.script)?,
            Step::HoldStdout { ms } => {
                let holder = Child { stay_ms: *ms, stdout: Stdout::Held, ..Child::default() };
                child::start(&holder, Birth::DoubleFork, &self.script)?;
            }
            Step::KillParent(signal) => {
                signals::send(getppid().context("the parent cannot be seen")?, *signal)?;
            }
            Step::WaitForFile { path, limit_ms } => wait_for_file(path, *limit_ms)?,
            Step::ReadTty { question } => read_tty(question)?,
        }
        Ok(Flow::Next)
    }
}

/// Writes a file: an existing one in place, as agents do, so that its inode, its links and its mode stay; a new one in such
/// a way that a reader never sees half of it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<()> {
    // Asked without following links: a link to nowhere is written through, too.
    if path.symlink_metadata().is_ok() {
        return fs::write(path, content).with_context(|| at("could not write", path));
    }
    put_in_place(path, content)
}

/// Writes a file, or replaces it, in such a way that a reader never sees half of it.
pub(crate) fn put_in_place(path: &Path, content: &[u8]) -> Result<()> {
    parents(path)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = fs::write(&new, content).and_then(|()| fs::rename(&new, path));
    written.with_context(|| at("could not write", path))
}

/// What failed, and where.
pub(crate) fn at(what: &str, path: &Path) -> String {
    format!("{what} {}", path.display())
}

fn parents(path: &Path) -> Result<()> {
    match path.parent() {
        Some(folder) => fs::create_dir_all(folder).with_context(|| at("could not create", folder)),
        None => Ok(()),
    }
}

fn append(path: &Path, text: &str) -> Result<()> {
    parents(path)?;
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| at("could not append to", path))
}

fn replace(path: &Path, from: &str, to: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| at("could not read", path))?;
    ensure!(text.contains(from), "{} does not hold `{from}`", path.display());
    fs::write(path, text.replacen(from, to, 1)).with_context(|| at("could not write", path))
}

fn delete(path: &Path) -> Result<()> {
    let is_folder = fs::symlink_metadata(path).map(|metadata| metadata.is_dir());
    let removed = is_folder.and_then(|folder| if folder { fs::remove_dir_all(path) } else { fs::remove_file(path) });
    removed.with_context(|| at("could not remove", path))
}

fn chmod(path: &Path, mode: &str) -> Result<()> {
    let mode =
        u32::from_str_radix(mode, 8).map_err(|_| anyhow!("`{mode}` is no octal mode; write one like \"755\""))?;
    fs::set_permissions(path, Permissions::from_mode(mode)).with_context(|| at("could not change the mode of", path))
}

fn record_env(path: &Path) -> Result<()> {
    let all: BTreeMap<String, String> = env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let text = serde_json::to_vec_pretty(&all).context("could not write the environment as JSON")?;
    put_in_place(path, &text)
}

fn report_cost(wanted: &CostReport) -> Result<()> {
    let Rhythm { reports, pause_ms } = wanted.rhythm.unwrap_or(Rhythm { reports: 1, pause_ms: 0 });
    for number in 1..=reports {
        if number > 1 {
            thread::sleep(Duration::from_millis(pause_ms));
        }
        let part = |whole: u64| whole * u64::from(number) / u64::from(reports);
        let mut text = serde_json::json!({
            "costUSD": part(wanted.micros) as f64 / 1e6,
            "inputTokens": part(wanted.input_tokens),
            "outputTokens": part(wanted.output_tokens),
        });
        if let Some(model) = &wanted.model {
            text["model"] = model.as_str().into();
        }
        report(&text.to_string())?;
    }
    Ok(())
}

fn report(text: &str) -> Result<()> {
    let path = PathBuf::from(env::var_os("RALPH_RESULT_FILE").context("RALPH_RESULT_FILE is not set")?);
    put_in_place(&path, text.as_bytes())
}

fn run(line: &str) -> Result<()> {
    let status = Command::new("/bin/sh").arg("-c").arg(line).status().context("could not start sh")?;
    ensure!(status.success(), "`{line}` ended with {status}");
    Ok(())
}

fn git_canaries(log: &Path) -> Result<()> {
    let here = env::current_dir().context("could not find the current folder")?;
    plant_canaries(&here, &here.join(log)).context("could not plant the canaries")
}

fn wait_for_file(path: &Path, limit_ms: u64) -> Result<()> {
    let start = Instant::now();
    while !path.exists() {
        ensure!(
            start.elapsed() < Duration::from_millis(limit_ms),
            "{} did not appear in {limit_ms} ms",
            path.display()
        );
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn read_tty(question: &str) -> Result<()> {
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return print(Channel::Stdout, b"no terminal\n");
    };
    let failed = "could not ask on the terminal";
    terminal.write_all(question.as_bytes()).context(failed)?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer).context(failed)?;
    print(Channel::Stdout, format!("answer: {answer}").as_bytes())
}
