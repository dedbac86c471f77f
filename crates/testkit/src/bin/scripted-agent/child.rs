//! Processes that the agent leaves behind.
//!
//! A fork needs unsafe code, so this program starts itself with a hidden role. The agent goes on only when the child is
//! what it shall be (in its session, deaf, detached): the child says so over a socket that is its standard input.
//!
//! ```text
//! agent ──► --child                           fork
//! agent ──► --between ──► --child             double fork; the one between ends at once, and the agent reaps it
//! ```

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use ralph_testkit::{Child, Session, Stdout};

use crate::{perform, signals};

const CHILD: &str = "--child";
const BETWEEN: &str = "--between";

/// What a process of this program is when it is not the agent.
pub(crate) enum Role {
    Child(Box<Child>),
    Between { child: OsString, script: OsString },
}

impl Role {
    /// The role that the command line gives, if it does.
    pub(crate) fn of(arguments: &[OsString]) -> Option<Result<Self>> {
        match arguments {
            [role, child, script] if role == BETWEEN => {
                Some(Ok(Self::Between { child: child.clone(), script: script.clone() }))
            }
            [role, child, _] if role == CHILD => {
                let child =
                    serde_json::from_slice(child.as_encoded_bytes()).context("could not read what the child does");
                Some(child.map(|child| Self::Child(Box::new(child))))
            }
            _ => None,
        }
    }

    pub(crate) fn play(self) -> Result<ExitCode> {
        match self {
            Self::Child(child) => live(&child)?,
            Self::Between { child, script } => {
                let mut command = signals::this_program(&[])?;
                command.args([CHILD.into(), child, script]);
                // Not waited for: that is the point.
                command.spawn().context("could not start a grandchild")?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Birth {
    Fork,
    DoubleFork,
}

/// Starts a child and waits until it has settled.
pub(crate) fn start(child: &Child, birth: Birth, script: &Path) -> Result<()> {
    let mut child = child.clone();
    if birth == Birth::DoubleFork {
        child.session = Session::Own;
    }
    let (here, there) = UnixStream::pair().context("could not create a socket")?;
    let words = serde_json::to_string(&child).context("could not describe a child")?;
    let mut command = signals::this_program(&child.ignore)?;
    command.arg(if birth == Birth::Fork { CHILD } else { BETWEEN }).arg(words);
    // Unused there, but it makes the process recognisable by its command line.
    command.arg(script);
    command.stdin(OwnedFd::from(there));
    if child.stdout == Stdout::Closed {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut started = command.spawn().context("could not start a child")?;
    // Holds the socket's other end, which has to be closed for a child that dies early to be noticed.
    drop(command);
    if birth == Birth::DoubleFork {
        started.wait().context("could not wait for the process between")?;
    }
    let mut pid = String::new();
    BufReader::new(here).read_line(&mut pid).context("could not hear from a child")?;
    let pid: u32 = pid.trim().parse().context("a child ended too early")?;
    match &child.pid_file {
        Some(path) => perform::put_in_place(path, pid.to_string().as_bytes()),
        None => Ok(()),
    }
}

fn live(child: &Child) -> Result<()> {
    if child.session == Session::Own {
        rustix::process::setsid().context("could not leave the session")?;
    }
    announce()?;
    thread::sleep(Duration::from_millis(child.delay_ms));
    if let Some(file) = &child.write {
        perform::write(&file.path, file.text.as_bytes())?;
    }
    thread::sleep(Duration::from_millis(child.stay_ms));
    Ok(())
}

/// Tells the agent that this child has settled, then gives the socket up so that the agent hears nothing more.
fn announce() -> Result<()> {
    let failed = "could not tell the agent";
    let socket = io::stdin().as_fd().try_clone_to_owned().context(failed)?;
    writeln!(UnixStream::from(socket), "{}", std::process::id()).context(failed)?;
    let nothing = fs::File::open("/dev/null").context(failed)?;
    rustix::stdio::dup2_stdin(nothing).context(failed)
}
