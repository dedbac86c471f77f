//! The way out of a closed network: a proxy that tunnels connections, and certificate authorities of a company's own.

use std::fs;
use std::sync::Arc;

use base64::Engine as _;
use hyper::Uri;
use percent_encoding::percent_decode_str;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::Error;
use crate::tunnel::{Proxy, TIMEOUT};

/// The variables that name a proxy for connections with TLS, those that except hosts from it, and those that name a file of
/// authorities. `SSL_CERT_FILE` is heeded where the system's authorities are read.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];
const AUTHORITIES: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE"];

/// A variable that is set.
#[derive(Clone)]
struct Setting {
    name: &'static str,
    value: String,
}

impl Setting {
    fn wrong(&self, problem: &str) -> Error {
        Error::Setup(format!("{}: {problem}", self.name))
    }
}

/// How connections leave this machine.
#[derive(Clone, Default)]
pub struct Egress {
    proxy: Option<Setting>,
    exceptions: String,
    authorities: Option<Setting>,
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address of a proxy can hold a password.
        f.debug_struct("Egress").field("is_proxied", &self.proxy.is_some()).finish_non_exhaustive()
    }
}

impl Egress {
    /// As these variables have it. What they name is read when it is used: most runs need none of it.
    pub fn from_variables(value: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&'static str]| {
            let set = |name: &&'static str| {
                Some(Setting { name, value: value(name).filter(|value| !value.trim().is_empty())? })
            };
            names.iter().find_map(set)
        };
        let exceptions = first(&EXCEPTIONS).map(|setting| setting.value).unwrap_or_default();
        Self { proxy: first(&PROXIES), exceptions, authorities: first(&AUTHORITIES) }
    }

    /// Whether connections to a host are made without the proxy, by a list such as `localhost,.example.com`.
    fn is_exempt(&self, host: &str) -> bool {
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        self.exceptions.split([',', ' ']).map(|name| name.trim().to_ascii_lowercase()).any(|name| {
            let suffix = name.trim_start_matches('*').trim_start_matches('.');
            name == "*" || (!suffix.is_empty() && (host == suffix || host.ends_with(&format!(".{suffix}"))))
        })
    }

    /// The proxy for connections to a host, where there is one.
    pub(crate) fn proxy(&self, host: &str) -> Result<Option<Proxy>, Error> {
        let Some(setting) = self.proxy.as_ref().filter(|_| !self.is_exempt(host)) else { return Ok(None) };
        let address = setting.value.trim();
        let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
        let rest = rest.trim_end_matches('/');
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
        let wrong = |problem: &str| {
            setting.wrong(&format!("{scheme}://{place} {problem}: use http://[USER:PASSWORD@]HOST:PORT"))
        };
        if scheme != "http" {
            return Err(wrong("is a kind of proxy that Ralph does not speak"));
        }
        let uri: Uri = format!("http://{place}").parse().map_err(|_| wrong("is not an address"))?;
        if uri.host().is_none_or(str::is_empty) {
            return Err(wrong("is not an address"));
        }
        // A name or a password with characters of its own is written encoded.
        let authorization = login.map(|login| {
            let login: Vec<u8> = percent_decode_str(login).collect();
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(login))
        });
        Ok(Some(Proxy { uri, variable: setting.name, authorization, timeout: TIMEOUT }))
    }

    pub(crate) fn tls(&self) -> Result<ClientConfig, Error> {
        let broken = |error: &dyn std::error::Error| Error::Broken(error.to_string());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(setting) = &self.authorities {
            let wrong = |error: &dyn std::error::Error| setting.wrong(&format!("{}: {error}", setting.value));
            let text = fs::read(&setting.value).map_err(|error| wrong(&error))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(|error| broken(&error))?;
        Ok(config.with_root_certificates(roots).with_no_client_auth())
    }
}

#[cfg(test)]
#[path = "egress_tests.rs"]
mod tests;
