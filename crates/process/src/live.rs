//! A run while it is alive: its pipes, its socket and its clocks. Turns them into events and decides nothing about them.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use ralph_model::{Ended, Millis};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::feed::{Given, Input};
use crate::idle::{Found, Idle};
use crate::launcher::Reaper;
use crate::outlet::{Outlet, Read};
use crate::plumbing::Plumbing;
use crate::spec::{Spec, Stop, Stream};
use crate::tree;
use crate::wire::{Frames, Order, Report};

/// A reaper that has not ended its tree this long after it should have is stopped or stuck itself.
const REAPER_MARGIN: Duration = Duration::from_secs(10);
/// As good as never, for a timer that needs some moment, and for limits that no clock can add.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// What can happen while a tree is alive.
pub(crate) enum Event {
    Printed(Stream),
    MayFeed,
    StopAsked(Stop),
    LimitPassed(Ended),
    Reported(Report),
    /// What the reaper says is no report.
    Garbled,
    ReaperHangs,
    ReaperGone,
}

pub(crate) struct Live {
    reaper: Reaper,
    frames: Frames,
    stdin: Option<Input>,
    stdout: Outlet,
    stderr: Outlet,
    session: Option<i32>,
    phase: Phase,
    grace: Millis,
    /// What was asked for last: each wish is told once.
    heard: Option<Stop>,
    timer: Pin<Box<Sleep>>,
}

enum Phase {
    Running { timeout: Option<(Millis, Instant)>, idle: Option<(Millis, Idle)> },
    Ending { give_up_at: Instant },
}

impl Live {
    pub(crate) fn new(plumbing: Plumbing, spec: Spec, now: Instant) -> Self {
        Self {
            reaper: plumbing.reaper,
            frames: Frames::default(),
            // Without anything to give the pipe is dropped here, which is the end of the file.
            stdin: Input::new(plumbing.stdin, spec.stdin),
            stdout: plumbing.stdout,
            stderr: plumbing.stderr,
            session: None,
            phase: Phase::Running {
                timeout: spec.timeout.map(|limit| (limit, now + limit.as_std().min(FAR))),
                idle: spec.idle.map(|limit| (limit, Idle::new(limit.as_std().min(FAR), now))),
            },
            grace: spec.grace,
            heard: None,
            timer: Box::pin(sleep_until(now + FAR)),
        }
    }

    /// Waits for the next event. Loses nothing when it is dropped.
    pub(crate) async fn next(&mut self, stop: &mut watch::Receiver<Option<Stop>>) -> Event {
        loop {
            if let Some(event) = self.next_report() {
                return event;
            }
            let deadline = self.deadline();
            if self.timer.deadline() != deadline {
                self.timer.as_mut().reset(deadline);
            }
            tokio::select! {
                () = self.stdout.readable() => return Event::Printed(Stream::Stdout),
                () = self.stderr.readable() => return Event::Printed(Stream::Stderr),
                () = feedable(self.stdin.as_mut()) => return Event::MayFeed,
                // While it ends, too: somebody may want it sooner.
                asked = stopped(stop, self.heard) => {
                    self.heard = Some(asked);
                    return Event::StopAsked(asked);
                }
                () = self.timer.as_mut() => if let Some(event) = self.timer_fired() { return event },
                _ = self.reaper.control.readable() => if self.receive() == Socket::Closed { return Event::ReaperGone },
            }
        }
    }

    /// Reads what a pipe has at this moment.
    pub(crate) fn read(&mut self, stream: Stream, piece: &mut [u8]) -> Read {
        let read = match stream {
            Stream::Stdout => self.stdout.read(piece),
            Stream::Stderr => self.stderr.read(piece),
        };
        if let (Read::Bytes(_), Phase::Running { idle: Some((_, idle)), .. }) = (read, &mut self.phase) {
            idle.printed();
        }
        read
    }

    /// Reads what a pipe still holds when the tree is gone.
    pub(crate) fn read_rest(&self, stream: Stream, piece: &mut [u8]) -> Read {
        match stream {
            Stream::Stdout => self.stdout.read_rest(piece),
            Stream::Stderr => self.stderr.read_rest(piece),
        }
    }

