//! Connections: accepted within limits, closed when a client is too slow, and ended in order when the server is.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ralph_api::Problem;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use crate::app::App;
use crate::auth::authenticate;
use crate::guard::{Names, guard};
use crate::housekeeping;
use crate::problem::Refusal;
use crate::route::{router, settle};
use crate::routes::table;
use crate::tls::TlsFiles;

/// The most bytes of headers that are read.
const MAX_HEADER_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("could not listen on {address}: {}", describe(.error))]
    Listen {
        address: SocketAddr,
        /// What the system said. No source: the message has it.
        error: io::Error,
    },
    #[error(
        "{address} can be reached from other machines, and tokens would travel unencrypted: use --tls-cert and --tls-key, or allow it with --insecure-listen"
    )]
    Insecure { address: SocketAddr },
    #[error("{} cannot be used for TLS: {detail}", path.display())]
    Tls { path: PathBuf, detail: String },
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program uses this address; choose another port with --listen".to_owned(),
        _ => error.to_string(),
    }
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    app: App,
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptorDebug>,
    mounted: Vec<(String, Router)>,
}

/// A TLS acceptor; there is nothing of it to show.
struct TlsAcceptorDebug(TlsAcceptor);

impl std::fmt::Debug for TlsAcceptorDebug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsAcceptor")
    }
}

impl Server {
    /// Listens on an address; port 0 picks a free one. Addresses other than loopback need TLS, or `insecure`.
    pub async fn bind(
        app: App,
        address: SocketAddr,
        tls: Option<&TlsFiles>,
        insecure: bool,
    ) -> Result<Self, ServeError> {
        if !is_loopback(address.ip()) && tls.is_none() && !insecure {
            return Err(ServeError::Insecure { address });
        }
        let acceptor = tls.map(TlsFiles::acceptor).transpose()?.map(TlsAcceptorDebug);
        let failed = |error| ServeError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { app, listener, address, acceptor, mounted: Vec::new() })
    }

    /// Adds routes below a path, such as `/mcp`. They get the same checks of Host, Origin and token as all others, and find
    /// the [`crate::Caller`] in the extensions of the request.
    #[must_use]
    pub fn mount(mut self, path: &str, routes: Router) -> Self {
        self.mounted.push((path.to_owned(), routes));
        self
    }

    pub const fn app(&self) -> &App {
        &self.app
    }

    /// The address, with the port that was picked.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for people and clients.
    pub fn url(&self) -> String {
        let scheme = if self.acceptor.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    fn router(&mut self) -> Router {
        let app = self.app.clone();
        let options = &app.options;
        let names = Names::new(self.address, self.acceptor.is_some(), &options.allow_hosts, &options.allow_origins);
        let mut all = router(&app, table());
        for (path, routes) in self.mounted.drain(..) {
            let app = app.clone();
            let check = move |request: Request, next: Next| {
                let app = app.clone();
                async move { settle(&app, admit(&app, request, next)).await }
            };
            all = all.nest_service(&path, routes.layer(from_fn(check)));
        }
        let missing = {
            let app = app.clone();
            move |request: Request| {
                let app = app.clone();
                async move { settle(&app, unknown(&app, request, 404)).await }
            }
        };
        let refused = {
            let app = app.clone();
            move |request: Request| {
                let app = app.clone();
                async move { settle(&app, unknown(&app, request, 405)).await }
            }
        };
        all.fallback(missing)
            .method_not_allowed_fallback(refused)
            .layer(from_fn_with_state((app, Arc::new(names)), guard))
    }

    /// Answers requests until `stop` completes, then ends: streams end at once, requests under way have some time to finish.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let router = self.router();
        let Self { app, listener, acceptor, .. } = self;
        let housekeeping = tokio::spawn(housekeeping::run(app.clone()));
        let permits = Arc::new(Semaphore::new(app.options.limits.connections));
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            let accepted = async {
                // Waits while too many are open: the system queues a few and refuses the rest.
                let permit = Arc::clone(&permits).acquire_owned().await;
                (listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => continue,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let acceptor = acceptor.as_ref().map(|acceptor| acceptor.0.clone());
                    let (app, router) = (app.clone(), router.clone());
                    connections.spawn(async move {
                        app.counters.connections.fetch_add(1, Ordering::Relaxed);
                        serve(&app, router, stream, acceptor).await;
                        app.counters.connections.fetch_sub(1, Ordering::Relaxed);
                        drop(permit);
                    });
                }
                // No descriptor is free, or the client went away: neither ends the server.
                Err(error) => {
                    app.log(&format!("could not accept a connection: {error}"));
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
        drop(listener);
        app.stop();
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(app.options.limits.shutdown, all).await;
        connections.abort_all();
        housekeeping.abort();
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// What is mounted is for those who have a token.
async fn admit(app: &App, mut request: Request, next: Next) -> Result<axum::response::Response, Refusal> {
    let caller = authenticate(app, request.headers()).await?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Without a token no caller learns which paths exist.
async fn unknown(app: &App, request: Request, status: u16) -> Result<axum::response::Response, Refusal> {
    authenticate(app, request.headers()).await?;
    Err(match status {
        405 => Problem::new(405, "method-not-allowed", format!("{} is not allowed here", request.method())),
        _ => Problem::new(404, "not-found", "there is nothing at this address; /api/openapi.json lists what there is"),
    }
    .into())
}

async fn serve(app: &App, router: Router, stream: TcpStream, acceptor: Option<TlsAcceptor>) {
    let limits = &app.options.limits;
    let _ = stream.set_nodelay(true);
    match acceptor {
        None => converse(app, router, stream).await,
        // A client that does not speak TLS, or says nothing, gets no answer.
        Some(acceptor) => {
            if let Ok(Ok(stream)) = timeout(limits.header_timeout, acceptor.accept(stream)).await {
                converse(app, router, stream).await;
            }
        }
    }
}

async fn converse(app: &App, router: Router, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let limits = &app.options.limits;
    let service = service_fn(move |request| router.clone().call(request));
    let io = TokioIo::new(Hurried { stream, limit: limits.write_timeout, waiting: None });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout);
    builder.max_buf_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut stopping = pin!(app.stopping());
    // An error is a client that went away or was too slow; no client is left to answer.
    tokio::select! {
        _ = &mut connection => {}
        () = &mut stopping => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// A stream that fails when the other side takes nothing for too long: otherwise a client that stops reading keeps its
/// connection for ever.
struct Hurried<S> {
    stream: S,
    limit: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Hurried<S> {
    fn hurry<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Hurried<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Hurried<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.hurry(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.hurry(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.hurry(context, shut)
    }
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
