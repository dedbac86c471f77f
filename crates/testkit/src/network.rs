//! A closed network on loopback: a proxy that tunnels by CONNECT, and TLS in front of a server that has none.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What a proxy does with a request for a tunnel.
#[derive(Debug, Clone)]
pub enum Tunnelling {
    /// Opens it to this address, whatever host is asked for: nobody else knows the names of a test.
    To(SocketAddr),
    /// The same for those who have this name and password, in base64.
    ForLogin(String, SocketAddr),
    Refused(&'static str),
}

/// A proxy that serves until the process ends.
#[derive(Debug)]
pub struct ConnectProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    #[track_caller]
    pub fn start(tunnelling: Tunnelling) -> Self {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let address = serve(move |stream| {
            let (noted, tunnelling) = (Arc::clone(&noted), tunnelling.clone());
            async move { tunnel(stream, &noted, &tunnelling).await }
        });
        Self { address, asked }
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The first line of every request so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn tunnel(mut stream: TcpStream, asked: &Mutex<Vec<String>>, tunnelling: &Tunnelling) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(head.lines().next().unwrap_or_default().to_owned());
    let (target, status) = match tunnelling {
        Tunnelling::To(target) => (Some(target), ""),
        Tunnelling::ForLogin(login, target) => {
            let is_known = head.contains(&format!("proxy-authorization: Basic {login}\r\n"));
            (is_known.then_some(target), "407 Proxy Authentication Required")
        }
        Tunnelling::Refused(status) => (None, *status),
    };
    let Some(target) = target else {
        return stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await;
    };
    let mut outside = TcpStream::connect(target).await?;
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    copy_bidirectional(&mut stream, &mut outside).await.map(drop)
}

/// Puts TLS with this certificate and key in front of a server, until the process ends.
///
/// # Panics
/// When certificate and key are none, or when there is no port or no thread to be had.
#[track_caller]
pub fn with_tls(certificate: &str, key: &str, target: SocketAddr) -> SocketAddr {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
    let (Ok(certificates), Ok(key)) = (certificates, key) else { panic!("no certificate, or no key") };
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key));
    let acceptor = match config {
        Ok(config) => TlsAcceptor::from(Arc::new(config)),
        Err(error) => panic!("this certificate cannot be served: {error}"),
    };
    serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut inside = acceptor.accept(stream).await?;
            let mut outside = TcpStream::connect(target).await?;
            copy_bidirectional(&mut inside, &mut outside).await.map(drop)
        }
    })
}

/// Serves every connection on a free port in a thread of its own. One that fails has ended, and its client sees that.
#[track_caller]
fn serve<F: Future<Output = io::Result<()>> + Send + 'static>(
    connection: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let started = || -> io::Result<SocketAddr> {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("network".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                while let Ok((stream, _)) = listener.accept().await {
                    drop(tokio::spawn(connection(stream)));
                }
            });
        })?;
        Ok(address)
    };
    match started() {
        Ok(address) => address,
        Err(error) => panic!("could not listen: {error}"),
    }
}
