//! TLS towards clients.

use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::{GatewayConfigError, TlsFiles};

/// Reads a certificate and its key. Clients may speak HTTP/2 or HTTP/1.1.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, GatewayConfigError> {
    let certificate = files.certificate.display();
    let chain = CertificateDer::pem_file_iter(&files.certificate);
    let chain = chain.and_then(|all| all.collect::<Result<Vec<_>, _>>());
    let chain = chain.map_err(|error| {
        GatewayConfigError::caused(format!("{certificate}: no certificate"), error)
    })?;
    if chain.is_empty() {
        return Err(GatewayConfigError::new(format!(
            "{certificate}: no certificate: expected PEM, with a line BEGIN CERTIFICATE"
        )));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| {
        let key = files.key.display();
        match error {
            pem::Error::NoItemsFound => GatewayConfigError::new(format!(
                "{key}: no private key: expected PEM, with a line BEGIN PRIVATE KEY"
            )),
            error => GatewayConfigError::caused(format!("{key}: no private key"), error),
        }
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, key));
    let mut config = config.map_err(|error| {
        GatewayConfigError::caused(
            format!("{certificate}: it cannot be used with its key"),
            error,
        )
    })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
