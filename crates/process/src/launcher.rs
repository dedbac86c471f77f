//! The process that forks a reaper for every run: the program is executed once for all of them. Here are its whole life and Ralph's
//! handle to it.
//!
//! ```text
//!   Supervisor ──socket of the run──► launcher ──fork──► reaper ──┐
//!       ▲                                                         │
//!       └──────────────── a handle of the reaper ◄────────────────┘
//! ```
//!
//! The launcher has one thread, so that it may fork, and keeps no descriptor of a run: the end of a socket still says that the reaper or
//! Ralph died. It ends with Ralph, and reapers go on without it. Ralph starts another when it is gone. From the second run on, the
//! reaper of the next one is forked while a program runs, makes what the next program will probably need, and waits for its request; where a
//! run is announced, so is that of the first.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::error::Error;
use crate::plumbing::refused;
use crate::sandbox::Need;
use crate::spec::ReaperProgram;
use crate::wire;

/// A launcher that has not forked a reaper after this long is stopped or stuck.
const FORK_TIMEOUT: Duration = Duration::from_secs(10);
/// The same for its first one: the program may have to be read from a slow disk.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the end of a launcher that was killed is waited for.
const END_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The whole life of a launcher. The processes that it forks go on in `reap`, with the socket of their run.
pub(crate) fn serve(socket: StdUnixStream, reap: fn(StdUnixStream, Need) -> io::Result<()>) -> io::Result<()> {
    let mut reapers: Vec<(Pid, OwnedFd)> = Vec::new();
    loop {
        let watched = reapers.iter().map(|(_, handle)| PollFd::new(handle, PollFlags::IN));
        let mut events: Vec<PollFd<'_>> = watched.chain([PollFd::new(&socket, PollFlags::IN)]).collect();
        retry_on_intr(|| poll(&mut events, None))?;
        let is_asked = events.last().is_some_and(|event| !event.revents().is_empty());
        reapers.retain(|(pid, _)| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None) | Err(Errno::INTR)));
        if !is_asked {
            continue;
        }
        // The end of the socket is an error here, and the end of the launcher.
        let (need, mut received) = wire::receive_descriptors(socket.as_fd())?;
        let Some(control) = received.pop() else { continue };
        match fork::fork() {
            Ok(fork::Fork::Child) => {
                drop((socket, reapers));
                return reap(control.into(), Need::ALL.get(need).copied().unwrap_or(Need::Nothing));
            }
            Ok(fork::Fork::Parent(pid)) => {
                let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
                reapers.push((pid, pidfd_open(pid, PidfdFlags::empty())?));
            }
            Err(error) => {
                let code = error.raw_os_error().and_then(|code| usize::try_from(code).ok());
                // A supervisor that does not wait any more needs no reason.
                let _ = wire::send_descriptors(control.as_fd(), code.unwrap_or_default(), &[]);
            }
        }
    }
}

/// A reaper that was forked, and waits for its request. It ends by itself when its socket is dropped.
#[derive(Debug)]
pub(crate) struct Reaper {
    pub(crate) pid: i32,
    /// Names the process even after it ended.
    pub(crate) handle: OwnedFd,
    pub(crate) control: UnixStream,
}

impl Reaper {
    /// Whether it lives. One that was stopped is continued.
    fn lives(&self) -> bool {
        let ended = retry_on_intr(|| poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&Timespec::default())));
        ended == Ok(0) && pidfd_send_signal(&self.handle, Signal::CONT).is_ok()
    }
}

/// The launcher of a supervisor, started when there is something to run.
#[derive(Debug)]
pub(crate) struct Launchers {
    pub(crate) program: ReaperProgram,
    current: Mutex<Option<Arc<Launcher>>>,
    /// Where the reaper of the next run answers, and who was asked for it.
    ahead: Mutex<Option<(Arc<Launcher>, UnixStream)>>,
    habit: Mutex<Habit>,
}

