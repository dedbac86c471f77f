//! Calls over HTTP, for everything that Ralph calls: servers, collectors of traces, model providers.
//!
//! Every call has a time limit and every answer a bound. What a call means, and whether it may be repeated, is the caller's.

mod dial;
mod egress;
mod resolver;
mod tunnel;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::combinators::MapErr;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::USER_AGENT;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use resolver::Resolver;
use rustls::crypto::ring;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use sse_stream::SseStream;
use tunnel::Tunnel;

pub use dial::dial;
pub use egress::Egress;
pub use hyper::body::{Bytes, Incoming};
pub use hyper::header::{self, HeaderName, HeaderValue};
pub use hyper::{Method, Response, StatusCode, Uri};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Below the time after which servers close an idle connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{0}")]
    Request(String),
    #[error("{0}")]
    Broken(String),
    #[error("nothing for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("{0} may not be connected to")]
    Refused(IpAddr),
    #[error("there is no host named {0}")]
    UnknownHost(String),
    #[error("the answer is too large")]
    TooLarge,
    /// Only the user can help, and this says how.
    #[error("{0}")]
    Setup(String),
}

/// Whether this is an address that can be called: `http` or `https`, with a host.
pub fn is_address(uri: &Uri) -> bool {
    matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
}

#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Bytes,
}

/// Connections to one server. Clones share them.
#[derive(Debug, Clone)]
pub struct Http {
    client: Connections,
    guard: Option<Guard>,
}

type Tcp = HttpConnector<Resolver>;

#[derive(Debug, Clone)]
enum Connections {
    Direct(Client<HttpsConnector<Tcp>, Full<Bytes>>),
    Tunnelled(Client<HttpsConnector<Tunnel>, Full<Bytes>>),
}

impl Connections {
    fn request(&self, request: hyper::Request<Full<Bytes>>) -> ResponseFuture {
        match self {
            Self::Direct(client) => client.request(request),
            Self::Tunnelled(client) => client.request(request),
        }
    }
}

/// Says which addresses may be connected to.
pub type Guard = fn(IpAddr) -> bool;

impl Http {
    /// For a server at an address with this scheme. Needs a Tokio runtime once it is used.
    pub fn new(is_secure: bool) -> Result<Self, Error> {
        Self::with(is_secure, None)
    }

    /// The same, but no connection is made to an address that the guard refuses, whatever name leads there.
    pub fn guarded(is_secure: bool, guard: Guard) -> Result<Self, Error> {
        Self::with(is_secure, Some(guard))
    }

    /// For the server at this address, on the way out of a closed network that the user has set up.
    ///
    /// # Errors
    /// When no certificate authorities are found for `https`, or when what the user set up cannot be used.
    pub fn through(address: &Uri, egress: &Egress) -> Result<Self, Error> {
        // Proxies tunnel connections with TLS; others are for this machine or its neighbours.
        if address.scheme_str() != Some("https") {
            return Self::with(false, None);
        }
        let proxy = egress.proxy(address.host().unwrap_or_default())?;
        let tls = HttpsConnectorBuilder::new().with_tls_config(egress.tls()?).https_only().enable_http1();
        let client = match proxy {
            Some(proxy) => Connections::Tunnelled(pooled(tls.wrap_connector(Tunnel { proxy, tcp: tcp(None) }))),
            None => Connections::Direct(pooled(tls.wrap_connector(tcp(None)))),
        };
        Ok(Self { client, guard: None })
    }

    fn with(is_secure: bool, guard: Option<Guard>) -> Result<Self, Error> {
        let broken = |error: &dyn std::error::Error| Error::Broken(error.to_string());
        let tcp = tcp(guard);
        let connector = if is_secure {
            let roots = HttpsConnectorBuilder::new().with_provider_and_native_roots(ring::default_provider());
            roots.map_err(|error| broken(&error))?.https_only().enable_http1().wrap_connector(tcp)
        } else {
            // No file of certificates is read for a connection that uses none.
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
            let config = config.with_safe_default_protocol_versions().map_err(|error| broken(&error))?;
            let config = config.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().wrap_connector(tcp)
        };
        Ok(Self { client: Connections::Direct(pooled(connector)), guard })
    }

