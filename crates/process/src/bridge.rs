//! Connects the network of a program to ports of this machine's loopback. The program's stage listens in that network and hands
//! its sockets over; connections to them are accepted here and continued outside. Reads nothing of what passes.

use std::io;
use std::net::{Ipv4Addr, TcpListener as StdTcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;

use tokio::io::{Interest, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;

use crate::wire;

/// Connections at a time for each port.
const MAX_CONNECTIONS: usize = 512;
/// How long to wait where no connection can be accepted: too many files are open, and others end meanwhile.
const RETRY: Duration = Duration::from_millis(20);

/// Connections of one program. All of them end when this is dropped.
pub(crate) struct Bridge {
    _tasks: JoinSet<()>,
}

impl Bridge {
    /// One that waits for the sockets to listen on, and what the stage sends them to.
    pub(crate) fn open(ports: Vec<u16>) -> io::Result<(Option<Self>, Option<OwnedFd>)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ours = UnixStream::from_std(ours)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            if let Err(error) = serve(&ours, &ports).await {
                tracing::debug!(%error, "the network of a program is not connected");
            }
        });
        Ok((Some(Self { _tasks: tasks }), Some(theirs.into())))
    }
}

async fn serve(stage: &UnixStream, ports: &[u16]) -> io::Result<()> {
    let (_, listeners) = stage.async_io(Interest::READABLE, || wire::receive_descriptors(stage.as_fd())).await?;
    let mut tasks = JoinSet::new();
    for (port, listener) in ports.iter().zip(listeners) {
        let listener = StdTcpListener::from(listener);
        listener.set_nonblocking(true)?;
        tasks.spawn(forward(TcpListener::from_std(listener)?, *port));
    }
    while tasks.join_next().await.is_some() {}
    Ok(())
}

async fn forward(inside: TcpListener, port: u16) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = connections.join_next(), if !connections.is_empty() => {}
            accepted = inside.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connect(stream, port));
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            },
        }
    }
}

/// A connection that breaks on one side ends on the other.
async fn connect(mut inside: TcpStream, port: u16) {
    let Ok(mut outside) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { return };
    let _ = inside.set_nodelay(true);
    let _ = outside.set_nodelay(true);
    let _ = copy_bidirectional(&mut inside, &mut outside).await;
}
