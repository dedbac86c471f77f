//! What to run and what came of it. Starts nothing.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_model::{Ended, Millis};

use crate::feed::Feed;
use crate::sandbox::Sandbox;
use ralph_text::ChunkCodec;

#[derive(Debug, Clone)]
pub struct Spec {
    /// The program and its arguments. A name without a slash is looked up in the `PATH` of [`Spec::environment`].
    pub program: Vec<OsString>,
    pub directory: PathBuf,
    /// Its complete environment, to which only [`crate::TREE_VARIABLE`] is added. Nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    pub stdin: Stdin,
    /// The file that gets both outputs in the order in which they came, redacted and inert.
    pub log: PathBuf,
    /// How it tells words in pieces on its standard output, if it does: a secret that is cut into pieces is found by no redactor.
    pub pieces: Option<Pieces>,
    /// How many bytes of output the log keeps. A line marks the place where it was cut.
    pub log_limit: u64,
    /// How many bytes of the end of each output are kept in memory.
    pub tail: usize,
    pub timeout: Option<Millis>,
    /// How long it may neither print nor use processor time.
    pub idle: Option<Millis>,
    /// How long the tree has between being asked to end and being killed.
    pub grace: Millis,
    /// Descriptors that stay open until the tree is gone, even when Ralph dies first. The program never gets them.
    pub hold: Vec<Arc<OwnedFd>>,
    /// What it may write and reach; everything that its user may, without one.
    pub sandbox: Option<Sandbox>,
}

impl Spec {
    /// The program and arguments for a line of shell, for [`Spec::program`].
    pub fn shell(line: &str) -> Vec<OsString> {
        ["/bin/sh", "-c", line].map(OsString::from).to_vec()
    }
}

/// How a program tells words in pieces.
#[derive(Debug, Clone, Copy)]
pub enum Pieces {
    /// They are told again as a whole: these lines are left out of the log.
    ToldAgain(fn(&str) -> bool),
    /// They are told in pieces only: what could be part of a secret goes on with a later piece.
    ToldOnce(ChunkCodec),
}

/// What a program can read on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// The end of the file, at once.
    Empty,
    /// These bytes, then the end of the file. A program that does not read them is no fault.
    Bytes(Vec<u8>),
    /// What is given while it runs, then the end of the file; see [`crate::feed`].
    Fed(Feed),
}

/// Which output a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Why somebody ends a run early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A person or a caller asked for it.
    Requested,
    BudgetSpent,
    /// It only tries the same thing again.
    Hopeless,
    /// It told nothing for this long, although it may have been busy.
    Silent {
        after: Millis,
    },
    /// It has done what it was asked for and does not end by itself.
    Done,
}

impl From<Stop> for Ended {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Requested => Self::Stopped,
            Stop::BudgetSpent => Self::BudgetSpent,
            Stop::Hopeless => Self::Hopeless,
            Stop::Silent { after } => Self::Idle { after },
            // As good as an end of its own: nothing was left to do.
            Stop::Done => Self::Exited { code: 0 },
        }
    }
}

/// What came of a run. Nothing of its tree is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub ended: Ended,
    /// From the start until the program ended.
    pub duration: Millis,
    /// The end of its standard output, redacted and inert.
    pub stdout: String,
    /// The end of its standard error, redacted and inert.
    pub stderr: String,
    pub output: Recorded,
    pub swept: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// How many bytes the tree wrote.
    pub bytes: u64,
    /// SHA-256 of the log file, in hexadecimal.
    pub sha256: String,
    /// Whether the log ends before the output did.
    pub cut: bool,
}

/// How to start a reaper: a program that calls [`crate::reaper_main`] with the arguments after these. Its environment is
/// empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaperProgram {
    pub program: PathBuf,
    /// What makes it a reaper, usually `__reaper`.
    pub arguments: Vec<OsString>,
}
