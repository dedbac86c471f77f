//! Ralph's end of a pipe that a program prints to. Reads it; what comes of the bytes is not its duty.
//!
//! While it rests, the event loop does not watch it: it would wake up for everything that is printed, read or not.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::retry_on_intr;
use rustix::pipe::fcntl_getpipe_size;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until};

use crate::pace::{Next, Pace};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Bytes(usize),
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Outlet {
    pipe: OwnedFd,
    state: State,
    pace: Pace,
}

#[derive(Debug)]
enum State {
    /// By the event loop, through a descriptor of its own.
    Watched(Receiver),
    Resting {
        until: Instant,
    },
    /// There is no more to come.
    Ended,
}

impl Outlet {
    /// Takes the reading end of a pipe, and makes it one that does not wait.
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        let pace = Pace::new(fcntl_getpipe_size(&pipe)?, Instant::now());
        Ok(Self { state: State::Watched(watch(&pipe)?), pipe, pace })
    }

    /// Waits until it is worth a read. Never ends for a pipe that has ended. Loses nothing when it is dropped.
    pub(crate) async fn readable(&self) {
        match &self.state {
            // The error says that the runtime is going away; the read that follows meets it.
            State::Watched(watched) => drop(watched.readable().await),
            State::Resting { until } => sleep_until(*until).await,
            State::Ended => pending().await,
        }
    }

    pub(crate) fn read(&mut self, piece: &mut [u8]) -> Read {
        let read = match &self.state {
            State::Watched(watched) => watched.try_read(piece),
            State::Resting { .. } => take(&self.pipe, piece),
            State::Ended => return Read::Nothing,
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let next = self.pace.read_nothing();
                self.go_on(next);
                Read::Nothing
            }
            // A pipe has no other errors; one that had would have no more to give either.
            Ok(0) | Err(_) => {
                self.state = State::Ended;
                Read::Nothing
            }
            Ok(count) => {
                let next = self.pace.read(count, Instant::now());
                self.go_on(next);
                Read::Bytes(count)
            }
        }
    }

    /// Reads what it still holds when the tree is gone. Asks the kernel itself: what was written last may not have been
    /// announced to the event loop yet, which would take the pipe for empty.
    pub(crate) fn read_rest(&self, piece: &mut [u8]) -> Read {
        match take(&self.pipe, piece) {
            Ok(0) | Err(_) => Read::Nothing,
            Ok(count) => Read::Bytes(count),
        }
    }

    fn go_on(&mut self, next: Next) {
        match (&self.state, next) {
            (_, Next::At(until)) => self.state = State::Resting { until },
            (State::Resting { .. }, Next::AtOnce) => {
                // A system that watches no more pipes leaves this one to be looked at time and again.
                if let Ok(watched) = watch(&self.pipe) {
                    self.state = State::Watched(watched);
                }
            }
            (State::Watched(_) | State::Ended, Next::AtOnce) => {}
        }
    }
}

fn watch(pipe: &OwnedFd) -> io::Result<Receiver> {
    Receiver::from_owned_fd(pipe.try_clone()?)
}

fn take(pipe: &OwnedFd, piece: &mut [u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| rustix::io::read(pipe, &mut *piece))?)
}

#[cfg(test)]
#[path = "outlet_tests.rs"]
mod tests;
