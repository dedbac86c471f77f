//! Starts a program through the stage that confines it. Runs in the reaper, which forks the stage before it has other threads and
//! starts it before one of them waits for children.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions};

use super::bubblewrap::{self, User};
use super::jail::{GO, Waiting};
use super::{JAIL, Need, plan};
use crate::sweep::TREE_VARIABLE;
use crate::tree;
use crate::wire::{self, Frames, Jail, Report, Request};
use ralph_text::sanitize;

/// How long the stage has to restrict itself: milliseconds, unless a mount hangs.
const TIMEOUT: Duration = Duration::from_secs(10);
/// As much as is read of what bubblewrap has to say.
const MAX_WORDS: u64 = 2048;

/// What follows from a request before the threads of its reaper start.
pub(crate) enum Begun {
    /// Nothing confines the program.
    Unconfined,
    /// This is the reaper, with the stage of the program.
    Reaper(Stage),
    /// This is the stage, which was forked.
    Stage(Waiting),
}

/// Starts the stage of a request, unless it was forked ahead, and gives it everything that the program gets. The reaper may have one
/// thread only. Gives why that was impossible; then nothing of the stage is left either.
pub(crate) fn begin(
    request: &mut Request,
    outputs: &[OwnedFd; 3],
    bridge: Option<&OwnedFd>,
    ahead: Option<Stage>,
) -> Result<Begun, String> {
    let jail = request.jail.as_ref().filter(|_| !request.program.is_empty());
    let need = Need::of(jail);
    let ahead = ahead.and_then(|stage| stage.if_made_for(need));
    let Some(jail) = jail else { return Ok(Begun::Unconfined) };
    let begun = plan::plan(jail).map_err(|error| error.to_string()).and_then(|jail| {
        if jail.bubblewrap.is_some() {
            return begin_inside(request, &jail, outputs, bridge).map(Begun::Reaper);
        }
        request.jail = Some(jail);
        let mut stage = match ahead {
            Some(stage) => stage,
            None => match Stage::fork(need).map_err(told)? {
                Begun::Reaper(stage) => stage,
                begun => return Ok(begun),
            },
        };
        stage.send(request, outputs, bridge)?;
        Ok(Begun::Reaper(stage))
    });
    begun.map_err(|why| {
        end_all();
        unconfined(&why)
    })
}

/// bubblewrap has to know the paths before it can start a stage, and can only execute it.
fn begin_inside(
    request: &Request,
    jail: &Jail,
    outputs: &[OwnedFd; 3],
    bridge: Option<&OwnedFd>,
) -> Result<Stage, String> {
    // As a descriptor that is inherited: the file may have been replaced by a newer one, or be hidden inside.
    let program = rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty()).map_err(told)?;
    let mut stage = Stage::begin(Path::new(&format!("/proc/self/fd/{}", program.as_raw_fd())), request, jail)?;
    stage.hand_over(request, jail, outputs, bridge)?;
    Ok(stage)
}

/// The stage while it restricts itself.
pub(crate) struct Stage {
    /// The stage itself or bubblewrap, of which the stage is then a child.
    child: Process,
    socket: UnixStream,
    /// What bubblewrap, or a stage that was executed, has to say.
    words: Option<File>,
    frames: Frames,
    bubblewrap: Option<PathBuf>,
    need: Need,
}

impl Stage {
    /// Forks one before the request is known. None where none is needed, or where there is no room for one, which the request finds too.
    pub(crate) fn ahead(need: Need) -> Option<Begun> {
        if need == Need::Nothing { None } else { Self::fork(need).ok() }
    }

    fn fork(need: Need) -> io::Result<Begun> {
        let (socket, theirs) = pair()?;
        match fork::fork()? {
            fork::Fork::Child => Ok(Begun::Stage(Waiting { socket: theirs, need })),
            fork::Fork::Parent(child) => {
                let child = Process::new(child)?;
                let (words, frames, bubblewrap) = (None, Frames::default(), None);
                Ok(Begun::Reaper(Self { child, socket, words, frames, bubblewrap, need }))
            }
        }
    }

    /// Itself, if it was forked for this and lives: a program may have stopped it or ended it. Otherwise it is ended.
    fn if_made_for(mut self, need: Need) -> Option<Self> {
        let is_made_for = self.need == need
            && rustix::process::kill_process(self.child.pid, Signal::CONT).is_ok()
            && matches!(self.child.wait(WaitOptions::NOHANG), Ok(None));
        if is_made_for {
            return Some(self);
        }
        // Only of a process that is not there can that be impossible.
        let _ = self.child.end();
        None
    }

    /// Lets it become the program once it is confined. Gives the program's number, or why it does not run; then nothing of the stage
    /// is left either.
    pub(crate) fn start(mut self) -> Result<i32, String> {
        let confined = self.confined().map_err(|why| unconfined(&why));
        let started = confined.and_then(|pid| self.executed().map(|()| pid));
        if started.is_err() {
            end_all();
        }
        started
    }

