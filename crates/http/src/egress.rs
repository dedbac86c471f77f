//! The way out of a closed network: a proxy that tunnels connections, and certificate authorities of a company's own.

use std::sync::Arc;

use base64::Engine as _;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::Error;

/// How connections leave this machine.
#[derive(Clone, Default)]
pub struct Egress {
    /// The address of a proxy, possibly with a name and a password for it.
    pub proxy: Option<String>,
    /// Certificates in PEM of authorities besides those of the system.
    pub authorities: Vec<u8>,
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address of a proxy can hold a password.
        f.debug_struct("Egress").field("is_proxied", &self.proxy.is_some()).finish_non_exhaustive()
    }
}

impl Egress {
    /// Whether connections to a host are made without the proxy, by a list such as `localhost,.example.com`.
    pub fn is_exempt(host: &str, list: &str) -> bool {
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        list.split(',').map(|name| name.trim().trim_start_matches('*').to_ascii_lowercase()).any(|name| {
            let suffix = name.trim_start_matches('.');
            name.is_empty() && list.trim() == "*"
                || (!suffix.is_empty() && (host == suffix || host.ends_with(&format!(".{suffix}"))))
        })
    }

    pub(crate) fn tunnel<C>(&self, connector: C) -> Option<Tunnel<C>> {
        let address = self.proxy.as_deref()?.trim();
        let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
        let rest = rest.trim_end_matches('/');
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
        let proxy: Uri = format!("{scheme}://{place}").parse().ok()?;
        let tunnel = Tunnel::new(proxy, connector);
        let Some(login) = login else { return Some(tunnel) };
        let encoded = base64::engine::general_purpose::STANDARD.encode(login);
        match HeaderValue::from_str(&format!("Basic {encoded}")) {
            Ok(value) => Some(tunnel.with_auth(value)),
            Err(_) => Some(tunnel),
        }
    }

    pub(crate) fn tls(&self) -> Result<ClientConfig, Error> {
        let broken = |error: &dyn std::error::Error| Error::Broken(error.to_string());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for certificate in CertificateDer::pem_slice_iter(&self.authorities) {
            roots.add(certificate.map_err(|error| broken(&error))?).map_err(|error| broken(&error))?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(|error| broken(&error))?;
        Ok(config.with_root_certificates(roots).with_no_client_auth())
    }
}
