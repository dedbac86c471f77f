//! A network of the process's own: a loopback and nothing else. Touches no network that was there before.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// In every new network the loopback is the first device.
const LOOPBACK: u32 = 1;
const IFF_UP: u32 = 1;
const RTM_NEWLINK: u16 = 16;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;

/// Moves this process, which must have one thread only, into a new network. There is no way back.
pub(super) fn leave() -> Result<(), String> {
    separate().map_err(|error| format!("could not create a network namespace: {error}"))?;
    raise_loopback().map_err(|error| format!("could not enable the loopback interface: {error}"))
}

fn separate() -> io::Result<()> {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => Ok(()),
        Err(nix::Error::EPERM) => separate_as_user(),
        Err(error) => Err(error.into()),
    }
}

/// Only a user namespace gives an ordinary user the right to a network. Inside, the user stays who he is.
fn separate_as_user() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    // Without this a process may not choose the groups of a namespace: groups can also take rights away.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn raise_loopback() -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &raise_request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 512];
    let (received, _) = rustix::io::retry_on_intr(|| recv(&socket, &mut answer, RecvFlags::empty()))?;
    acknowledged(&answer[..received.min(answer.len())])
}

/// A `nlmsghdr` with an `ifinfomsg`: turn this device on.
fn raise_request() -> Vec<u8> {
    let mut interface = Vec::new();
    // Family, padding and kind of the device: any.
    interface.extend([0; 4]);
    interface.extend(LOOPBACK.to_ne_bytes());
    // The flags, then which of them shall change.
    interface.extend(IFF_UP.to_ne_bytes());
    interface.extend(IFF_UP.to_ne_bytes());
    let mut message = Vec::new();
    message.extend((16 + interface.len() as u32).to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    // The number of the message, and no address.
    message.extend([0; 8]);
    message.extend(interface);
    message
}

/// The answer is an error message whose number is zero when there was none.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)));
    let error = answer.get(16..20).and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    match (kind, error) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
        _ => Err(Errno::BADMSG.into()),
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