/// What the runs need, one after the other. Agents and checks take turns, so that what followed a run the last time is a good guess.
#[derive(Debug)]
struct Habit {
    last: Need,
    followed_by: [Need; Need::ALL.len()],
}

impl Habit {
    const fn new() -> Self {
        Self { last: Need::Nothing, followed_by: [Need::Nothing; Need::ALL.len()] }
    }

    /// Notes what a run needs, and guesses what the next one will.
    const fn next_after(&mut self, need: Need) -> Need {
        self.followed_by[self.last as usize] = need;
        self.last = need;
        self.followed_by[need as usize]
    }
}

impl Launchers {
    pub(crate) const fn new(program: ReaperProgram) -> Self {
        Self { program, current: Mutex::new(None), ahead: Mutex::new(None), habit: Mutex::new(Habit::new()) }
    }

    /// Has a reaper forked for a run that needs this. A launcher that does not answer is replaced, because an agent may have killed or
    /// stopped it. One that has never forked anything is an error: the next would be no better.
    pub(crate) async fn fork(&self, need: Need) -> Result<Reaper, Error> {
        let next = self.habit.lock().unwrap_or_else(PoisonError::into_inner).next_after(need);
        let mut lost = None;
        loop {
            let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).take();
            let is_ahead = ahead.is_some();
            let (launcher, asked) = match ahead {
                Some((launcher, control)) => (launcher, Ok(control)),
                None => {
                    let launcher = self.launcher(lost.as_ref())?;
                    let asked = launcher.ask(need);
                    (launcher, asked)
                }
            };
            let is_first = !launcher.has_forked.load(Ordering::Relaxed);
            let forked = match asked {
                Ok(control) => launcher.answer(control).await,
                Err(error) => Err(error),
            };
            let error = match forked {
                // The agent of the last run may have ended the one that waited.
                Ok(reaper) if is_ahead && !reaper.lives() => continue,
                Ok(reaper) => {
                    if !is_first {
                        self.ask_ahead(launcher, next);
                    }
                    return Ok(reaper);
                }
                Err(NotForked::Refused(source)) => return Err(refused("start a supervisor process")(source)),
                Err(NotForked::Lost(error)) => error,
            };
            let status = launcher.end().await;
            if !launcher.has_forked.load(Ordering::Relaxed) {
                self.forget(&launcher);
                let how = match status {
                    Some(status) if status.code().is_some() => status.to_string(),
                    // It was ended here, after it had neither answered nor ended by itself.
                    _ => error.to_string(),
                };
                return Err(Error::NoReaper { how });
            }
            tracing::warn!(%error, "the launcher is gone; starting another");
            lost = Some(launcher);
        }
    }

    fn ask_ahead(&self, launcher: Arc<Launcher>, need: Need) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_none() {
            // Where that is impossible the next run says why.
            *ahead = launcher.ask(need).ok().map(|control| (launcher, control));
        }
    }

    /// Starts the launcher and has the first reaper forked for a run that probably needs this, so that the run waits for neither. Where
    /// the launcher cannot be started the first run says why.
    pub(crate) fn prepare(&self, need: Need) {
        match self.launcher(None) {
            Ok(launcher) => self.ask_ahead(launcher, need),
            Err(error) => tracing::debug!(%error, "the launcher could not be started early"),
        }
    }

    /// Ends the launcher without a wait: it is reaped when it is dropped.
    pub(crate) fn release(&self) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(launcher) = current.as_ref() {
            launcher.kill();
        }
    }

    /// Lets the next run start another: this one may have been slow or unlucky.
    fn forget(&self, launcher: &Arc<Launcher>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, launcher)) {
            *current = None;
        }
    }

    /// The current launcher, or a new one instead of the one that was lost.
    fn launcher(&self, lost: Option<&Arc<Launcher>>) -> Result<Arc<Launcher>, Error> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(launcher) = current.as_ref().filter(|launcher| lost.is_none_or(|lost| !Arc::ptr_eq(lost, launcher)))
        {
            return Ok(Arc::clone(launcher));
        }
        Ok(Arc::clone(current.insert(Arc::new(Launcher::start(&self.program)?))))
    }
}

