//! What can go wrong in supervision itself. A program that fails is no error here.

use std::io;
use std::path::PathBuf;

/// Supervision failed. Whatever was started has been ended, unless [`Error::StillRunning`] says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write the log {path}: check the free space and the permissions there; the run was ended")]
    Log { path: PathBuf, source: io::Error },
    #[error(
        "could not create the log {path}, so the program was not started: check the free space and the permissions there"
    )]
    CreateLog { path: PathBuf, source: io::Error },
    #[error("could not start the supervisor process {program}: check that the file still exists and can be executed")]
    Reaper { program: PathBuf, source: io::Error },
    /// No supervisor process took the run.
    #[error("the supervisor process did not answer ({how}), so the program was not started")]
    NoReaper { how: String },
    #[error("the supervisor process ended unexpectedly ({how}); the run was ended")]
    ReaperLost { how: String },
    #[error("the supervisor process sent an unexpected message: is the installed program older than the running one?")]
    Protocol,
    #[error("could not {what}: too many files or processes may be open")]
    System { what: &'static str, source: io::Error },
    /// Processes of the tree cannot be ended by this user or are stuck in the kernel.
    #[error("processes of the run could not be ended; end them by hand: {}", list(.processes))]
    StillRunning { processes: Vec<i32> },
}

impl Error {
    /// Whether the program did not run at all.
    pub const fn is_before_start(&self) -> bool {
        match self {
            Self::CreateLog { .. } | Self::Reaper { .. } | Self::NoReaper { .. } | Self::System { .. } => true,
            Self::Log { .. } | Self::ReaperLost { .. } | Self::Protocol | Self::StillRunning { .. } => false,
        }
    }
}

fn list(processes: &[i32]) -> String {
    processes.iter().map(i32::to_string).collect::<Vec<_>>().join(" ")
}
