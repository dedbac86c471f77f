//! Performs the steps of a run, one after the other.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions, Permissions};
use std::hint;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use ralph_testkit::{
    Channel, Child, CostReport, FileText, HOSTILE_ESCAPES, INVALID_UTF8, Rhythm, Stdout, Step, plant_canaries,
};
use rustix::process::{Pid, getpid, getppid};

use crate::child::{self, Birth};
use crate::failure::Failure;
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

    pub(crate) fn perform(&mut self, step: &Step) -> Result<Flow, Failure> {
        match step {
            Step::Write(FileText { path, text }) => write(path, text.as_bytes())?,
            Step::Append(FileText { path, text }) => append(path, text)?,
            Step::Replace { path, from, to } => replace(path, from, to)?,
            Step::Delete(path) => delete(path)?,
            Step::Mkdir(path) => fs::create_dir_all(path).map_err(Failure::file("could not create", path))?,
            Step::Chmod { path, mode } => chmod(path, mode)?,
            Step::Symlink { target, path } => {
                parents(path)?;
                symlink(target, path).map_err(Failure::file("could not link", path))?;
            }
            Step::Copy { from, to } => {
                parents(to)?;
                fs::copy(from, to).map_err(Failure::file("could not copy", from))?;
            }
            Step::Rename { from, to } => {
                parents(to)?;
                fs::rename(from, to).map_err(Failure::file("could not move", from))?;
            }
            Step::Print(text) => print(Channel::Stdout, text.as_bytes())?,
            Step::PrintStderr(text) => print(Channel::Stderr, text.as_bytes())?,
            Step::Claim(promise) => print(Channel::Stdout, format!("{promise}\n").as_bytes())?,
            Step::Blocked(why) => print(Channel::Stdout, format!("<blocked>{why}</blocked>\n").as_bytes())?,
            Step::EchoPrompt => print(Channel::Stdout, self.prompt.read()?)?,
            Step::RecordPrompt(path) => self.prompt.save(path)?,
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
            Step::BusyMs(time) => busy(Duration::from_millis(*time)),
            // Done before the first step; see `signals::ignore_from_the_start`.
            Step::IgnoreSignals(_) => {}
            Step::Fork(wanted) => child::start(wanted, Birth::Fork, &self.script)?,
            Step::DoubleFork(wanted) => child::start(wanted, Birth::DoubleFork, &self.script)?,
            Step::HoldStdout { ms } => {
                let holder = Child { stay_ms: *ms, stdout: Stdout::Held, ..Child::default() };
                child::start(&holder, Birth::DoubleFork, &self.script)?;
            }
            Step::KillParent(signal) => {
                let nobody =
                    || Failure::system("could not send a signal")(io::Error::other("the parent cannot be seen"));
                signals::send(getppid().ok_or_else(nobody)?, *signal)?;
            }
            Step::KillPidFile { path, signal } => signals::send(pid_in(path)?, *signal)?,
            Step::WaitForFile { path, limit_ms } => wait_for_file(path, *limit_ms)?,
            Step::ReadTty { question } => read_tty(question)?,
            Step::FillDisk { folder, limit } => fill_disk(folder, *limit)?,
        }
        Ok(Flow::Next)
    }
}

/// Writes a file: an existing one in place, as agents do, so that its inode, its links and its mode stay; a new one in such
/// a way that a reader never sees half of it.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    // Asked without following links: a link to nowhere is written through, too.
    if path.symlink_metadata().is_ok() {
        return fs::write(path, content).map_err(Failure::file("could not write", path));
    }
    put_in_place(path, content)
}

/// Writes a file, or replaces it, in such a way that a reader never sees half of it.
pub(crate) fn put_in_place(path: &Path, content: &[u8]) -> Result<(), Failure> {
    parents(path)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = fs::write(&new, content).and_then(|()| fs::rename(&new, path));
    written.map_err(Failure::file("could not write", path))
}

