//! Connections through a proxy that tunnels them. What a proxy refuses is said with what the user can do about it, and one that
//! does not answer is not waited for.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::{Error, Tcp, root_cause};

/// How long a proxy may take to open a tunnel. It connects to the host meanwhile.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
/// The longest head of a proxy's answer.
const MAX_HEAD: usize = 16 * 1024;

#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    /// The variable that names it.
    pub(crate) variable: &'static str,
    pub(crate) authorization: Option<String>,
    pub(crate) timeout: Duration,
}

#[derive(Clone)]
pub(crate) struct Tunnel {
    pub(crate) proxy: Proxy,
    pub(crate) tcp: Tcp,
}

impl std::fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tunnel").field("proxy", &self.proxy.uri).finish_non_exhaustive()
    }
}

impl Service<Uri> for Tunnel {
    type Response = TokioIo<TcpStream>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let Self { proxy, mut tcp } = self.clone();
        Box::pin(async move {
            let opened = tokio::time::timeout(proxy.timeout, proxy.open(&mut tcp, &target)).await;
            let stream = opened.unwrap_or_else(|_| {
                Err(Error::Broken(format!("{} does not answer for {:?}", proxy.place(), proxy.timeout)))
            });
            stream.map(TokioIo::new)
        })
    }
}

impl Proxy {
    /// `HTTPS_PROXY: the proxy HOST:PORT`
    fn place(&self) -> String {
        let authority = self.uri.authority().map(ToString::to_string).unwrap_or_default();
        format!("{}: the proxy {authority}", self.variable)
    }

    async fn open(&self, tcp: &mut Tcp, target: &Uri) -> Result<TcpStream, Error> {
        let place = self.place();
        let broken = |error: &dyn std::error::Error| Error::Broken(format!("{place}: {}", root_cause(error)));
        let port = target.port_u16().unwrap_or(if target.scheme_str() == Some("http") { 80 } else { 443 });
        let host = format!("{}:{port}", target.host().unwrap_or_default());
        let mut stream = tcp.call(self.uri.clone()).await.map_err(|error| broken(&error))?.into_inner();
        let login = self.authorization.as_ref().map(|value| format!("proxy-authorization: {value}\r\n"));
        let request = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n{}\r\n", login.unwrap_or_default());
        stream.write_all(request.as_bytes()).await.map_err(|error| broken(&error))?;
        let head = head(&mut stream).await.map_err(|error| broken(&error))?;
        let status =
            head.strip_prefix("HTTP/1.").and_then(|rest| rest.split_once(' ')).map(|(_, status)| status.trim());
        match status.unwrap_or_default() {
            status if status.starts_with('2') => Ok(stream),
            status if status.starts_with("407") => {
                let why = if self.authorization.is_some() {
                    "refuses the name and password"
                } else {
                    "wants a name and a password"
                };
                Err(Error::Setup(format!("{place} {why} (407): set the variable to http://USER:PASSWORD@HOST:PORT")))
            }
            // The proxy is there and the host behind it is not: that passes.
            status if status.starts_with("50") => Err(Error::Broken(format!("{place} cannot reach {host}: {status}"))),
            "" => Err(Error::Setup(format!("{place} does not answer as a proxy: check the address"))),
            status => Err(Error::Setup(format!(
                "{place} does not let {host} be reached ({status}): ask who runs it, or add the host to NO_PROXY if it needs none"
            ))),
        }
    }
}

/// The first line of the answer. What comes after its head belongs to the tunnel, so that not a byte more is read.
async fn head(stream: &mut TcpStream) -> io::Result<String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        if read.len() >= MAX_HEAD {
            return Err(io::Error::other("its answer is too long"));
        }
        match stream.read_u8().await {
            Ok(byte) => read.push(byte),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(io::Error::other("it ended the connection"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&read).lines().next().unwrap_or_default().to_owned())
}
