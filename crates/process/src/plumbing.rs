//! Pipes, the socket and the reaper of a run. Moves no data after the request.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Sender;
use tokio::process::{Child, Command};

use crate::error::Error;
use crate::outlet::Outlet;
use crate::reaper::AHEAD;
use crate::spec::{ReaperProgram, Spec, Stdin};
use crate::sweep::TREE_VARIABLE;
use crate::wire::{self, Request};

/// Larger than what the system gives, for fewer switches in a flood; small enough for the quota of one user's pipes.
pub(crate) const PIPE_BYTES: usize = 512 << 10;

/// Ralph's ends of everything.
pub(crate) struct Plumbing {
    pub(crate) reaper: Child,
    pub(crate) control: UnixStream,
    pub(crate) stdin: Option<Sender>,
    pub(crate) stdout: Outlet,
    pub(crate) stderr: Outlet,
}

/// A reaper that was started and has nothing to do yet. It ends by itself when this is dropped.
#[derive(Debug)]
pub(crate) struct Reaper {
    child: Child,
    control: UnixStream,
    /// What made its program a reaper.
    arguments: Vec<OsString>,
}

/// When the stage that confines a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStage {
    /// When a request needs one.
    OnRequest,
    /// Before any request.
    Ahead,
}

impl Reaper {
    /// Starts one. The socket is close-on-exec, so that what other threads start meanwhile does not inherit it.
    pub(crate) fn start(reaper: &ReaperProgram, stage: NextStage) -> Result<Self, Error> {
        let (ours, theirs) = StdUnixStream::pair().map_err(refused("create a socket"))?;
        ours.set_nonblocking(true).map_err(refused("prepare a socket"))?;
        let control = UnixStream::from_std(ours).map_err(refused("watch a socket"))?;
        let mut command = Command::new(&reaper.program);
        command.args(&reaper.arguments);
        if stage == NextStage::Ahead {
            command.arg(AHEAD);
        }
        let child = command
            .env_clear()
            // Waiting, it must not keep anybody's folder in use.
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of reach of a Ctrl-C: the terminal would send it to the reaper as well.
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Reaper { program: reaper.program.clone(), source })?;
        Ok(Self { child, control, arguments: reaper.arguments.clone() })
    }

    /// Whether it still waits for something to do: an agent may have killed it.
    pub(crate) fn is_waiting(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

/// Hands a run to a reaper. All descriptors are close-on-exec from the start, and travel through the socket: what other
/// threads start meanwhile inherits none of them, and neither does the program.
pub(crate) async fn start(reaper: Reaper, spec: &Spec, tree: &str) -> Result<Plumbing, Error> {
    let (child_stdin, stdin) = input(&spec.stdin)?;
    let (stdout, child_stdout) = output()?;
    let (stderr, child_stderr) = output()?;
    let Reaper { child, control, arguments } = reaper;
    let mut plumbing = Plumbing { reaper: child, control, stdin, stdout, stderr };
    let mut descriptors = vec![child_stdin.as_fd(), child_stdout.as_fd(), child_stderr.as_fd()];
    descriptors.extend(spec.hold.iter().map(|descriptor| descriptor.as_fd()));
    send(&mut plumbing.control, &request(spec, tree, arguments), &descriptors).await?;
    Ok(plumbing)
}

fn request(spec: &Spec, tree: &str, arguments: Vec<OsString>) -> Vec<u8> {
    let mut environment = spec.environment.clone();
    environment.push((TREE_VARIABLE.into(), OsString::from(tree)));
    Request {
        program: spec.program.clone(),
        directory: spec.directory.clone(),
        environment,
        jail: spec.sandbox.as_ref().and_then(|sandbox| sandbox.jail(arguments)),
    }
    .encode()
}

async fn send(control: &mut UnixStream, request: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let sent = match wire::send_descriptors(control.as_fd(), request.len(), descriptors) {
        Ok(()) => control.write_all(request).await,
        Err(error) => Err(error),
    };
    match sent {
        // A reaper that is dead already is noticed where its first report is awaited.
        Err(error) if is_hangup(&error) => Ok(()),
        sent => sent.map_err(refused("hand a run to its supervisor process")),
    }
}

/// Whether the other side closed the connection.
pub(crate) fn is_hangup(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn input(stdin: &Stdin) -> Result<(OwnedFd, Option<Sender>), Error> {
    match stdin {
        Stdin::Empty => Ok((File::open("/dev/null").map_err(refused("open /dev/null"))?.into(), None)),
        Stdin::Bytes(_) | Stdin::Fed(_) => {
            let (theirs, ours) = pipe()?;
            Ok((theirs, Some(Sender::from_owned_fd(ours).map_err(refused("watch a pipe"))?)))
        }
    }
}

fn output() -> Result<(Outlet, OwnedFd), Error> {
    let (ours, theirs) = pipe()?;
    // Beyond the quota of this user the size stays as it is, which is slower and nothing else.
    let _ = fcntl_setpipe_size(&ours, PIPE_BYTES);
    Ok((Outlet::new(ours).map_err(refused("watch a pipe"))?, theirs))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| refused("create a pipe")(error.into()))
}

fn refused(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::System { what, source }
}