fn parents(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) => fs::create_dir_all(folder).map_err(Failure::file("could not create", folder)),
        None => Ok(()),
    }
}

fn append(path: &Path, text: &str) -> Result<(), Failure> {
    parents(path)?;
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(Failure::file("could not append to", path))
}

fn replace(path: &Path, from: &str, to: &str) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(Failure::file("could not read", path))?;
    if !text.contains(from) {
        return Err(Failure::NotFound { path: path.to_owned(), text: from.to_owned() });
    }
    fs::write(path, text.replacen(from, to, 1)).map_err(Failure::file("could not write", path))
}

fn delete(path: &Path) -> Result<(), Failure> {
    let is_folder = fs::symlink_metadata(path).map(|metadata| metadata.is_dir());
    let removed = is_folder.and_then(|folder| if folder { fs::remove_dir_all(path) } else { fs::remove_file(path) });
    removed.map_err(Failure::file("could not remove", path))
}

fn chmod(path: &Path, mode: &str) -> Result<(), Failure> {
    let mode = u32::from_str_radix(mode, 8).map_err(|_| Failure::Mode { text: mode.to_owned() })?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(Failure::file("could not change the mode of", path))
}

fn record_env(path: &Path) -> Result<(), Failure> {
    let all: BTreeMap<String, String> = env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let text = serde_json::to_vec_pretty(&all).map_err(Failure::system("could not write the environment as JSON"))?;
    put_in_place(path, &text)
}

fn report_cost(wanted: &CostReport) -> Result<(), Failure> {
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

fn report(text: &str) -> Result<(), Failure> {
    let path = PathBuf::from(env::var_os("RALPH_RESULT_FILE").ok_or(Failure::NoResultFile)?);
    put_in_place(&path, text.as_bytes())
}

fn run(line: &str) -> Result<(), Failure> {
    let status = Command::new("/bin/sh").arg("-c").arg(line).status().map_err(Failure::system("could not start sh"))?;
    if status.success() { Ok(()) } else { Err(Failure::Line { line: line.to_owned(), status }) }
}

fn git_canaries(log: &Path) -> Result<(), Failure> {
    let here = env::current_dir().map_err(Failure::system("could not find the current folder"))?;
    plant_canaries(&here, &here.join(log)).map_err(Failure::system("could not plant the canaries"))
}

fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        hint::spin_loop();
    }
}

fn pid_in(path: &Path) -> Result<Pid, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::file("could not read", path))?;
    // Zero and below would mean a whole group, or everything.
    let pid = text.trim().parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    pid.ok_or_else(|| Failure::NoPid { path: path.to_owned() })
}

fn wait_for_file(path: &Path, limit_ms: u64) -> Result<(), Failure> {
    let start = Instant::now();
    while !path.exists() {
        if start.elapsed() >= Duration::from_millis(limit_ms) {
            return Err(Failure::NeverAppeared { path: path.to_owned(), limit_ms });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn read_tty(question: &str) -> Result<(), Failure> {
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return print(Channel::Stdout, b"no terminal\n");
    };
    let failed = "could not ask on the terminal";
    terminal.write_all(question.as_bytes()).map_err(Failure::system(failed))?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer).map_err(Failure::system(failed))?;
    print(Channel::Stdout, format!("answer: {answer}").as_bytes())
}

fn fill_disk(folder: &Path, limit: u64) -> Result<(), Failure> {
    let path = folder.join("filler");
    let mut file = fs::File::create(&path).map_err(Failure::file("could not create", &path))?;
    let piece = vec![0; 64 * 1024];
    let mut written = 0;
    while written < limit {
        match file.write(&piece) {
            Ok(count) => written += count as u64,
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
            Err(error) => return Err(Failure::file("could not write", &path)(error)),
        }
    }
    Err(Failure::NotFull { folder: folder.to_owned(), limit })
}
