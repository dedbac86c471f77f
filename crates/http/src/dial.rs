//! Plain connections to a host, for callers that only pass bytes on.

use std::net::IpAddr;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service as _;

use crate::tunnel::Tunnel;
use crate::{Egress, Error, Guard, root_cause, tcp};

/// Connects to a port of a host, on the way out that the user has set up. Names are looked up here, unless a proxy does it, and
/// no connection is made to an address that the guard refuses.
pub async fn dial(host: &str, port: u16, egress: &Egress, guard: Option<Guard>) -> Result<TcpStream, Error> {
    let address = host.parse::<IpAddr>().ok();
    if let (Some(address), Some(guard)) = (address, guard)
        && !guard(address)
    {
        return Err(Error::Refused(address));
    }
    let host = if address.is_some_and(|address| address.is_ipv6()) { format!("[{host}]") } else { host.to_owned() };
    let uri: Uri =
        format!("http://{host}:{port}").parse().map_err(|_| Error::Request(format!("{host} is not a host")))?;
    let connected = match egress.proxy(&host)? {
        Some(proxy) => Tunnel { proxy, tcp: tcp(None) }.call(uri).await?,
        None => tcp(guard).call(uri).await.map_err(|error| Error::Broken(root_cause(&error)))?,
    };
    Ok(TokioIo::into_inner(connected))
}