#[derive(Debug)]
struct Launcher {
    /// None once it was ended.
    child: Mutex<Option<Child>>,
    socket: StdUnixStream,
    has_forked: AtomicBool,
}

impl Launcher {
    /// Starts one. The socket is close-on-exec, so that what other threads start meanwhile does not inherit it.
    fn start(reaper: &ReaperProgram) -> Result<Self, Error> {
        let (socket, theirs) = StdUnixStream::pair().map_err(refused("create a socket"))?;
        // Longer than a few descriptors that wait for a fork need, unless it is stopped.
        socket.set_write_timeout(Some(FORK_TIMEOUT)).map_err(refused("prepare a socket"))?;
        let child = Command::new(&reaper.program)
            .args(&reaper.arguments)
            .env_clear()
            // A thread of a reaper then takes no memory of its own to allocate from. Programs get the environment of their request.
            .env("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")
            // Waiting, it must not keep anybody's folder in use.
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of reach of a Ctrl-C: the terminal would send it to the launcher as well.
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Reaper { program: reaper.program.clone(), source })?;
        Ok(Self { child: Mutex::new(Some(child)), socket, has_forked: AtomicBool::new(false) })
    }

    /// Asks for a reaper, and returns where it will answer.
    fn ask(&self, need: Need) -> Result<UnixStream, NotForked> {
        let (ours, theirs) = StdUnixStream::pair().map_err(NotForked::Refused)?;
        ours.set_nonblocking(true).map_err(NotForked::Refused)?;
        let control = UnixStream::from_std(ours).map_err(NotForked::Refused)?;
        wire::send_descriptors(self.socket.as_fd(), need as usize, &[theirs.as_fd()]).map_err(|error| {
            match error.kind() {
                // Nobody reads it, or nobody has for a while.
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::WouldBlock => {
                    NotForked::Lost(error)
                }
                _ => NotForked::Refused(error),
            }
        })?;
        // `theirs` ends here as the last one on this side: what the launcher does not pass on shows as the end of the socket.
        Ok(control)
    }

    async fn answer(&self, control: UnixStream) -> Result<Reaper, NotForked> {
        let answer = control.async_io(Interest::READABLE, || wire::receive_descriptors(control.as_fd()));
        let limit = if self.has_forked.load(Ordering::Relaxed) { FORK_TIMEOUT } else { START_TIMEOUT };
        let answer = timeout(limit, answer).await.unwrap_or_else(|elapsed| Err(elapsed.into()));
        let (number, mut received) = answer.map_err(NotForked::Lost)?;
        let number = i32::try_from(number).unwrap_or_default();
        let refusal = || NotForked::Refused(io::Error::from_raw_os_error(number));
        let handle = received.pop().ok_or_else(refusal)?;
        self.has_forked.store(true, Ordering::Relaxed);
        Ok(Reaper { pid: number, handle, control })
    }

    fn kill(&self) {
        if let Some(child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // It fails for one that is dead, which is what was wanted.
            let _ = child.start_kill();
        }
    }

    /// Ends it, unless it has ended already or another run did this.
    async fn end(&self) -> Option<ExitStatus> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        // It fails for one that is dead, which is what was wanted.
        let _ = child.start_kill();
        child.wait().await.ok()
    }
}

impl Drop for Launcher {
    /// Ends and reaps it. It holds nothing, so that a signal does no harm.
    fn drop(&mut self) {
        let Some(child) = self.child.get_mut().unwrap_or_else(PoisonError::into_inner) else { return };
        let _ = child.start_kill();
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(Ok(handle)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            // What lasts longer is left to the runtime.
            let _ = retry_on_intr(|| poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&END_TIMEOUT)));
        }
        let _ = child.try_wait();
    }
}

/// Why there is no reaper. None has seen a request then.
enum NotForked {
    /// The machine has no room for another process or descriptor.
    Refused(io::Error),
    /// The launcher does not answer.
    Lost(io::Error),
}
