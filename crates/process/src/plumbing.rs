//! Pipes and the socket of a run. Moves no data after the request.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Sender;

use crate::bridge::Bridge;
use crate::error::Error;
use crate::launcher::Reaper;
use crate::outlet::Outlet;
use crate::sandbox::Network;
use crate::spec::{Spec, Stdin};
use crate::sweep::TREE_VARIABLE;
use crate::wire::{self, Request};

/// Larger than what the system gives, for fewer switches in a flood; small enough for the quota of one user's pipes.
pub(crate) const PIPE_BYTES: usize = 512 << 10;

/// Ralph's ends of everything.
pub(crate) struct Plumbing {
    pub(crate) reaper: Reaper,
    pub(crate) stdin: Option<Sender>,
    pub(crate) stdout: Outlet,
    pub(crate) stderr: Outlet,
    /// Connects the network of the program to the ports that it may reach.
    pub(crate) bridge: Option<Bridge>,
}

/// Hands a run to a reaper. All descriptors are close-on-exec from the start, and travel through the socket: what other
/// threads start meanwhile inherits none of them, and neither does the program.
pub(crate) async fn start(reaper: Reaper, arguments: &[OsString], spec: &Spec, tree: &str) -> Result<Plumbing, Error> {
    let (child_stdin, stdin) = input(&spec.stdin)?;
    let (stdout, child_stdout) = output()?;
    let (stderr, child_stderr) = output()?;
    let request = request(spec, tree, arguments.to_vec());
    let (bridge, child_bridge) = match request.jail.as_ref().map(|jail| &jail.network) {
        Some(Network::Ports(ports)) => Bridge::open(ports.clone()).map_err(refused("create a socket"))?,
        Some(Network::Allowed | Network::Loopback) | None => (None, None),
    };
    let mut plumbing = Plumbing { reaper, stdin, stdout, stderr, bridge };
    let mut descriptors = vec![child_stdin.as_fd(), child_stdout.as_fd(), child_stderr.as_fd()];
    descriptors.extend(child_bridge.as_ref().map(AsFd::as_fd));
    descriptors.extend(spec.hold.iter().map(|descriptor| descriptor.as_fd()));
    send(&mut plumbing.reaper.control, &request.encode(), &descriptors).await?;
    Ok(plumbing)
}

fn request(spec: &Spec, tree: &str, arguments: Vec<OsString>) -> Request {
    let mut environment = spec.environment.clone();
    environment.push((TREE_VARIABLE.into(), OsString::from(tree)));
    Request {
        program: spec.program.clone(),
        directory: spec.directory.clone(),
        environment,
        jail: spec.sandbox.as_ref().and_then(|sandbox| sandbox.jail(arguments)),
    }
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

pub(crate) fn refused(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::System { what, source }
}
