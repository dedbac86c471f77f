//! The process between Ralph and a program: starts it, adopts whatever it leaves behind, and ends all of it.
//! Handles no output and keeps no journal, so that nothing here can fail while a tree is alive.
//!
//! Three threads share one inbox, and only the main thread decides:
//!
//! ```text
//!   listener: reads the socket ──► Order, SupervisorGone ─┐
//!   waiter:   blocks in wait() ──► ProgramEnded, AllGone ─┴─► main: run → grace → kill
//! ```
//!
//! A subreaper without children has no descendants either, so the kernel's "no child" is the proof that the tree is
//! gone. `/proc` is only used to find whom to signal, and a process that it misses is met again in the next round.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process_group, pidfd_open};

use crate::sandbox::{self, Begun, JAIL, Need, Stage, Waiting, jail_main};
use crate::tree::{self, Identity, Process, State};
use crate::wire::{self, Frames, Jail, Order, Report};
use crate::{launch, launcher};

/// How long processes that outlived their program have after being asked to end.
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// How long the tree has after being asked to end when Ralph died: all of it is to be gone within two seconds.
const ORPHANED_GRACE: Duration = Duration::from_millis(500);
/// After killing without success for this long, the reaper reports to the supervisor.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// How long processes that keep forking are left alone between two rounds of killing, at most.
const MAX_PAUSE: Duration = Duration::from_millis(20);
/// How many looks at its own children a reaper takes between two looks at the whole machine, at most.
const MAX_CHASES: u32 = 200;
/// How many rounds of stopping come before killing, at most.
const MAX_FREEZES: u32 = 64;

