//! Looks into the process table, to show what survived. Ends nothing.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub command: String,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.command)
    }
}

/// How to find the processes of a test among all others. The test itself, zombies, and processes of other users that may
/// not be looked into are never among them.
#[derive(Debug, Clone)]
pub struct Processes(Criterion);

#[derive(Debug, Clone)]
enum Criterion {
    Marker(Vec<u8>),
    Folder(PathBuf),
}

impl Processes {
    /// Those that have `NAME=value` in the environment they were started with, or that text in their command line.
    ///
    /// A program that is started with a cleared environment loses the variable and all that it starts with it: for agents
    /// of Ralph use the path of the script, which stands in the command line of the agent and of every child, or
    /// [`Processes::working_in`].
    #[track_caller]
    pub fn with_marker(marker: impl AsRef<[u8]>) -> Self {
        let marker = marker.as_ref();
        assert!(!marker.is_empty(), "an empty marker would be found everywhere");
        Self(Criterion::Marker(marker.to_owned()))
    }

    /// Those whose current folder is this one or below it.
    pub fn working_in(folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        // The process table shows resolved paths.
        Self(Criterion::Folder(folder.canonicalize().unwrap_or_else(|_| folder.to_owned())))
    }

    /// The ones that live now, by id.
    #[track_caller]
    pub fn list(&self) -> Vec<Process> {
        let table = fs::read_dir("/proc").unwrap_or_else(|error| panic!("could not read /proc: {error}"));
        let ids = table.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let mut found: Vec<Process> =
            ids.filter(|pid| *pid != std::process::id()).filter_map(|pid| self.look_at(pid)).collect();
        found.sort_by_key(|process| process.pid);
        found
    }

    #[track_caller]
    pub fn wait_until_gone(&self, limit: Duration) -> Result<(), Vec<Process>> {
        self.wait(limit, Vec::is_empty).map(|_| ())
    }

    /// Waits until there are at least `count`, and gives them.
    #[track_caller]
    pub fn wait_for(&self, count: usize, limit: Duration) -> Result<Vec<Process>, Vec<Process>> {
        self.wait(limit, |found| found.len() >= count)
    }

    fn wait(&self, limit: Duration, enough: impl Fn(&Vec<Process>) -> bool) -> Result<Vec<Process>, Vec<Process>> {
        let start = Instant::now();
        loop {
            let found = self.list();
            if enough(&found) {
                return Ok(found);
            }
            if start.elapsed() >= limit {
                return Err(found);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn look_at(&self, pid: u32) -> Option<Process> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let command = command_line(&folder)?;
        let matches = match &self.0 {
            Criterion::Marker(marker) => {
                contains(&command, marker)
                    || fs::read(folder.join("environ"))
                        .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == marker))
            }
            Criterion::Folder(wanted) => fs::read_link(folder.join("cwd")).is_ok_and(|now| now.starts_with(wanted)),
        };
        let words: Vec<_> = command.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        matches.then(|| Process { pid, command: words.join(" ").trim_end().to_owned() })
    }
}

/// The command line of a process that lives and is none of the kernel's own.
fn command_line(folder: &Path) -> Option<Vec<u8>> {
    // While a process becomes another program its command line and environment are empty; nobody may slip through then.
    for _ in 0..1000 {
        let command = fs::read(folder.join("cmdline")).ok()?;
        if !command.is_empty() {
            return Some(command);
        }
        // Neither a zombie nor a thread of the kernel is a program.
        fs::read_link(folder.join("exe")).ok()?;
        thread::yield_now();
    }
    // It has wiped its own command line.
    Some(Vec::new())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
#[path = "processes_tests.rs"]
mod tests;
