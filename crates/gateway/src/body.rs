//! The body of an answer on its way to the agent: every frame is passed on as it is, and looked at.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::HeaderMap;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use ralph_llm::wire::UsageSeen;
use ralph_model::TroubleKind;

use crate::account::{End, Pending};
use crate::scan::Scan;

/// The most of an answer that is recorded.
const MAX_RECORDED: usize = 8 * 1024 * 1024;

/// The most of an error that is read.
const MAX_PROBLEM: usize = 16 * 1024;

/// Takes the number of a request, whether it is the answer to it, and the bytes.
pub type Recorder = Arc<dyn Fn(u64, bool, &[u8]) + Send + Sync>;

pub(crate) struct Tap {
    pub(crate) pending: Pending,
    /// None where the service answered with an error.
    pub(crate) scan: Option<Scan>,
    pub(crate) kind: String,
    /// The headers of such an answer, and as much of its body as is read.
    pub(crate) refused: Option<(HeaderMap, Vec<u8>)>,
    pub(crate) recorded: Option<(Recorder, Vec<u8>)>,
}

pub(crate) struct Watched {
    inner: Incoming,
    tap: Option<Tap>,
}

impl Watched {
    pub(crate) const fn new(inner: Incoming, tap: Option<Tap>) -> Self {
        Self { inner, tap }
    }

    fn finish(&mut self, is_whole: bool) {
        if let Some(tap) = self.tap.take() {
            tap.finish(is_whole);
        }
    }
}

impl Tap {
    fn bytes(&mut self, bytes: &[u8]) {
        self.pending.first_byte();
        if let Some((_, copy)) = &mut self.recorded {
            let room = MAX_RECORDED.saturating_sub(copy.len());
            copy.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
        if let Some((_, body)) = &mut self.refused {
            let room = MAX_PROBLEM.saturating_sub(body.len());
            body.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }
        let Some(scan) = &mut self.scan else { return };
        scan.bytes(bytes);
        // Before the agent can send its next request: that one must find the money counted.
        if scan.is_over() {
            self.pending.settle(End::Whole, &scan.finish());
        }
    }

    fn finish(mut self, is_whole: bool) {
        if let Some((headers, body)) = self.refused.take() {
            self.pending.refused(&headers, &body);
        }
        let seen = self.scan.as_mut().map(Scan::finish);
        match &seen {
            None => self.pending.settle(End::Failed, &UsageSeen::default()),
            // What says nothing that its format knows is no answer of a model: a page of a captive portal, say.
            Some(seen) if is_whole && seen.tokens.is_none() && !seen.is_over && seen.written == 0 => {
                self.pending.unanswered(
                    TroubleKind::Unreachable,
                    format!("{} came in place of an answer of a model", self.kind),
                );
                self.pending.settle(End::Failed, seen);
            }
            Some(seen) => self.pending.settle(if is_whole { End::Whole } else { End::Cut }, seen),
        }
        if let Some((recorder, copy)) = self.recorded.take() {
            recorder(self.pending.number, true, &copy);
        }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let (Some(bytes), Some(tap)) = (frame.data_ref(), &mut self.tap) {
                    tap.bytes(bytes);
                }
                // No more is asked for where the length was announced.
                if self.inner.is_end_stream() {
                    self.finish(true);
                }
            }
            Some(Err(_)) => self.finish(false),
            None => self.finish(true),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let is_whole = self.inner.is_end_stream();
        self.finish(is_whole);
    }
}