/// The whole life of a launcher and of its reapers: `ralph __reaper` calls this before anything else and exits with what it returns.
///
/// Its standard input has to be the socket of a [`crate::Supervisor`], which also gives the arguments.
pub fn reaper_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let ended = match (arguments.next(), arguments.next()) {
        (None, _) => launch::control_socket().and_then(|socket| launcher::serve(socket, reap)),
        (Some(stage), None) if stage == JAIL => launch::control_socket().and_then(jail_main),
        // The output of a reaper is not read: started by hand, it can only refuse.
        (Some(_), _) => return ExitCode::from(2),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What the main thread waits for.
enum Inbox {
    Order(Order),
    SupervisorGone,
    ProgramEnded { status: Report, left: Left },
    AllGone,
}

/// What there is beside the program at its end.
#[derive(PartialEq, Eq)]
enum Left {
    Nothing,
    Something,
}

/// The whole life of a reaper that was forked.
fn reap(mut socket: UnixStream, need: Need) -> io::Result<()> {
    match run(&socket, need) {
        Ok(None) => Ok(()),
        Ok(Some(stage)) => {
            // The end of the reaper has to show while the stage is at work.
            drop(socket);
            stage.run()
        }
        Err(error) => {
            let why = format!("its supervisor process failed: {error}");
            socket.write_all(&Report::NotStarted { why }.encode())
        }
    }
}

/// Runs the request that the socket brings. Returns in the stage of the program as well, and fails only before anything was started.
fn run(mut socket: &UnixStream, need: Need) -> io::Result<Option<Waiting>> {
    // What ends the group of another reaper, or of the launcher, is no reason to end this one.
    rustix::process::setpgid(None, None)?;
    // Any number but none turns it on.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    introduce(socket)?;
    // Forked here or below, because later there are other threads.
    let ahead = match Stage::ahead(need) {
        Some(Begun::Stage(stage)) => return Ok(Some(stage)),
        Some(Begun::Reaper(stage)) => Some(stage),
        Some(Begun::Unconfined) | None => None,
    };
    let (mut request, mut descriptors) = wire::receive_request(&mut socket)?;
    if descriptors.len() < 3 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // What remains after the three is held until the tree is gone.
    let mut held = descriptors.split_off(3);
    let has_bridge = request.jail.as_ref().is_some_and(Jail::has_bridge) && !held.is_empty();
    let bridge = has_bridge.then(|| held.remove(0));
    let Ok(outputs) = <[OwnedFd; 3]>::try_from(descriptors) else { return Err(io::ErrorKind::InvalidData.into()) };

    let stage = match sandbox::begin(&mut request, &outputs, bridge.as_ref(), ahead) {
        Ok(Begun::Unconfined) => None,
        Ok(Begun::Reaper(stage)) => Some(stage),
        Ok(Begun::Stage(stage)) => return Ok(Some(stage)),
        Err(why) => return not_started(socket, why),
    };

    let (sender, inbox) = mpsc::channel();
    let (go, started) = mpsc::channel();
    let listener = (socket.try_clone()?, sender.clone());
    // Threads come first: when there can be none, nothing has been started that would need them.
    let threads = thread::Builder::new().spawn(move || listen(listener.0, &listener.1)).and_then(|_| {
        thread::Builder::new().spawn(move || {
            // A failed start drops the other end; then there is nothing to wait for.
            if let Ok(program) = started.recv() {
                wait_for_all(program, &sender);
            }
        })
    });
    threads.map_err(|error| io::Error::other(format!("could not start a thread: {error}")))?;

    let program = match launch::start(&request, outputs, stage) {
        Ok(program) => program,
        Err(why) => return not_started(socket, why),
    };
    drop(bridge);
    let mut reaping = Reaping { inbox, socket, program, ended: Program::Runs, swept: HashSet::new() };
    reaping.tell(&Report::Started { pid: program });
    // The kernel tears mounts down with their last user, and lets that one wait for all processors: this process, after its last report.
    let has_mounts = request.jail.as_ref().is_some_and(|jail| jail.own_mounts);
    let _mounts = has_mounts.then(|| File::open(format!("/proc/{program}/ns/mnt")));
    // The waiter lives as long as its own end of this channel, and it was started above.
    let _ = go.send(program);
    reaping.until_gone();
    // Before the report: its reader relies on nothing being held for a tree that is gone.
    drop(held);
    reaping.tell(&Report::Gone { swept: u32::try_from(reaping.swept.len()).unwrap_or(u32::MAX) });
    Ok(None)
}

fn not_started(mut socket: &UnixStream, why: String) -> io::Result<Option<Waiting>> {
    socket.write_all(&Report::NotStarted { why }.encode())?;
    Ok(None)
}

/// Tells the supervisor who this is, with a handle by which it sees the end of this process.
fn introduce(socket: &UnixStream) -> io::Result<()> {
    let own = rustix::process::getpid();
    let handle = pidfd_open(own, PidfdFlags::empty())?;
    let number = usize::try_from(own.as_raw_nonzero().get()).map_err(io::Error::other)?;
    wire::send_descriptors(socket.as_fd(), number, &[handle.as_fd()])
}

/// Turns what arrives on the socket into messages, and its end into the last one.
fn listen(mut socket: UnixStream, inbox: &Sender<Inbox>) {
    let mut frames = Frames::default();
    let mut buffer = [0; 256];
    loop {
        let received = match socket.read(&mut buffer) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        frames.received.extend_from_slice(&buffer[..received]);
        loop {
            let message = match frames.next() {
                Ok(None) if received > 0 => break,
                Ok(Some(frame)) => Order::decode(&frame).map_or(Inbox::SupervisorGone, Inbox::Order),
                // A supervisor with another protocol cannot be obeyed, and a tree without a supervisor must not survive.
                Ok(None) | Err(_) => Inbox::SupervisorGone,
            };
            let last = matches!(message, Inbox::SupervisorGone);
            if inbox.send(message).is_err() || last {
                return;
            }
        }
    }
}

/// Reaps every child, adopted ones too, until there is none.
fn wait_for_all(program: i32, inbox: &Sender<Inbox>) {
    let mut options = WaitOptions::empty();
    let mut ended = None;
    loop {
        let message = match rustix::process::wait(options) {
            Err(Errno::INTR) => continue,
            Ok(Some((pid, status))) => {
                if pid.as_raw_nonzero().get() == program {
                    ended = Some(describe(status));
                    // Without waiting, what is left can be told in the same breath; usually that is nothing.
                    options = WaitOptions::NOHANG;
                }
                continue;
            }
            Ok(None) => {
                options = WaitOptions::empty();
                let Some(status) = ended.take() else { continue };
                Inbox::ProgramEnded { status, left: Left::Something }
            }
            // There are no children: nothing else can fail here.
            Err(_) => match ended.take() {
                Some(status) => Inbox::ProgramEnded { status, left: Left::Nothing },
                None => Inbox::AllGone,
            },
        };
        let last = matches!(message, Inbox::AllGone | Inbox::ProgramEnded { left: Left::Nothing, .. });
        if inbox.send(message).is_err() || last {
            return;
        }
    }
}

fn describe(status: WaitStatus) -> Report {
    match status.terminating_signal() {
        Some(signal) => Report::Signalled { signal },
        None => Report::Exited { code: status.exit_status().unwrap_or(-1) },
    }
}

/// The main thread's view of a running tree.
struct Reaping<'a> {
    inbox: Receiver<Inbox>,
    socket: &'a UnixStream,
    program: i32,
    ended: Program,
    /// Processes that were signalled after the program had ended.
    swept: HashSet<Identity>,
}

/// Whether the program itself has ended.
#[derive(PartialEq, Eq)]
enum Program {
    Runs,
    Ended,
}

/// Whether there is still something to do.
#[derive(PartialEq, Eq)]
enum Tree {
    Alive,
    Gone,
}

