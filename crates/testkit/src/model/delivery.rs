//! Sends an answer as the script has it: at once, slowly, in part, or never to its end. Decides nothing.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::Ending;
use super::plan::{Content, short_of_all};
use super::server::Record;

/// The Gemini CLI knows an error in a stream only by reading it apart from what came before.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Delivery {
    frames: VecDeque<Bytes>,
    length: Option<u64>,
    delay: Delay,
    waiting: Option<Pin<Box<Sleep>>>,
    end: End,
    record: Record,
}

/// When there is a wait before a frame is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delay {
    Never,
    Always(Duration),
    AtLast(Duration),
}

/// What comes after the last frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Proper,
    /// The end of the body, although the answer has none.
    Short,
    /// The end of the connection, once what was sent so far is on its way.
    Cut(Flush),
    /// Nothing, for as long as the client waits.
    Silence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    Due,
    Done,
}

/// Why a connection ends without an answer, or within one.
#[derive(Debug, thiserror::Error)]
pub(super) enum Closed {
    #[error("the script closes the connection here")]
    ByScript,
    #[error("the client left before its request was read")]
    ByClient,
}

/// What happens to the body on its way.
pub(super) enum Damage {
    None,
    /// A wait before the last piece, so that the client has read all the others and gets it by itself.
    Pause,
    /// A wait before each piece.
    Slow(Duration),
    /// The end of the connection after so many pieces; within one that was told its length, in its middle.
    Cut(usize),
    /// The end in good order after so many pieces; one that was told its length is sent whole.
    Truncate(usize),
    /// Silence after so many bytes.
    Silence(usize),
}

impl Delivery {
    pub(super) fn new(content: Content, damage: Damage, record: Record) -> Self {
        let (frames, length): (VecDeque<Bytes>, _) = match content {
            // Its length is told first. No piece of an empty body is asked for, so there is none left to send.
            Content::Whole(text) => {
                let length = Some(text.len() as u64);
                (Some(Bytes::from(text)).filter(|body| !body.is_empty()).into_iter().collect(), length)
            }
            // Only the end tells how many there are.
            Content::Streamed(events) => (events.into_iter().map(Bytes::from).collect(), None),
        };
        let (pieces, is_whole) = (frames.len(), length.is_some());
        let mut delivery = Self { frames, length, delay: Delay::Never, waiting: None, end: End::Proper, record };
        match damage {
            Damage::None => {}
            Damage::Pause => delivery.delay = Delay::AtLast(PAUSE),
            Damage::Slow(delay) => delivery.delay = Delay::Always(delay),
            Damage::Cut(after) => {
                match is_whole {
                    true => delivery.keep_bytes(delivery.frames.iter().map(Bytes::len).sum::<usize>() / 2),
                    false => delivery.frames.truncate(short_of_all(after, pieces)),
                }
                delivery.end = End::Cut(Flush::Due);
            }
            Damage::Truncate(_) if is_whole => {}
            Damage::Truncate(after) => {
                delivery.frames.truncate(short_of_all(after, pieces));
                delivery.end = End::Short;
            }
            Damage::Silence(after) => {
                delivery.keep_bytes(after);
                delivery.end = End::Silence;
            }
        }
        delivery
    }

    fn keep_bytes(&mut self, mut left: usize) {
        for frame in &mut self.frames {
            frame.truncate(left);
            left -= frame.len();
        }
        self.frames.retain(|frame| !frame.is_empty());
    }
}

impl Body for Delivery {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        let delay = match (self.delay, self.frames.len()) {
            (Delay::Always(delay), 1..) | (Delay::AtLast(delay), 1) => Some(delay),
            (Delay::Always(_) | Delay::AtLast(_) | Delay::Never, _) => None,
        };
        if let Some(delay) = delay {
            let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(delay)));
            if waiting.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.waiting = None;
        }
        if let Some(frame) = self.frames.pop_front() {
            if self.frames.is_empty() && self.end == End::Proper {
                // Before it is on its way: who has read the whole answer finds it in the log.
                self.record.end(Ending::Sent);
            }
            return Poll::Ready(Some(Ok(Frame::data(frame))));
        }
        match self.end {
            End::Proper => Poll::Ready(None),
            End::Short => {
                self.record.end(Ending::CutByScript);
                Poll::Ready(None)
            }
            End::Silence => Poll::Pending,
            End::Cut(Flush::Due) => {
                // An error at once would take with it what is not yet written.
                self.end = End::Cut(Flush::Done);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            End::Cut(Flush::Done) => {
                self.record.end(Ending::CutByScript);
                Poll::Ready(Some(Err(Closed::ByScript)))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let sent = self.frames.is_empty() && self.end == End::Proper;
        self.record.end(if sent { Ending::Sent } else { Ending::ClosedByClient });
    }
}
