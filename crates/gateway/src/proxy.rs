//! The proxy itself: listens on loopback, one address for each service, and forwards.

use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use ralph_http::{Call, Egress, Http};
use ralph_llm::wire::{Format, UsageSeen};
use ralph_model::{Money, PriceList, Timestamp};
use subtle::ConstantTimeEq as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::account::{Account, End, Sink};
use crate::asked::{Asked, Purpose};
use crate::body::{Recorder, Tap, Watched};
use crate::record::RunTotals;
use crate::refusal::Refusal;
use crate::scan::Scan;

/// The largest request that is forwarded. Services take 32 MB.
pub(crate) const MAX_REQUEST: usize = 64 * 1024 * 1024;
/// How long a service may take until it begins to answer. The agent gives up long before.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(3600);
/// Connections at a time for each service.
pub(crate) const MAX_CONNECTIONS: usize = 512;

/// Headers that a key is looked for in. In any other one, a service might repeat it to the agent.
const KEY_HEADERS: [&str; 4] = ["authorization", "x-api-key", GOOGLE_KEY, "api-key"];
const GOOGLE_KEY: &str = "x-goog-api-key";

/// Headers that make a request another one than it looks like, or an answer less than a whole one.
const REWRITING: [&str; 8] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "range",
    "if-range",
    "prefer",
];

/// Headers that are about one connection, and those that the gateway decides.
pub(crate) const NOT_FORWARDED: [HeaderName; 11] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::HOST,
    header::CONTENT_LENGTH,
    header::ACCEPT_ENCODING,
    header::EXPECT,
];

#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its base address, as the agent would have it.
    pub base: String,
    /// The key that takes the place of the run's token.
    pub key: String,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("base", &self.base).finish_non_exhaustive()
    }
}

pub struct GatewayOptions {
    pub upstreams: Vec<Upstream>,
    /// What the run may use; none when it costs nothing that is counted.
    pub budget: Option<Money>,
    pub prices: Arc<PriceList>,
    /// The way out.
    pub egress: Egress,
    pub now: fn() -> Timestamp,
    /// Takes what happens. Quick: the agent waits for it.
    pub sink: Sink,
    /// Takes bodies, where they are recorded: the number of a request, whether it is the answer, and the bytes.
    pub recorder: Option<Recorder>,
}

/// A proxy that listens. It ends when it is dropped or stopped, and with it everything that the agent can spend.
pub struct Gateway {
    token: String,
    addresses: Vec<String>,
    account: Arc<Account>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Listens on loopback, with a token of its own.
    ///
    /// # Errors
    /// When an address of a service is none, when no port can be had, or when there are no random numbers.
    pub async fn start(options: GatewayOptions) -> io::Result<Self> {
        let GatewayOptions { upstreams, budget, prices, egress, now, sink, recorder } = options;
        let token = new_token()?;
        let account = Account::new(budget, prices, now, sink);
        let (stop, stopping) = watch::channel(false);
        let mut addresses = Vec::new();
        let mut tasks = JoinSet::new();
        for upstream in upstreams {
            let base: Uri = upstream.base.trim_end_matches('/').parse().map_err(io::Error::other)?;
            let (Some(scheme), Some(authority)) = (base.scheme_str(), base.authority()) else {
                return Err(io::Error::other(format!("`{}` is not an address", upstream.base)));
            };
            let http = Http::through(&base, &egress).map_err(io::Error::other)?;
            let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
            let path = base.path().trim_end_matches('/');
            addresses.push(format!("http://{}{path}", listener.local_addr()?));
            let service = Arc::new(Service {
                origin: format!("{scheme}://{authority}"),
                key: upstream.key,
                token: token.clone(),
                http,
                account: Arc::clone(&account),
                recorder: recorder.clone(),
            });
            tasks.spawn(listen(listener, service, stopping.clone()));
        }
        Ok(Self { token, addresses, account, stop, tasks })
    }

