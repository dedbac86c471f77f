//! The tools on a pair of streams, one JSON message per line.

use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use crate::handler::Tools;

/// The longest message. Longer ones are skipped.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Answers calls until the client closes its side or `stop` completes. Loops that still run then are stopped, and have
/// ended when this returns.
pub async fn serve(
    tools: Tools,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) {
    let input = Noticing { input, ended: tools.running.closing().clone() };
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE);
    let serving = async {
        // A client that goes away before the handshake, or speaks something else, cannot be answered.
        if let Ok(service) = tools.clone().serve(transport).await {
            let _ = service.waiting().await;
        }
    };
    tokio::select! {
        () = serving => {}
        () = stop => {}
    }
    tools.close().await;
}

/// A stream that says at once that it has ended: the protocol's own machinery first waits for answers under way.
struct Noticing<R> {
    input: R,
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Noticing<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.input).poll_read(cx, buffer);
        let is_over = match &polled {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_over {
            self.ended.cancel();
        }
        polled
    }
}
