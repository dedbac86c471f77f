//! Runs the git program so that nothing but git runs. Knows no command of its own.
//!
//! Two ways. *Own*: with a git directory that Ralph made; its configuration is Ralph's, so no hook, filter, diff driver,
//! monitor, pager or helper is known to git, whatever the workspace's attributes name. *User's*: with the repository's own
//! git directory, for what only that can do (references, the real index, worktrees). Its configuration is read then, and
//! the settings that would start a program in the commands used here are overridden on the command line, which wins.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;

use crate::Error;
use crate::content::MAX_FILE;
use crate::stop::Poll;

/// Longer than git needs for the largest of checkouts.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How often a run that can be stopped looks for a request.
const POLL: Duration = Duration::from_millis(100);

/// What a repository's configuration could start, turned off. Partial clones fetch missing objects through helpers; the
/// environment forbids that, see [`Call::new`].
const OVERRIDES: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.sshCommand=false",
    "core.pager=cat",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

#[derive(Debug, Clone)]
pub(crate) struct Git {
    program: PathBuf,
}

impl Git {
    /// A program found by the caller.
    pub(crate) fn new(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// A call with a git directory of Ralph's own.
    pub(crate) fn own(&self, git_dir: &Path) -> Call {
        let mut call = Call::new(&self.program, git_dir);
        call.command.current_dir(git_dir);
        call
    }

    /// A call with the user's git directory, with everything overridden that could run something.
    pub(crate) fn users(&self, git_dir: &Path, work_tree: &Path) -> Call {
        let mut call = Call::new(&self.program, git_dir);
        call.command.current_dir(work_tree).env("GIT_WORK_TREE", work_tree);
        for setting in OVERRIDES {
            call.command.args(["-c", setting]);
        }
        call
    }
}

pub(crate) struct Call {
    command: Command,
    program: PathBuf,
    input: Option<Vec<u8>>,
    trap: Option<PathBuf>,
    stop: Option<Arc<Poll>>,
}

impl Call {
    fn new(program: &Path, git_dir: &Path) -> Self {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", "/nonexistent")
            .env("LC_ALL", "C")
            .env("GIT_DIR", git_dir)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            // No transport at all: neither a promisor remote nor a submodule may start one.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .arg("--no-pager")
            .stdin(Stdio::null());
        Self { command, program: program.to_owned(), input: None, trap: None, stop: None }
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, arguments: I) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it in another folder.
    pub(crate) fn current_dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    /// Does not run it at all when something is there that git would wait for.
    pub(crate) fn unless(mut self, trap: Option<PathBuf>) -> Self {
        self.trap = trap;
        self
    }

    /// Ends it on a request to stop. Only for calls that may break off anywhere.
    pub(crate) fn stoppable(mut self, stop: &Arc<Poll>) -> Self {
        self.stop = Some(Arc::clone(stop));
        self
    }

    /// Runs it to its end; an error unless it exits with 0.
    pub(crate) fn output(self, action: &'static str) -> Result<Vec<u8>, Error> {
        match self.answer(action)? {
            Answer { code: Some(0), output, .. } => Ok(output),
            Answer { message, .. } => Err(Error::Git { action, message }),
        }
    }

    /// Like [`Call::output`], as trimmed text.
    pub(crate) fn text(self, action: &'static str) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.output(action)?).trim_end().to_owned())
    }

    /// Runs it to its end, whatever its exit code.
    pub(crate) fn answer(self, action: &'static str) -> Result<Answer, Error> {
        let mut output = Vec::new();
        let answer = self.run(action, |pipe| pipe.read_to_end(&mut output).map(drop))?;
        Ok(Answer { output, ..answer })
    }

    /// Runs it to its end, whatever its exit code, and hands out what it prints piece by piece, each without the zero that
    /// ends it: of an output that may be larger than memory.
    pub(crate) fn pieces(self, action: &'static str, mut take: impl FnMut(&[u8])) -> Result<Answer, Error> {
        self.run(action, |pipe| {
            let mut pipe = io::BufReader::new(pipe);
            let mut piece = Vec::new();
            while pipe.read_until(0, &mut piece)? > 0 {
                take(piece.strip_suffix(b"\0").unwrap_or(&piece));
                piece.clear();
            }
            Ok(())
        })
    }