    /// What the agent has in the place of a key.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The base address of each service, as the agent is given it.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    pub fn ports(&self) -> Vec<u16> {
        let port = |address: &String| address.parse::<Uri>().ok().and_then(|address| address.port_u16());
        self.addresses.iter().filter_map(port).collect()
    }

    pub fn totals(&self) -> RunTotals {
        self.account.totals()
    }

    /// Ends all connections. Requests under way are charged as far as they were answered.
    pub async fn stop(mut self) -> RunTotals {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
        self.account.totals()
    }
}

fn new_token() -> io::Result<String> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().fold("ralph-run-".to_owned(), |mut token, byte| {
        let _ = write!(token, "{byte:02x}");
        token
    }))
}

async fn listen(listener: TcpListener, service: Arc<Service>, mut stopping: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = async { drop(stopping.wait_for(|stop| *stop).await) } => break,
            _ = connections.join_next(), if connections.len() >= MAX_CONNECTIONS => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                while connections.try_join_next().is_some() {}
                match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(converse(stream, Arc::clone(&service)));
                    }
                    // Too many open files, say: others end meanwhile.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        }
    }
    connections.shutdown().await;
}

async fn converse(stream: TcpStream, service: Arc<Service>) {
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { service.answer(request).await }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).max_headers(256);
    // An error is an agent that went away, or a service that did: the agent sees its connection end, as it would there.
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "a connection of the agent ended");
    }
}

struct Service {
    origin: String,
    key: String,
    token: String,
    http: Http,
    account: Arc<Account>,
    recorder: Option<Recorder>,
}

type AnswerBody = Either<Full<Bytes>, Watched>;

