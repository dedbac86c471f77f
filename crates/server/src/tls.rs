//! Certificates of a server that speaks TLS.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::accept::ServeError;

/// The files of a certificate chain and of its private key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that lead to its authority.
    pub certificates: PathBuf,
    pub key: PathBuf,
}

impl TlsFiles {
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, ServeError> {
        let unusable = |path: &PathBuf, detail: String| ServeError::Tls { path: path.clone(), detail };
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&self.certificates)
            .and_then(Iterator::collect)
            .map_err(|error| unusable(&self.certificates, error.to_string()))?;
        if certificates.is_empty() {
            return Err(unusable(&self.certificates, "it contains no certificate".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key));
        let mut config = config.map_err(|error| unusable(&self.certificates, error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