    pub(super) fn begin(program: &Path, request: &Request, jail: &Jail) -> Result<Self, String> {
        let user = if rustix::process::geteuid().is_root() { User::Root } else { User::Other };
        let mut command = match &jail.bubblewrap {
            Some(bubblewrap) => {
                let mut command = Command::new(bubblewrap);
                command.args(bubblewrap::options(jail, user)).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.args(&jail.arguments).env_clear();
        // The mark of the tree, by which it is found should the reaper die now, and nothing else.
        command.envs(request.environment.iter().filter(|(name, _)| name == TREE_VARIABLE).cloned());
        Self::spawn(command, jail.bubblewrap.clone())
    }

    fn spawn(mut command: Command, bubblewrap: Option<PathBuf>) -> Result<Self, String> {
        let (socket, theirs) = pair().map_err(told)?;
        let (words, their_words) = pipe_with(PipeFlags::CLOEXEC).map_err(told)?;
        command.arg(JAIL).current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::from(their_words));
        let child = command.spawn().map_err(|error| match &bubblewrap {
            Some(bubblewrap) => format!("{}: {error}", bubblewrap.display()),
            None => told(error),
        })?;
        let child = i32::try_from(child.id()).map_err(io::Error::other).and_then(Process::new).map_err(told)?;
        let (words, need) = (Some(words.into()), Need::Nothing);
        Ok(Self { child, socket, words, frames: Frames::default(), bubblewrap, need })
    }

    /// Gives it the request with everything that the program gets. Gives why that was impossible.
    pub(super) fn hand_over(
        &mut self,
        request: &Request,
        jail: &Jail,
        outputs: &[OwnedFd; 3],
        bridge: Option<&OwnedFd>,
    ) -> Result<(), String> {
        self.send(&Request { jail: Some(jail.clone()), ..request.clone() }, outputs, bridge)
    }

    fn send(&mut self, request: &Request, outputs: &[OwnedFd; 3], bridge: Option<&OwnedFd>) -> Result<(), String> {
        let descriptors: Vec<_> = outputs.iter().chain(bridge).map(AsFd::as_fd).collect();
        let request = request.encode();
        let sent = wire::send_descriptors(self.socket.as_fd(), request.len(), &descriptors);
        sent.and_then(|()| self.socket.write_all(&request)).map_err(|error| self.failed(&error))
    }

    /// Waits until the stage is confined. Gives its number, which will be that of the program, or why it is not.
    pub(super) fn confined(&mut self) -> Result<i32, String> {
        match self.report() {
            Ok(Some(Report::Started { pid })) => Ok(pid),
            Ok(Some(Report::NotStarted { why })) => Err(why),
            Ok(_) => Err(self.failed(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Lets the confined stage become the program, and waits until it has. Gives why it cannot.
    fn executed(&mut self) -> Result<(), String> {
        if self.bubblewrap.is_some() {
            // It would report the death of the program in words of its own. Without it the program is a child of the reaper.
            self.child.end().map_err(|error| unconfined(&told(error)))?;
        }
        // One that was forked starts at once: nothing stands between it and the reaper.
        let is_asked = self.words.is_some();
        let allowed = if is_asked { self.socket.write_all(&GO) } else { Ok(()) };
        match allowed.and_then(|()| self.report()) {
            // Executing the program closed the last other end.
            Ok(None) => Ok(()),
            Ok(Some(Report::NotStarted { why })) => Err(why),
            Ok(Some(_)) => Err(unconfined(&self.failed(&io::ErrorKind::InvalidData.into()))),
            Err(error) => Err(unconfined(&self.failed(&error))),
        }
    }

    /// Ends a stage that is not to become anything.
    pub(super) fn end(mut self) {
        // It reads the end instead of the permission to go on, and ends itself.
        let _ = self.socket.shutdown(Shutdown::Write);
        while let Ok(Some(_)) = self.report() {}
        // Only of a process that is not there can that be impossible.
        let _ = self.child.end();
    }

    /// The next report; none at the end of the socket.
    fn report(&mut self) -> io::Result<Option<Report>> {
        loop {
            if let Some(frame) = self.frames.next()? {
                return Report::decode(&frame).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into());
            }
            let mut buffer = [0; 512];
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => self.frames.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends it, and says for people what went wrong: in the words of bubblewrap, where it had some.
    fn failed(&mut self, error: &io::Error) -> String {
        let status = self.child.end();
        let mut words = Vec::new();
        // A stage that lives on inside bubblewrap holds the pipe open, so only what is there is read.
        if let Some(said) = self.words.as_ref().filter(|said| rustix::io::ioctl_fionbio(said, true).is_ok()) {
            let _ = said.take(MAX_WORDS).read_to_end(&mut words);
        }
        let words = sanitize(String::from_utf8_lossy(&words).trim()).into_owned();
        match (error.kind(), status) {
            _ if !words.is_empty() => words,
            (io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut, _) => {
                format!("no answer for {} s", TIMEOUT.as_secs())
            }
            (_, Ok(status)) => format!("it ended early ({status})"),
            (_, Err(error)) => error.to_string(),
        }
    }
}

/// A child of this process, until it is reaped.
struct Process {
    pid: Pid,
    ended: Option<ExitStatus>,
}

impl Process {
    fn new(pid: i32) -> io::Result<Self> {
        Ok(Self { pid: Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?, ended: None })
    }

    fn wait(&mut self, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
        while self.ended.is_none() {
            match rustix::process::waitpid(Some(self.pid), options) {
                Ok(Some((_, status))) => self.ended = Some(ExitStatus::from_raw(status.as_raw())),
                Ok(None) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.ended)
    }

    /// Kills and reaps it, unless that is done already.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if self.ended.is_none() {
            // It may have ended already.
            let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        }
        self.wait(WaitOptions::empty())?.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// The socket between reaper and stage.
fn pair() -> io::Result<(UnixStream, UnixStream)> {
    let (socket, theirs) = UnixStream::pair()?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))?;
    Ok((socket, theirs))
}

/// Ends and reaps every child, adopted ones too.
fn end_all() {
    loop {
        for child in tree::children(rustix::process::getpid().as_raw_nonzero().get()) {
            // Refused for processes of another user, and there is none yet.
            let _ = child.signal(Signal::KILL);
        }
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            // There are no children: nothing else can fail here.
            Err(_) => return,
        }
    }
}

fn unconfined(why: &str) -> String {
    format!("the sandbox could not be set up: {why}")
}

fn told(error: impl Into<io::Error>) -> String {
    error.into().to_string()
}
