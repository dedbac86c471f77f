//! The words between supervisor and reaper, as bytes on one socket. Knows nothing about processes.
//!
//! Every message is a frame: its length as four bytes, then its content. Before the first one, a reaper sends its number with a handle
//! of itself. The length of the request travels together with the descriptors, so that they arrive before anything that needs them, and close-on-exec from the first moment:
//! no process that another thread starts meanwhile can inherit one.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use crate::sandbox::Network;

/// The kernel passes no more descriptors than this in one message.
pub(crate) const MAX_DESCRIPTORS: usize = 253;

/// A frame longer than this is no frame: arguments and environment together cannot be longer in Linux either.
const MAX_BYTES: usize = 64 << 20;

/// What the reaper is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) program: Vec<OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) jail: Option<Jail>,
}

/// What the program is to be confined by. All of it has to work, or the program is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Jail {
    /// What makes the program of the reaper a reaper.
    pub(crate) arguments: Vec<OsString>,
    pub(crate) bubblewrap: Option<PathBuf>,
    /// The version of Landlock that was found, if it is to be used.
    pub(crate) landlock: Option<u32>,
    /// The stage makes the mounts that hide files itself.
    pub(crate) own_mounts: bool,
    pub(crate) network: Network,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
}

/// What the supervisor wants after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ask the tree to end, and kill what is left after this many milliseconds.
    End { grace: u64 },
}

/// What the reaper tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The program runs and leads a session of this number.
    Started { pid: i32 },
    /// The program could not be started.
    NotStarted { why: String },
    /// The program exited.
    Exited { code: i32 },
    /// The program was ended by a signal.
    Signalled { signal: i32 },
    /// Nothing is left of the tree; this many processes outlived the program and were ended.
    Gone { swept: u32 },
    /// These processes cannot be ended.
    Stuck { processes: Vec<i32> },
}

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_all(&mut out, &self.program);
        put(&mut out, self.directory.as_os_str().as_bytes());
        put_count(&mut out, self.environment.len());
        for (name, value) in &self.environment {
            put(&mut out, name.as_bytes());
            put(&mut out, value.as_bytes());
        }
        put_count(&mut out, usize::from(self.jail.is_some()));
        if let Some(jail) = &self.jail {
            jail.encode(&mut out);
        }
        out
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let from = &mut bytes;
        let program = take_all(from)?;
        let directory = take_text(from)?.into();
        let variables = take_count(from)?;
        let environment = (0..variables).map(|_| Some((take_text(from)?, take_text(from)?))).collect::<Option<_>>()?;
        let jail = match take_count(from)? {
            0 => None,
            _ => Some(Jail::decode(from)?),
        };
        from.is_empty().then_some(Self { program, directory, environment, jail })
    }
}

impl Jail {
    /// Whether a socket that leads outside comes with the request, after the three of the program.
    pub(crate) fn has_bridge(&self) -> bool {
        matches!(self.network, Network::Ports(_))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_all(out, &self.arguments);
        put_all(out, self.bubblewrap.as_slice());
        // No version is zero.
        out.extend_from_slice(&self.landlock.unwrap_or(0).to_le_bytes());
        put_count(out, usize::from(self.own_mounts));
        let ports: &[u16] = match &self.network {
            Network::Allowed => &[],
            // No port is zero.
            Network::Loopback => &[0],
            Network::Ports(ports) => ports,
        };
        put_count(out, ports.len());
        ports.iter().for_each(|port| out.extend_from_slice(&port.to_le_bytes()));
        put_all(out, &self.writable);
        put_all(out, &self.hidden);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let arguments = take_all(from)?;
        let bubblewrap = take_all(from)?.pop();
        let landlock = u32::try_from(take_count(from)?).ok().filter(|version| *version > 0);
        let own_mounts = take_count(from)? > 0;
        let ports = take_count(from)?;
        let ports = (0..ports).map(|_| take_port(from)).collect::<Option<Vec<u16>>>()?;
        let network = match ports.as_slice() {
            [] => Network::Allowed,
            [0] => Network::Loopback,
            _ => Network::Ports(ports),
        };
        let (writable, hidden) = (take_all(from)?, take_all(from)?);
        Some(Self { arguments, bubblewrap, landlock, own_mounts, network, writable, hidden })
    }
}

impl Order {
    pub(crate) fn encode(self) -> Vec<u8> {
        let Self::End { grace } = self;
        framed(&grace.to_le_bytes())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self::End { grace: u64::from_le_bytes(bytes.try_into().ok()?) })
    }
}