    /// Sends a call, and waits for the head of its answer.
    pub async fn send(&self, call: Call, timeout: Duration) -> Result<Response<Incoming>, Error> {
        let mut request = hyper::Request::builder().method(call.method).uri(call.url);
        if call.headers.iter().all(|(name, _)| name != USER_AGENT) {
            request = request.header(USER_AGENT, concat!("ralph/", env!("CARGO_PKG_VERSION")));
        }
        for (name, value) in call.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(call.body)).map_err(|error| Error::Request(error.to_string()))?;
        // An address that is written as one needs no lookup.
        let host = request.uri().host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if let (Some(guard), Ok(address)) = (self.guard, host.parse())
            && !guard(address)
        {
            return Err(Error::Refused(address));
        }
        match tokio::time::timeout(timeout, self.client.request(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(connecting(&error, &host)),
            Err(_) => Err(Error::Silent(timeout)),
        }
    }
}

fn tcp(guard: Option<Guard>) -> Tcp {
    let mut tcp = HttpConnector::new_with_resolver(Resolver { names: GaiResolver::new(), guard });
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp
}

fn pooled<C: Connect + Clone>(connector: C) -> Client<C, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT).build(connector)
}

/// The whole of an answer, which has this time and this size at most.
pub async fn read(body: Incoming, at_most: usize, timeout: Duration) -> Result<Bytes, Error> {
    match tokio::time::timeout(timeout, Limited::new(body, at_most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => Err(failed(error)),
        Err(_) => Err(Error::Silent(timeout)),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty where it has none.
    pub name: String,
    pub data: String,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Bounded = MapErr<Limited<Incoming>, fn(Failure) -> Error>;

/// An answer that is a stream of server-sent events.
pub struct Events {
    stream: SseStream<Bounded>,
    silence: Option<Duration>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("silence", &self.silence).finish_non_exhaustive()
    }
}

impl Events {
    /// A stream of this size at most, in which nothing may come for so long.
    pub fn new(body: Incoming, at_most: usize, silence: Option<Duration>) -> Self {
        let failed: fn(Failure) -> Error = failed;
        Self { stream: SseStream::new(Limited::new(body, at_most).map_err(failed)), silence }
    }

    /// The next event; none at the end. Loses nothing when it is dropped.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            let next = self.stream.next();
            let next = match self.silence {
                Some(silence) => tokio::time::timeout(silence, next).await.map_err(|_| Error::Silent(silence))?,
                None => next.await,
            };
            match next {
                None => return Ok(None),
                Some(Ok(event)) => {
                    // A comment that keeps the connection alive is no event.
                    if event.event.is_some() || event.data.is_some() {
                        let (name, data) = (event.event.unwrap_or_default(), event.data.unwrap_or_default());
                        return Ok(Some(Event { name, data }));
                    }
                }
                Some(Err(sse_stream::Error::Body(error))) => return Err(failed(error)),
                Some(Err(error)) => return Err(Error::Broken(error.to_string())),
            }
        }
    }
}

fn failed(error: Failure) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => *error,
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Error::TooLarge,
        Err(error) => Error::Broken(root_cause(&*error)),
    }
}

/// Why a request has no answer. An error of our own, and a certificate that nobody here vouches for, are found among its causes.
fn connecting(error: &(dyn std::error::Error + 'static), host: &str) -> Error {
    let mut cause = Some(error);
    while let Some(mut this) = cause {
        // An error of the system that holds another one does not name it as its source.
        while let Some(held) = this.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            this = held;
        }
        if let Some(own) = this.downcast_ref::<Error>() {
            return own.clone();
        }
        if let Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) = this.downcast_ref() {
            return Error::Setup(format!(
                "the certificate of {host} is of an authority that this machine does not know: name the file of your company's \
                 authority (PEM) in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE"
            ));
        }
        cause = this.source();
    }
    Error::Broken(root_cause(error))
}

/// The innermost cause says what happened: `connection refused`, not `client error (Connect)`.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