    /// Gives the program as much of its input as it takes without waiting.
    pub(crate) fn feed(&mut self) {
        if self.stdin.as_mut().map(Input::give) == Some(Given::All) {
            self.stdin = None;
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    /// Tells the reaper to end the tree, with at most this much grace. Asked again it can only become less.
    pub(crate) async fn ask_to_end(&mut self, most: Millis) {
        let grace = self.grace.min(most);
        let patience = Instant::now() + grace.as_std().min(FAR) + REAPER_MARGIN;
        let give_up_at = match self.phase {
            Phase::Running { .. } => patience,
            Phase::Ending { give_up_at } => give_up_at.min(patience),
        };
        self.phase = Phase::Ending { give_up_at };
        // A reaper that cannot be told is dead, and the end of its socket says so.
        let _ = self.reaper.control.write_all(&Order::End { grace: grace.0 }.encode()).await;
    }

    pub(crate) fn started(&mut self, session: i32) {
        self.session = Some(session);
    }

    /// From now on there is only the rest of the tree to wait for.
    pub(crate) fn program_ended(&mut self) {
        if self.is_running() {
            self.phase = Phase::Ending { give_up_at: Instant::now() + REAPER_MARGIN };
        }
    }

    pub(crate) fn kill_reaper(&mut self) {
        self.phase = Phase::Ending { give_up_at: Instant::now() + FAR };
        // It fails for a reaper that is dead, which is what was wanted.
        let _ = pidfd_send_signal(&self.reaper.handle, Signal::KILL);
    }

    /// Waits for the end of the reaper itself, after which nothing is held any more.
    pub(crate) async fn reaped(&self) -> io::Result<()> {
        let handle = self.reaper.handle.try_clone()?;
        // It ends already: its socket is closed, or it was killed.
        let ended = move || retry_on_intr(|| poll(&mut [PollFd::new(&handle, PollFlags::IN)], None));
        tokio::task::spawn_blocking(ended).await?.map(drop).map_err(Into::into)
    }

    pub(crate) fn session(&self) -> Option<i32> {
        self.session
    }

    fn deadline(&self) -> Instant {
        match &self.phase {
            Phase::Running { timeout, idle } => {
                let timeout = timeout.map(|(_, at)| at);
                let look = idle.as_ref().map(|(_, idle)| idle.look_at());
                // The timer's own deadline stays when there is nothing to wait for.
                timeout.into_iter().chain(look).min().unwrap_or_else(|| self.timer.deadline())
            }
            Phase::Ending { give_up_at } => *give_up_at,
        }
    }

    fn timer_fired(&mut self) -> Option<Event> {
        let now = Instant::now();
        match &mut self.phase {
            Phase::Running { timeout: Some((after, at)), .. } if now >= *at => {
                Some(Event::LimitPassed(Ended::TimedOut { after: *after }))
            }
            Phase::Running { idle: Some((after, idle)), .. } => {
                let found = idle.look(now, tree::ticks(self.reaper.pid).ok());
                (found == Found::Idle).then_some(Event::LimitPassed(Ended::Idle { after: *after }))
            }
            Phase::Running { .. } => None,
            Phase::Ending { .. } => Some(Event::ReaperHangs),
        }
    }

    fn receive(&mut self) -> Socket {
        let mut buffer = [0; 512];
        match self.reaper.control.try_read(&mut buffer) {
            Ok(count) if count > 0 => {
                self.frames.received.extend_from_slice(&buffer[..count]);
                Socket::Open
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Socket::Open,
            Ok(_) | Err(_) => Socket::Closed,
        }
    }

    fn next_report(&mut self) -> Option<Event> {
        let report = match self.frames.next() {
            Ok(frame) => Report::decode(&frame?),
            Err(_) => None,
        };
        if report.is_none() {
            self.frames.received.clear();
        }
        Some(report.map_or(Event::Garbled, Event::Reported))
    }
}

#[derive(PartialEq, Eq)]
enum Socket {
    Open,
    Closed,
}

async fn feedable(input: Option<&mut Input>) {
    match input {
        Some(input) => input.ready().await,
        None => pending().await,
    }
}

/// Waits for a request that was not seen yet. None can come when the sender is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Option<Stop>>, heard: Option<Stop>) -> Stop {
    loop {
        if let Some(stop) = stop.borrow_and_update().filter(|stop| Some(*stop) != heard) {
            return stop;
        }
        if stop.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}