impl Report {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Started { pid } => put_number(&mut out, 1, *pid),
            Self::NotStarted { why } => {
                out.push(2);
                out.extend_from_slice(why.as_bytes());
            }
            Self::Exited { code } => put_number(&mut out, 4, *code),
            Self::Signalled { signal } => put_number(&mut out, 5, *signal),
            Self::Gone { swept } => {
                out.push(6);
                out.extend_from_slice(&swept.to_le_bytes());
            }
            Self::Stuck { processes } => {
                out.push(7);
                processes.iter().for_each(|pid| out.extend_from_slice(&pid.to_le_bytes()));
            }
        }
        framed(&out)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let number = || Some(i32::from_le_bytes(rest.try_into().ok()?));
        Some(match kind {
            1 => Self::Started { pid: number()? },
            2 => Self::NotStarted { why: String::from_utf8_lossy(rest).into_owned() },
            4 => Self::Exited { code: number()? },
            5 => Self::Signalled { signal: number()? },
            6 => Self::Gone { swept: u32::from_le_bytes(rest.try_into().ok()?) },
            7 => {
                let (numbers, []) = rest.as_chunks::<4>() else { return None };
                Self::Stuck { processes: numbers.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect() }
            }
            _ => return None,
        })
    }
}

/// Cuts what was received into frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) received: Vec<u8>,
}

impl Frames {
    /// The next whole frame. The error means that the other side speaks another language.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((length, rest)) = self.received.split_first_chunk::<4>() else { return Ok(None) };
        let length = checked_length(*length)?;
        if rest.len() < length {
            return Ok(None);
        }
        let frame = rest[..length].to_vec();
        self.received.drain(..4 + length);
        Ok(Some(frame))
    }
}

/// Sends descriptors with a number. At the start of a request that is its length; the content follows as plain bytes.
pub(crate) fn send_descriptors(
    socket: BorrowedFd<'_>,
    number: usize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let number = u32::try_from(number).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    if descriptors.len() > MAX_DESCRIPTORS || !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let header = number.to_le_bytes();
    match rustix::net::sendmsg(socket, &[IoSlice::new(&header)], &mut control, SendFlags::NOSIGNAL)? {
        4 => Ok(()),
        // Four bytes always fit into the empty buffer of a fresh socket.
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives a request and its descriptors, waiting for all of it.
pub(crate) fn receive_request(socket: &mut (impl Read + AsFd)) -> io::Result<(Request, Vec<OwnedFd>)> {
    let (length, descriptors) = receive_descriptors(socket.as_fd())?;
    let mut content = vec![0; length];
    socket.read_exact(&mut content)?;
    let request = Request::decode(&content).ok_or(io::ErrorKind::InvalidData)?;
    Ok((request, descriptors))
}

/// Receives what [`send_descriptors`] sent.
pub(crate) fn receive_descriptors(socket: BorrowedFd<'_>) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut header = [0; 4];
    let received = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut header)], &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes != header.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok((checked_length(header)?, descriptors))
}

fn checked_length(bytes: [u8; 4]) -> io::Result<usize> {
    match usize::try_from(u32::from_le_bytes(bytes)) {
        Ok(length) if length <= MAX_BYTES => Ok(length),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn framed(content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(4 + content.len());
    put(&mut frame, content);
    frame
}

fn put_number(out: &mut Vec<u8>, kind: u8, number: i32) {
    out.push(kind);
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    // Saturating: a count that large fails in `checked_length` on the other side instead of being misread.
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_all(out: &mut Vec<u8>, texts: &[impl AsRef<OsStr>]) {
    put_count(out, texts.len());
    texts.iter().for_each(|text| put(out, text.as_ref().as_bytes()));
}

fn take_count(from: &mut &[u8]) -> Option<usize> {
    let (count, rest) = from.split_first_chunk::<4>()?;
    *from = rest;
    usize::try_from(u32::from_le_bytes(*count)).ok()
}

fn take_port(from: &mut &[u8]) -> Option<u16> {
    let (port, rest) = from.split_first_chunk::<2>()?;
    *from = rest;
    Some(u16::from_le_bytes(*port))
}

fn take_text(from: &mut &[u8]) -> Option<OsString> {
    let length = take_count(from)?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(OsString::from_vec(text.to_vec()))
}

fn take_all<T: From<OsString>>(from: &mut &[u8]) -> Option<Vec<T>> {
    let count = take_count(from)?;
    (0..count).map(|_| take_text(from).map(T::from)).collect()
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
