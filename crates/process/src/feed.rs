//! What a program reads on its standard input, given at once or while it runs. Never waits for a program that does not read,
//! except where the feeder asks to wait.
//!
//! ```text
//!   Feeder ──bounded channel──► Feed ──► Input ──pipe──► program
//! ```
//!
//! - A message that was accepted is given to the program whole and in its order, as long as the program reads.
//! - When the last [`Feeder`] is dropped, the program gets what was accepted and then the end of the file.
//! - When the run ends, or the pipe has no reader any more, feeders get [`FeedError::Closed`].

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::spec::Stdin;

/// Feeds a program while it runs. Clones feed the same program; the last one that is dropped closes its input.
#[derive(Debug, Clone)]
pub struct Feeder {
    messages: mpsc::Sender<Vec<u8>>,
}

/// What a program is fed from, for [`Stdin::Fed`]. Of runs that get clones of it, the first is fed and the others read the
/// end of the file.
#[derive(Debug, Clone)]
pub struct Feed {
    messages: Arc<Mutex<Option<mpsc::Receiver<Vec<u8>>>>>,
}

/// Why a program was not fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// The pipe has no reader: the run is over, or the program closed its input.
    #[error("the standard input of the program is closed")]
    Closed,
    /// As many messages wait as may wait, because the program does not read.
    #[error("the program does not read its standard input")]
    Full,
}

/// Makes both ends of an input that is fed while its program runs. At most so many messages wait for the program, at least one.
pub fn feed(most: usize) -> (Feeder, Feed) {
    let (sender, receiver) = mpsc::channel(most.max(1));
    (Feeder { messages: sender }, Feed { messages: Arc::new(Mutex::new(Some(receiver))) })
}

impl Feeder {
    /// Gives a message to the program, after waiting for room if there is none. Dropped while it waits, it gives nothing.
    ///
    /// # Errors
    /// [`FeedError::Closed`] when the pipe has no reader.
    pub async fn send(&self, message: impl Into<Vec<u8>>) -> Result<(), FeedError> {
        self.messages.send(message.into()).await.map_err(|_| FeedError::Closed)
    }

    /// Gives a message to the program if there is room for it.
    ///
    /// # Errors
    /// When there is none, or when the pipe has no reader.
    pub fn try_send(&self, message: impl Into<Vec<u8>>) -> Result<(), FeedError> {
        self.messages.try_send(message.into()).map_err(|error| match error {
            TrySendError::Full(_) => FeedError::Full,
            TrySendError::Closed(_) => FeedError::Closed,
        })
    }
}

impl Feed {
    fn take(&self) -> Option<mpsc::Receiver<Vec<u8>>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Two feeds are equal when they are fed by the same feeders.
impl PartialEq for Feed {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.messages, &other.messages)
    }
}

impl Eq for Feed {}

/// The pipe to a program and what it still has to be given.
#[derive(Debug)]
pub(crate) struct Input {
    pipe: Sender,
    bytes: Vec<u8>,
    done: usize,
    /// Where more comes from, unless this is all.
    more: Option<mpsc::Receiver<Vec<u8>>>,
}

/// Whether a program has to be given more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// There is, or may be, more to give.
    Some,
    /// There is no more, or it is not wanted: the pipe can be closed.
    All,
}

impl Input {
    /// None when there is nothing to give: without a pipe the program reads the end of the file.
    pub(crate) fn new(pipe: Option<Sender>, stdin: Stdin) -> Option<Self> {
        let (bytes, more) = match stdin {
            Stdin::Empty => (Vec::new(), None),
            Stdin::Bytes(bytes) => (bytes, None),
            Stdin::Fed(feed) => (Vec::new(), feed.take()),
        };
        let pipe = pipe.filter(|_| !bytes.is_empty() || more.is_some())?;
        Some(Self { pipe, bytes, done: 0, more })
    }

    /// Waits until there is something to give and room for it, or nothing more to give. Loses nothing when it is dropped.
    pub(crate) async fn ready(&mut self) {
        while self.done == self.bytes.len() {
            let Some(more) = &mut self.more else { return };
            match more.recv().await {
                Some(bytes) => (self.bytes, self.done) = (bytes, 0),
                None => self.more = None,
            }
        }
        // The error says that the runtime is going away; the write that follows meets it.
        drop(self.pipe.writable().await);
    }

    /// Gives the program as much as it takes without waiting.
    pub(crate) fn give(&mut self) -> Given {
        // Without a write: before its first turn, the event loop takes a new pipe for one without room.
        if self.done == self.bytes.len() && self.more.is_none() {
            return Given::All;
        }
        match self.pipe.try_write(&self.bytes[self.done..]) {
            Ok(count) => self.done += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Given::Some,
            // The pipe has no reader: a program need not read its input.
            Err(_) => return Given::All,
        }
        if self.done == self.bytes.len() && self.more.is_none() { Given::All } else { Given::Some }
    }
}
