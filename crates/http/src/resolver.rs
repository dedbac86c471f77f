//! Looks names up and leaves out what must not be connected to: the connection is made to one of the addresses that are left, so
//! that a name that leads elsewhere a moment later gains nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

use crate::{Error, Guard};

/// What the C libraries say of a name that does not exist, other than of one that cannot be looked up now. The number behind it is lost.
const UNKNOWN: [&str; 3] =
    ["Name or service not known", "No address associated with hostname", "Name does not resolve"];

fn explained(error: io::Error, host: &str) -> io::Error {
    let text = error.to_string();
    match UNKNOWN.iter().any(|unknown| text.contains(unknown)) {
        true => io::Error::other(Error::UnknownHost(host.to_owned())),
        false => error,
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    pub(crate) names: GaiResolver,
    pub(crate) guard: Option<Guard>,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.names.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = name.as_str().to_owned();
        let (found, guard) = (self.names.call(name), self.guard);
        Box::pin(async move {
            let found: Vec<SocketAddr> = found.await.map_err(|error| explained(error, &host))?.collect();
            let (all, first) = (found.len(), found.first().copied());
            let allowed: Vec<SocketAddr> =
                found.into_iter().filter(|address| guard.is_none_or(|guard| guard(address.ip()))).collect();
            match first {
                Some(first) if allowed.is_empty() => {
                    let why = format!("{} may not be connected to ({all} addresses)", first.ip());
                    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
                }
                _ => Ok(allowed.into_iter()),
            }
        })
    }
}
