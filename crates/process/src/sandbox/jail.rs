//! The stage between reaper and program: restricts itself, then becomes the program. Has one thread and starts nothing.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

use rustix::thread::CapabilitySet;

use super::{Need, Network, landlock, mounts, network};
use crate::launch;
use crate::wire::{self, Report, Request};

/// The argument that makes a reaper this stage.
pub(crate) const JAIL: &str = "jail";

/// What root could use to undo mounts, to enter the namespaces and the memory of others, or to reach devices and the kernel
/// past all files. What it needs to work with files, users and networks is not among them.
const WAYS_OUT: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::SYS_MODULE)
    .union(CapabilitySet::SYS_BOOT)
    .union(CapabilitySet::BPF);

/// What the reaper sends when the program may be executed.
pub(super) const GO: [u8; 1] = [1];

/// The whole life of a stage that was executed.
pub(crate) fn jail_main(socket: UnixStream) -> io::Result<()> {
    run(socket, None, true)
}

/// A stage that was forked, before it has its request.
pub(crate) struct Waiting {
    pub(super) socket: UnixStream,
    pub(super) need: Need,
}

impl Waiting {
    /// Makes what the program needs whatever its request says, and waits for that. Returns only when the program could not be started.
    pub(crate) fn run(self) -> io::Result<()> {
        let network = (self.need == Need::Network).then(own_network);
        run(self.socket, network, false)
    }
}

/// Receives the request with everything that the program gets, and becomes the program; where that is impossible says so. `network` is
/// what came of making one, `waits` whether to ask before it becomes the program.
fn run(mut socket: UnixStream, network: Option<Result<(), String>>, waits: bool) -> io::Result<()> {
    let (request, mut descriptors) = wire::receive_request(&mut socket)?;
    let bridge = (descriptors.len() > 3).then(|| descriptors.pop()).flatten();
    let Ok(outputs) = <[OwnedFd; 3]>::try_from(descriptors) else { return Err(io::ErrorKind::InvalidData.into()) };
    let why = match confine(&request, bridge, network) {
        Ok(()) => become_program(&request, outputs, &mut socket, waits)?,
        Err(why) => why,
    };
    socket.write_all(&Report::NotStarted { why }.encode())
}

fn own_network() -> Result<(), String> {
    mounts::separate(true, false)?;
    network::raise()
}

fn confine(request: &Request, bridge: Option<OwnedFd>, network: Option<Result<(), String>>) -> Result<(), String> {
    let Some(jail) = &request.jail else { return Err("nothing is asked for".into()) };
    rustix::process::setsid().map_err(|error| format!("could not create a session: {error}"))?;
    // With bubblewrap the network is a new one already, and so are the mounts.
    if jail.bubblewrap.is_none() {
        if jail.network != Network::Allowed {
            network.unwrap_or_else(own_network)?;
        }
        mounts::separate(false, jail.own_mounts)?;
        if jail.own_mounts {
            mounts::hide(jail)?;
        }
    }
    if let Network::Ports(ports) = &jail.network {
        network::listen(ports, bridge)?;
    }
    // Last: from here on not even the map of a user namespace can be written.
    if jail.landlock.is_some() {
        landlock::restrict(jail)?;
    }
    if jail.landlock.is_some() || jail.bubblewrap.is_some() {
        give_up(WAYS_OUT).map_err(|error| format!("could not drop capabilities: {error}"))?;
    }
    Ok(())
}

/// Gives up capabilities. Both Landlock and bubblewrap see to it that executing something does not bring them back.
fn give_up(capabilities: CapabilitySet) -> io::Result<()> {
    let mut sets = rustix::thread::capabilities(None)?;
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        set.remove(capabilities);
    }
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Executes the program, which closes the socket: its reader knows then that the program runs. Gives why it does not.
fn become_program(
    request: &Request,
    [stdin, stdout, stderr]: [OwnedFd; 3],
    socket: &mut UnixStream,
    waits: bool,
) -> io::Result<String> {
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)?;
    socket.write_all(&Report::Started { pid: rustix::process::getpid().as_raw_nonzero().get() }.encode())?;
    if waits {
        // The process between this one and the reaper ends first, or it would see the end of the program instead.
        socket.read_exact(&mut [0; GO.len()])?;
    }
    let error = launch::command(request).exec();
    Ok(launch::why_not(request, &error))
}