    fn run(
        mut self,
        action: &'static str,
        read: impl FnOnce(&mut ChildStdout) -> io::Result<()>,
    ) -> Result<Answer, Error> {
        if let Some(path) = &self.trap {
            let message = format!("{} is not an ordinary file; restore it", path.display());
            return Err(Error::Git { action, message });
        }
        if self.input.is_some() {
            self.command.stdin(Stdio::piped());
        }
        let started = std::time::Instant::now();
        let program = self.program;
        let no_git = |source| Error::NoGit { program: program.clone(), source };
        let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(no_git)?;
        // Written beside the reading, so that neither side waits for the other with a full pipe.
        let feeder = child.stdin.take().zip(self.input).map(|(mut pipe, bytes)| {
            thread::spawn(move || match pipe.write_all(&bytes) {
                // It stopped reading: its exit code and message say why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => other,
            })
        });
        let watch = Watch::over(&child, self.stop);
        let printed = child.stdout.take().map(|mut pipe| {
            let complaints = child.stderr.take().map(|mut pipe| {
                thread::spawn(move || {
                    let mut message = Vec::new();
                    let _ = pipe.read_to_end(&mut message);
                    message
                })
            });
            let read = read(&mut pipe);
            // A pipe without a reader would keep git waiting.
            drop(pipe);
            (read, complaints.and_then(|thread| thread.join().ok()).unwrap_or_default())
        });
        let status = child.wait();
        if watch.end() == Killed::OnRequest {
            return Err(Error::Stopped);
        }
        let status = status.map_err(|source| Error::NoGit { program: program.clone(), source })?;
        let (read, message) = printed.unwrap_or((Ok(()), Vec::new()));
        read.map_err(|error| Error::Git { action, message: error.to_string() })?;
        match feeder.map(thread::JoinHandle::join) {
            None | Some(Ok(Ok(()))) => {}
            Some(Ok(Err(error))) => return Err(Error::Git { action, message: error.to_string() }),
            Some(Err(_)) => return Err(Error::Git { action, message: "its input could not be written".to_owned() }),
        }
        let message = String::from_utf8_lossy(&message).trim().to_owned();
        tracing::debug!(action, %status, elapsed = ?started.elapsed(), message, "git ran");
        Ok(Answer { code: status.code(), output: Vec::new(), message })
    }
}

/// Ends a run of git on a request to stop, or when it takes longer than any honest one: it waits for something that an agent put
/// in its way.
struct Watch {
    over: mpsc::Sender<()>,
    thread: thread::JoinHandle<Killed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Killed {
    No,
    Late,
    OnRequest,
}

impl Watch {
    fn over(child: &Child, stop: Option<Arc<Poll>>) -> Self {
        // A handle and not a number: numbers are used again.
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
        let (over, waiting) = mpsc::channel();
        let thread = thread::spawn(move || {
            let begun = Instant::now();
            let pause = if stop.is_some() { POLL } else { TIMEOUT };
            let killed = loop {
                if waiting.recv_timeout(pause) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return Killed::No;
                }
                if stop.as_ref().is_some_and(|stop| stop.is_over()) {
                    break Killed::OnRequest;
                }
                if begun.elapsed() >= TIMEOUT {
                    break Killed::Late;
                }
            };
            if let Ok(process) = process {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
            killed
        });
        Self { over, thread }
    }

    /// The run is over; says whether it was ended.
    fn end(self) -> Killed {
        drop(self.over);
        self.thread.join().unwrap_or(Killed::No)
    }
}

pub(crate) struct Answer {
    /// Its exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) output: Vec<u8>,
    pub(crate) message: String,
}

/// A throwaway git directory with a copy of the user's index, through which git can look at the user's repository without
/// reading a line of its configuration.
pub(crate) struct Shadow {
    folder: TempDir,
}

impl Shadow {
    pub(crate) fn make(scratch: &Path, places: &crate::gitdir::GitDir) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("shadow-")
            .tempdir_in(scratch)
            .map_err(Error::io("create a folder in", scratch))?;
        let dir = folder.path();
        let write = |name: &str, content: &str| {
            let path = dir.join(name);
            fs::write(&path, content).map_err(Error::io("write", path))
        };
        for name in ["objects/info", "objects/pack", "refs"] {
            let path = dir.join(name);
            fs::create_dir_all(&path).map_err(Error::io("create", path))?;
        }
        write("HEAD", "ref: refs/heads/none\n")?;
        // The hash function is the one thing that must agree with the user's repository.
        let format = match places.hash_digits() {
            64 => "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n",
            _ => "[core]\n\trepositoryformatversion = 0\n",
        };
        write("config", &format!("{format}[core]\n\tbare = false\n\tquotePath = false\n[gc]\n\tauto = 0\n"))?;
        copy_index(&places.git_dir, dir)?;
        Ok(Self { folder })
    }

    pub(crate) fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// Whether the user's repository has an index at all.
    pub(crate) fn has_index(&self) -> bool {
        self.dir().join("index").exists()
    }
}

/// Copies the index with its modification time: git compares that time with the times of files to find racy entries.
fn copy_index(from: &Path, to: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(from).map_err(Error::io("read", from))?;
    for entry in entries {
        let path = entry.map_err(Error::io("read", from))?.path();
        let Some(name) = path.file_name().and_then(OsStr::to_str) else { continue };
        if name != "index" && !name.starts_with("sharedindex.") {
            continue;
        }
        let copy = to.join(name);
        let copied = (|| {
            // Without waiting: an agent could have put a pipe there.
            let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
            let mut source = fs::OpenOptions::new().read(true).custom_flags(flags).open(&path)?;
            let found = source.metadata()?;
            // One that is larger is none.
            if !found.is_file() || found.len() > MAX_FILE {
                return Ok(());
            }
            let mut target = fs::File::create(&copy)?;
            io::copy(&mut source, &mut target)?;
            target.set_modified(found.modified()?)
        })();
        match copied {
            // Git replaces its index by renaming, so that it is never absent for other processes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other.map_err(Error::io("copy", &path))?,
        }
    }
    Ok(())
}
