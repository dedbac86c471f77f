//! A forward proxy on loopback that knows which hosts may be reached: tunnels by CONNECT, and plain HTTP. Reads nothing of what
//! passes through a tunnel.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use ralph_http::{Call, Egress, Http, dial};
use ralph_model::HostRule;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::proxy::{HEAD_TIMEOUT, MAX_CONNECTIONS, MAX_REQUEST, NOT_FORWARDED};

/// A proxy that listens. It ends when it is dropped, and with it every connection through it.
pub struct ForwardProxy {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl std::fmt::Debug for ForwardProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForwardProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl ForwardProxy {
    /// Listens on loopback, and lets these hosts be reached, with TLS on the way out that the user has set up.
    pub async fn start(hosts: Vec<HostRule>, egress: Egress) -> io::Result<Self> {
        let http = Http::new(false).map_err(io::Error::other)?;
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let address = listener.local_addr()?;
        let exits = Arc::new(Exits { hosts, egress, http });
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(listener, exits));
        Ok(Self { address, _tasks: tasks })
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn listen(listener: TcpListener, exits: Arc<Exits>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, Arc::clone(&exits)));
                }
                // Too many open files, say: others end meanwhile.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
}

/// One connection of the agent. A tunnel is part of it, so that it ends with it.
async fn converse(stream: TcpStream, exits: Arc<Exits>) {
    let _ = stream.set_nodelay(true);
    let (tunnels, mut opened) = tokio::sync::mpsc::unbounded_channel();
    let answer = service_fn(move |request: Request<Incoming>| {
        let (exits, tunnels) = (Arc::clone(&exits), tunnels.clone());
        async move {
            if request.method() != Method::CONNECT {
                return exits.forward(request).await;
            }
            let connected = exits.connect(&request).await;
            let outside = match connected {
                Ok(outside) => outside,
                Err(refusal) => return Ok(*refusal),
            };
            let _ = tunnels.send((hyper::upgrade::on(request), outside));
            Ok(Response::new(Either::Left(Full::default())))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).max_headers(256);
    let served = builder.serve_connection(TokioIo::new(stream), answer).with_upgrades().await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection of the agent ended");
    }
    let Ok((upgrade, mut outside)) = opened.try_recv() else { return };
    if let Ok(inside) = upgrade.await {
        let _ = copy_bidirectional(&mut TokioIo::new(inside), &mut outside).await;
    }
}

struct Exits {
    hosts: Vec<HostRule>,
    egress: Egress,
    http: Http,
}

type AnswerBody = Either<Full<Bytes>, Incoming>;

impl Exits {
    /// The connection that a tunnel leads to, or the answer that refuses it.
    async fn connect(&self, request: &Request<Incoming>) -> Result<TcpStream, Box<Response<AnswerBody>>> {
        let authority = request.uri().authority();
        let Some((host, port)) = authority.and_then(|asked| Some((asked.host(), asked.port_u16()?))) else {
            return Err(Box::new(refused(StatusCode::BAD_REQUEST, "CONNECT needs HOST:PORT")));
        };
        let host = host.trim_matches(['[', ']']);
        let Some(rule) = self.rule(host, port) else { return Err(Box::new(prohibited(host, port))) };
        let guard = (!rule.is_local()).then_some(is_elsewhere as fn(IpAddr) -> bool);
        dial(host, port, &self.egress, guard).await.map_err(|error| {
            tracing::debug!(%error, host, port, "a host cannot be reached");
            Box::new(refused(StatusCode::BAD_GATEWAY, &format!("{host}:{port} cannot be reached: {error}")))
        })
    }

    /// A request over plain HTTP.
    async fn forward(&self, request: Request<Incoming>) -> Result<Response<AnswerBody>, ralph_http::Error> {
        let (head, body) = request.into_parts();
        let (Some("http"), Some(host)) = (head.uri.scheme_str(), head.uri.host()) else {
            return Ok(refused(StatusCode::BAD_REQUEST, "this is a proxy: ask for http://HOST/ or CONNECT HOST:PORT"));
        };
        let (host, port) = (host.trim_matches(['[', ']']), head.uri.port_u16().unwrap_or(80));
        let Some(rule) = self.rule(host, port) else { return Ok(prohibited(host, port)) };
        let guarded;
        let http = if rule.is_local() {
            &self.http
        } else {
            guarded = Http::guarded(false, is_elsewhere)?;
            &guarded
        };
        let body = match Limited::new(body, MAX_REQUEST).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return Ok(refused(StatusCode::PAYLOAD_TOO_LARGE, &error.to_string())),
        };
        let is_own = |name: &HeaderName| {
            NOT_FORWARDED.contains(name) && *name != header::ACCEPT_ENCODING || name.as_str().starts_with("proxy-")
        };
        let headers = head.headers.iter().filter(|(name, _)| !is_own(name) && name.as_str() != "keep-alive");
        let headers = headers.map(|(name, value)| (name.clone(), value.clone())).collect();
        let call = Call { method: head.method, url: head.uri.to_string(), headers, body };
        match http.send(call, HEAD_TIMEOUT).await {
            Ok(answer) => {
                let (mut head, body) = answer.into_parts();
                for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE] {
                    head.headers.remove(name);
                }
                Ok(Response::from_parts(head, Either::Right(body)))
            }
            Err(error) => Ok(refused(StatusCode::BAD_GATEWAY, &format!("{host}:{port} cannot be reached: {error}"))),
        }
    }

    fn rule(&self, host: &str, port: u16) -> Option<&HostRule> {
        self.hosts.iter().find(|rule| rule.permits(host, port))
    }
}

/// Whether an address is not one of this machine. A name that is permitted must not lead here.
fn is_elsewhere(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !(address.is_loopback() || address.is_link_local() || address.is_unspecified()),
        IpAddr::V6(address) => !(address.is_loopback() || address.is_unicast_link_local() || address.is_unspecified()),
    }
}

fn prohibited(host: &str, port: u16) -> Response<AnswerBody> {
    let why = format!("Ralph does not let this agent reach {host}:{port}: add --allow-host {host}:{port}");
    refused(StatusCode::FORBIDDEN, &why)
}

fn refused(status: StatusCode, why: &str) -> Response<AnswerBody> {
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(format!("{why}\n")))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
#[path = "forward_tests.rs"]
mod tests;