impl Reaping<'_> {
    fn until_gone(&mut self) {
        let Some(mut deadline) = self.run() else { return };
        loop {
            match self.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Inbox::Order(Order::End { grace })) => {
                    deadline = deadline.min(after(grace));
                }
                Ok(Inbox::SupervisorGone) => deadline = deadline.min(Instant::now() + ORPHANED_GRACE),
                Ok(Inbox::ProgramEnded { status, left }) => {
                    if self.program_ended(&status, &left) == Tree::Gone {
                        return;
                    }
                }
                Ok(Inbox::AllGone) => return,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        self.kill();
    }

    /// Lets the program run until there is a reason to end the tree. Gives the moment at which killing starts.
    fn run(&mut self) -> Option<Instant> {
        let deadline = match self.inbox.recv() {
            Ok(Inbox::Order(Order::End { grace })) => after(grace),
            Ok(Inbox::ProgramEnded { status, left }) => match self.program_ended(&status, &left) {
                Tree::Gone => return None,
                Tree::Alive => Instant::now() + LEFTOVER_GRACE,
            },
            Ok(Inbox::AllGone) => return None,
            Ok(Inbox::SupervisorGone) | Err(_) => Instant::now() + ORPHANED_GRACE,
        };
        self.signal_tree(Signal::TERM);
        // A stopped process acts on the request only when it goes on.
        self.signal_tree(Signal::CONT);
        Some(deadline)
    }

    fn program_ended(&mut self, status: &Report, left: &Left) -> Tree {
        self.ended = Program::Ended;
        self.tell(status);
        if *left == Left::Nothing { Tree::Gone } else { Tree::Alive }
    }

    /// Kills until the kernel says that no child is left.
    fn kill(&mut self) {
        let since = Instant::now();
        let mut pause = Duration::from_millis(2);
        let mut told = false;
        loop {
            freeze();
            self.signal_tree(Signal::KILL);
            self.chase();
            let next_round = Instant::now() + pause;
            loop {
                match self.inbox.recv_timeout(next_round.saturating_duration_since(Instant::now())) {
                    Ok(Inbox::AllGone) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(Inbox::ProgramEnded { status, left }) => {
                        if self.program_ended(&status, &left) == Tree::Gone {
                            return;
                        }
                    }
                    Ok(Inbox::Order(_) | Inbox::SupervisorGone) => {}
                    Err(RecvTimeoutError::Timeout) => break,
                }
            }
            pause = (pause * 2).min(MAX_PAUSE);
            if !told && since.elapsed() >= STUCK_AFTER {
                told = true;
                let processes = tree().unwrap_or_default().iter().map(|process| process.pid).collect();
                self.tell(&Report::Stuck { processes });
            }
        }
    }

    /// Kills children as fast as they appear. A process that forks and exits at once is adopted at once, and has forked again before a
    /// look at the whole machine is done; the list of one's own children is short.
    fn chase(&mut self) {
        for _ in 0..MAX_CHASES {
            let children = tree::children(rustix::process::getpid().as_raw_nonzero().get());
            let mut alive = children.iter().filter(|child| child.state == State::Alive).peekable();
            if alive.peek().is_none() {
                return;
            }
            for child in alive {
                if self.ended == Program::Ended {
                    self.swept.insert(child.identity());
                }
                // Refused for processes of another user; those are named when killing fails as well.
                let _ = child.signal(Signal::KILL);
            }
        }
    }

    fn signal_tree(&mut self, signal: Signal) {
        let Ok(tree) = tree() else {
            // Without `/proc` (the machine is out of file handles) the group of the program is still within reach, while
            // the program lives and its number is not another's.
            if let (Program::Runs, Some(group)) = (&self.ended, Pid::from_raw(self.program)) {
                let _ = kill_process_group(group, signal);
            }
            return;
        };
        for process in tree {
            if self.ended == Program::Ended && process.state == State::Alive {
                self.swept.insert(process.identity());
            }
            // Refused for processes of another user; those are named when killing fails as well.
            let _ = process.signal(signal);
        }
    }

    fn tell(&mut self, report: &Report) {
        // When the other end is closed, the listener thread has noticed too.
        let _ = self.socket.write_all(&report.encode());
    }
}

/// Everything that the program left in the world.
fn tree() -> io::Result<Vec<Process>> {
    tree::descendants(rustix::process::getpid().as_raw_nonzero().get())
}

/// Stops processes until a look finds no new one: what is stopped cannot fork away from the killing that follows.
fn freeze() {
    let mut stopped = HashSet::new();
    for _ in 0..MAX_FREEZES {
        let Ok(tree) = tree() else { return };
        let new: Vec<&Process> = tree.iter().filter(|process| stopped.insert(process.identity())).collect();
        if new.is_empty() {
            return;
        }
        for process in new {
            // Refused for processes of another user; those are named when killing fails as well.
            let _ = process.signal(Signal::STOP);
        }
    }
}

/// The moment after a grace of so many milliseconds. A day is as good as for ever, and a clock can add it.
fn after(grace: u64) -> Instant {
    Instant::now() + Duration::from_millis(grace.min(86_400_000))
}

#[cfg(test)]
#[path = "reaper_tests.rs"]
mod tests;
