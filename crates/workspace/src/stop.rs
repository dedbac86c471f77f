//! Requests to stop, for steps that can take long: each looks for one at every file and every piece of a large file.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::Error;

/// A step that is about to end anyway ends: what an agent did until it was stopped is recorded.
const GRACE: Duration = Duration::from_millis(700);

/// A request to stop, shared with the steps that have to hear it.
#[derive(Debug, Clone)]
pub struct StopFlag {
    requested: Arc<AtomicBool>,
    grace: Duration,
}

impl Default for StopFlag {
    fn default() -> Self {
        Self::with_grace(GRACE)
    }
}

impl StopFlag {
    /// A flag whose steps may take `grace` to end by themselves after they have seen the request.
    pub fn with_grace(grace: Duration) -> Self {
        Self { requested: Arc::default(), grace }
    }

    /// Asks every step to stop that is under way or is begun from now on.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// The same request, for steps whose end is worth nothing: they end at once.
    pub(crate) fn at_once(&self) -> Self {
        Self { grace: Duration::ZERO, ..self.clone() }
    }

    pub(crate) fn step(&self) -> Poll {
        Poll { flag: self.clone(), heard: OnceLock::new() }
    }
}

/// One step that can be stopped.
#[derive(Debug)]
pub(crate) struct Poll {
    flag: StopFlag,
    /// When the request was first seen.
    heard: OnceLock<Instant>,
}

impl Poll {
    /// Fails when the step has to end now.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_over() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The same where only the errors of the system can be passed on. [`Error::io`] knows it again.
    pub(crate) fn check_io(&self) -> io::Result<()> {
        if self.is_over() { Err(io::Error::other(Stopped)) } else { Ok(()) }
    }

    /// Whether the step has to end now.
    pub(crate) fn is_over(&self) -> bool {
        self.flag.is_requested() && self.heard.get_or_init(Instant::now).elapsed() >= self.flag.grace
    }
}

/// A request to stop on its way through an error of the system.
#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

/// Whether an error of the system is a request to stop.
pub(crate) fn is_stop(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}