impl Service {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<AnswerBody>, ralph_http::Error> {
        let (head, body) = request.into_parts();
        let purpose = Purpose::of(&head.method, head.uri.path());
        let format = match purpose {
            Purpose::Answer(format) => Some(format),
            Purpose::Free | Purpose::Unknown => format_of(head.uri.path()),
        };
        let Some((headers, target)) = self.authorised(&head.headers, &head.uri) else {
            return Ok(refused(Refusal::Token, format));
        };
        let body = match Limited::new(body, MAX_REQUEST).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                return Ok(refused(Refusal::TooLarge, format));
            }
            Err(error) => return Err(ralph_http::Error::Broken(error.to_string())),
        };
        let what = || format!("{} {}", head.method, head.uri.path());
        let begun = match purpose {
            Purpose::Free => Ok(None),
            // Some services repeat what they are asked by TRACE, the key included.
            Purpose::Unknown
                if ![Method::POST, Method::PUT, Method::PATCH].contains(&head.method)
                    || !self.account.permits_uncounted(what) =>
            {
                return Ok(refused(Refusal::Uncountable, format));
            }
            Purpose::Unknown => Ok(None),
            Purpose::Answer(format) => {
                let encoding = head.headers.get(header::CONTENT_ENCODING).map_or(Ok(""), HeaderValue::to_str);
                let asked = Asked::parse(format, head.uri.path(), encoding.unwrap_or("?"), &body);
                if asked.is_none() && !self.account.permits_uncounted(what) {
                    return Ok(refused(Refusal::Uncountable, Some(format)));
                }
                let asked = asked.unwrap_or_else(|| Asked::unread(&body));
                self.account.begin(asked, &body).map(|pending| Some((pending, format)))
            }
        };
        let mut begun = match begun {
            Ok(begun) => begun,
            Err(shortfall) => return Ok(refused(Refusal::Budget(shortfall), format)),
        };
        if let (Some((pending, _)), Some(recorder)) = (&begun, &self.recorder) {
            recorder(pending.number, false, &body);
        }
        let call = Call { method: head.method, url: format!("{}{target}", self.origin), headers, body };
        let answer = match self.http.send(call, HEAD_TIMEOUT).await {
            Ok(answer) => answer,
            Err(error) => {
                if let Some((pending, _)) = &mut begun {
                    pending.unanswered(ralph_llm::unanswered(&error), error.to_string());
                    pending.settle(End::Failed, &UsageSeen::default());
                }
                tracing::debug!(%error, origin = self.origin, "the service cannot be reached");
                return Err(error);
            }
        };
        let (mut head, body) = answer.into_parts();
        for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE] {
            head.headers.remove(name);
        }
        let tap = begun.map(|(mut pending, format)| {
            pending.head(head.status.as_u16());
            let value = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
            let scan = head
                .status
                .is_success()
                .then(|| Scan::new(format, value(header::CONTENT_TYPE), value(header::CONTENT_ENCODING)));
            let recorded = self.recorder.clone().map(|recorder| (recorder, Vec::new()));
            let refused = scan.is_none().then(|| (head.headers.clone(), Vec::new()));
            let kind = value(header::CONTENT_TYPE).to_owned();
            Tap { pending, scan, kind, refused, recorded }
        });
        Ok(Response::from_parts(head, Either::Right(Watched::new(body, tap))))
    }

    /// The headers and the target of the request to the service, where the request carries the run's token.
    fn authorised(&self, headers: &HeaderMap, uri: &Uri) -> Option<(Vec<(HeaderName, HeaderValue)>, String)> {
        let mut is_known = false;
        let mut forwarded = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            if NOT_FORWARDED.contains(name)
                || REWRITING.contains(&name.as_str())
                || ["keep-alive", "proxy-connection"].contains(&name.as_str())
            {
                continue;
            }
            let bytes = value.as_bytes();
            let (prefix, secret) = match bytes.split_at_checked(7) {
                Some((prefix, rest)) if prefix.eq_ignore_ascii_case(b"bearer ") => (prefix, rest),
                _ => (&bytes[..0], bytes),
            };
            if KEY_HEADERS.contains(&name.as_str()) && bool::from(secret.ct_eq(self.token.as_bytes())) {
                is_known = true;
                forwarded.push((name.clone(), secret_value(&[prefix, self.key.as_bytes()])?));
            } else {
                forwarded.push((name.clone(), value.clone()));
            }
        }
        let mut target = uri.path().to_owned();
        let mut separator = '?';
        for pair in uri.query().into_iter().flat_map(|query| query.split('&')) {
            match pair.split_once('=') {
                // A service repeats an address that it does not know, and not a header.
                Some(("key", value)) if bool::from(value.as_bytes().ct_eq(self.token.as_bytes())) => {
                    is_known = true;
                    let name = HeaderName::from_static(GOOGLE_KEY);
                    if forwarded.iter().all(|(known, _)| *known != name) {
                        forwarded.push((name, secret_value(&[self.key.as_bytes()])?));
                    }
                }
                _ => {
                    target.push(separator);
                    target.push_str(pair);
                    separator = '&';
                }
            }
        }
        // Usage is read as it passes by, so that it must not be encoded.
        forwarded.push((header::ACCEPT_ENCODING, HeaderValue::from_static("identity")));
        is_known.then_some((forwarded, target))
    }
}

fn secret_value(parts: &[&[u8]]) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_bytes(&parts.concat()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The format in which a service would refuse a request for something else than an answer.
fn format_of(path: &str) -> Option<Format> {
    if path.contains("/messages") {
        Some(Format::Messages)
    } else if path.contains("/models/") && path.contains(':') {
        Some(Format::Gemini)
    } else {
        None
    }
}

fn refused(refusal: Refusal, format: Option<Format>) -> Response<AnswerBody> {
    let body = refusal.body(format).to_string();
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *answer.status_mut() = refusal.status();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // Official clients obey it.
    headers.insert("x-should-retry", HeaderValue::from_static("false"));
    answer
}

#[cfg(test)]
#[path = "proxy_tests.rs"]
mod tests;
